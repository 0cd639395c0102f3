package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Where each value of a DISTINCT call of {@link Over} is in a partition, as a tree of values and their places: without a
 * lower bound a value counts at the first of them. Rows in turn need no more than that one.
 */
final class Firsts {
    private static final byte[] THERE = {};

    final Tree tree;
    private final Over over;
    private final int call;
    private final TreeMap<byte[], Boolean> changed = new TreeMap<>(this::compare); // whether a value is at a place now

    Firsts(Over over, int call, int tree) {
        this.over = over;
        this.call = call;
        this.tree = new Tree(tree, this::compare);
    }

    /** A value and a place; no bytes are before all places. */
    private static byte[] key(byte[] value, byte[] place) {
        return ByteBuffer.allocate(Integer.BYTES + value.length + place.length).putInt(value.length).put(value).put(place).array();
    }

    private static int place(byte[] key) { return Integer.BYTES + ByteBuffer.wrap(key).getInt(); }

    private int compare(byte[] a, byte[] b) {
        int fromA = place(a);
        int fromB = place(b);
        int c = Arrays.compareUnsigned(a, Integer.BYTES, fromA, b, Integer.BYTES, fromB);
        if (c != 0 || fromA == a.length || fromB == b.length) {
            return c != 0 ? c : Boolean.compare(fromA < a.length, fromB < b.length);
        }
        return over.compare(Arrays.copyOfRange(a, fromA, a.length), Arrays.copyOfRange(b, fromB, b.length));
    }

    private static boolean same(byte[] key, byte[] value) {
        int to = place(key);
        return Arrays.equals(key, Integer.BYTES, to, value, 0, value.length);
    }

    /** Look at what this turn changes. */
    void turn(Places places) {
        changed.clear();
        places.changed.forEach((place, copies) -> {
            InternalRow args = over.args(place);
            if (!args.isNullAt(call) && copies[0] > 0 != copies[1] > 0) {
                changed.put(key(Running.bytes(args, call), place), copies[1] > 0);
            }
        });
    }

    /** Whether a place is the first one of a value, before or after this turn. */
    boolean first(byte[] value, byte[] place, boolean before) {
        byte[] own = key(value, place);
        byte[] from = key(value, THERE);
        for (Iterator<Map.Entry<byte[], byte[]>> kept = tree.scan(from, false); kept.hasNext();) {
            byte[] key = kept.next().getKey();
            if (!same(key, value) || compare(key, own) >= 0) {
                break;
            }
            if (before || changed.getOrDefault(key, true)) {
                return false;
            }
        }
        return before || changed.subMap(from, true, own, false).values().stream().noneMatch(there -> there);
    }

    /** Bring the changes into the tree; {@code once}: of each value the first place alone. */
    void apply(boolean once) {
        changed.forEach((key, there) -> {
            byte[] value = Arrays.copyOfRange(key, Integer.BYTES, place(key));
            Iterator<Map.Entry<byte[], byte[]>> kept = tree.scan(key(value, THERE), false);
            if (!once || !kept.hasNext() || !same(kept.next().getKey(), value)) {
                tree.put(key, there ? THERE : null);
            }
        });
        changed.clear();
    }
}
