package flinkddl.state;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;

/**
 * Values by the bytes of a row. A place is asked for with a row and is good until the next: who finds no key there puts
 * one. Hashes lie by themselves, keys beside their values: a key that is not there costs one look at memory, one that is
 * there three. Hashes are of one function, which spreads them; keys come out in the order of their places.
 */
final class Table<V> {
    private long[] hashes;
    private Object[] slots; // key, value
    private int size;

    /** {@code places} to begin with, a power of two: half of them are used before there are more. */
    Table(int places) {
        hashes = new long[places];
        slots = new Object[2 * places];
    }

    int places() { return hashes.length; }

    int size() { return size; }

    /** Where a key lies, or would; {@code from}: where in a key the bytes of the row begin. */
    int place(long hash, UnsafeRow row, int from) {
        if (2 * size >= hashes.length) {
            grow();
        }
        int mask = hashes.length - 1;
        int at = first(hash, mask);
        for (byte[] key = key(at); key != null && !(hashes[at] == hash && same(key, from, row)); key = key(at)) {
            at = at + 1 & mask;
        }
        return at;
    }

    private static int first(long hash, int mask) { return (int) (hash ^ hash >>> Integer.SIZE) & mask; }

    private static boolean same(byte[] key, int from, UnsafeRow row) {
        int size = row.getSizeInBytes();
        return key.length == from + size
            && ByteArrayMethods.arrayEquals(key, Platform.BYTE_ARRAY_OFFSET + from, row.getBaseObject(), row.getBaseOffset(), size);
    }

    private void grow() {
        long[] oldHashes = hashes;
        Object[] oldSlots = slots;
        hashes = new long[2 * oldHashes.length];
        slots = new Object[2 * oldSlots.length];
        int mask = hashes.length - 1;
        for (int i = 0; i < oldHashes.length; i++) {
            if (oldSlots[2 * i] != null) {
                int at = first(oldHashes[i], mask);
                while (slots[2 * at] != null) {
                    at = at + 1 & mask;
                }
                hashes[at] = oldHashes[i];
                slots[2 * at] = oldSlots[2 * i];
                slots[2 * at + 1] = oldSlots[2 * i + 1];
            }
        }
    }

    /** The key at a place; null where there is none. */
    byte[] key(int at) { return (byte[]) slots[2 * at]; }

    /** The value at a place; null of a key that was just put. */
    @SuppressWarnings("unchecked")
    V value(int at) { return (V) slots[2 * at + 1]; }

    /** Put a key at the place that was found for it. */
    void put(int at, long hash, byte[] key) {
        hashes[at] = hash;
        slots[2 * at] = key;
        size++;
    }

    void set(int at, V value) {
        if (slots[2 * at + 1] != value) { // what is written is looked at by the collector
            slots[2 * at + 1] = value;
        }
    }

    /** Forget the key at a place. For who takes out all of them: until the last is gone, others may not be found. */
    void remove(int at) {
        slots[2 * at] = null;
        slots[2 * at + 1] = null;
        size--;
    }
}
