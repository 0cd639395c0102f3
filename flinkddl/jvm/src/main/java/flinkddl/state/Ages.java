package flinkddl.state;

import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Entries of a {@link Tree} that are forgotten one by one: a second tree has them in order of their last change, and
 * their values end with its time. Without a TTL it is the tree alone.
 */
final class Ages {
    private static final byte[] NOTHING = {};

    private final Tree of;
    private final Tree ages;
    private final long life;

    /** {@code id} is the second tree's; {@code life} in ms, 0 is for ever. */
    Ages(int id, Tree of, long life) {
        this.of = of;
        ages = new Tree(id, Tree.BYTES);
        this.life = life;
    }

    boolean forgets() { return life > 0; }

    void reset(Pages pages) { ages.reset(pages); }

    /** Turn to a group, whose tree is read; entries that were kept without a TTL until now begin to age now. */
    void read(DataInputStream in, Pages pages, long now) throws IOException {
        ages.reset(pages);
        boolean there = in.available() > 0 && in.readByte() == 1;
        if (there) {
            ages.read(in, pages);
        }
        if (there && life == 0) {
            ages.clear();
        } else if (!there && life > 0) {
            List<Map.Entry<byte[], byte[]>> all = new ArrayList<>();
            of.scan(false).forEachRemaining(all::add);
            all.forEach(e -> put(e.getKey(), e.getValue(), now, false));
        }
    }

    /** Write what {@link #read} reads. */
    void write(DataOutput out) throws IOException {
        out.writeByte(life > 0 ? 1 : 0);
        if (life > 0) {
            ages.write(out);
        }
    }

    /** Set the value of a key, which changes now; null takes it out. */
    void put(byte[] key, byte[] value, long now) { put(key, value, now, life > 0); }

    private void put(byte[] key, byte[] value, long now, boolean aged) {
        byte[] old = aged ? of.get(key) : null;
        if (old != null) {
            ages.put(age(ByteBuffer.wrap(old).getLong(old.length - Long.BYTES), key), null);
        }
        if (value == null || life == 0) {
            of.put(key, value);
            return;
        }
        of.put(key, ByteBuffer.allocate(value.length + Long.BYTES).put(value).putLong(now).array());
        ages.put(age(now, key), NOTHING);
    }

    private static byte[] age(long time, byte[] key) {
        return ByteBuffer.allocate(Long.BYTES + key.length).putLong(time).put(key).array();
    }

    /** Take out what did not change for longer than its life, and tell each key and value. */
    void forget(long now, BiConsumer<byte[], byte[]> told) {
        List<byte[]> due = new ArrayList<>();
        for (Iterator<Map.Entry<byte[], byte[]>> all = ages.scan(false); life > 0 && all.hasNext();) {
            byte[] age = all.next().getKey();
            if (now - ByteBuffer.wrap(age).getLong() <= life) {
                break;
            }
            due.add(age);
        }
        for (byte[] age : due) {
            byte[] key = Arrays.copyOfRange(age, Long.BYTES, age.length);
            told.accept(key, of.get(key));
            of.put(key, null);
            ages.put(age, null);
        }
    }
}
