package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.TreeSet;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.ValueState;

/**
 * When groups of one node are to fire: buckets of some ms, and a list of those that there are, all of them groups of state
 * with keys that no row has. (An iterator over a map reads all of it: one map of all timers would be read with every tick.)
 */
final class Timers {
    static final int NODE = 0xFFFD;
    private static final byte[] THERE = {1};

    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]> map;
    private final int node;
    private final long width; // of a bucket, in ms
    private final Runnable fresh; // told of a bucket that was not there, which has its turn
    private TreeSet<Long> buckets;

    Timers(ValueState<byte[]> head, MapState<byte[], byte[]> map, int node, long width, Runnable fresh) {
        this.fresh = fresh;
        this.head = head;
        this.map = map;
        this.node = node;
        this.width = width;
    }

    /** A group that is to fire, and the time for which it asked. */
    record Due(long time, byte[] group) {
        static Due of(byte[] entry) {
            return new Due(ByteBuffer.wrap(entry).getLong() ^ Long.MIN_VALUE, Arrays.copyOfRange(entry, Long.BYTES, entry.length));
        }

        /** Its place among others: by time, then by the bytes of its key, which a batch that runs again gives too. */
        byte[] entry() { return ByteBuffer.allocate(Long.BYTES + group.length).putLong(time ^ Long.MIN_VALUE).put(group).array(); }
    }

    /** Let a group, which has its turn, fire at a time. */
    void add(byte[] group, long time) {
        read();
        long bucket = Math.floorDiv(time, width);
        boolean more = buckets.add(bucket);
        if (more) {
            write();
        }
        Clocks.turn(key(bucket));
        if (more) {
            fresh.run();
        }
        map.updateValue(new Due(time, group).entry(), THERE);
        Clocks.turn(group);
    }

    /** Take out what is due, in order of its times; the turn is nobody's afterwards. */
    Iterator<Due> due(long now) {
        if (now == Long.MIN_VALUE) {
            return Collections.emptyIterator();
        }
        read();
        List<Long> ripe = new ArrayList<>(buckets.headSet(Math.floorDiv(now, width), true));
        TreeSet<Long> over = new TreeSet<>(buckets.headSet(Math.floorDiv(now - width + 1, width), true)); // as a whole
        if (buckets.removeAll(over)) {
            write();
        }
        Iterator<Long> ahead = ripe.iterator();
        return new Iterator<>() {
            private Iterator<Due> found = List.<Due>of().iterator();

            @Override public boolean hasNext() {
                while (!found.hasNext() && ahead.hasNext()) {
                    found = taken(ahead.next(), now);
                }
                return found.hasNext();
            }

            @Override public Due next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return found.next();
            }
        };
    }

    private Iterator<Due> taken(long bucket, long now) {
        Clocks.turn(key(bucket));
        List<byte[]> entries = new ArrayList<>();
        boolean more = false;
        for (scala.collection.Iterator<byte[]> all = map.keys(); all.hasNext();) {
            byte[] entry = all.next();
            boolean due = Due.of(entry).time <= now;
            more |= !due;
            entries.addAll(due ? List.of(entry) : List.of());
        }
        entries.forEach(map::removeKey);
        if (!more && buckets.remove(bucket)) {
            write();
        }
        entries.sort(Arrays::compareUnsigned);
        return entries.stream().map(Due::of).iterator();
    }

    private void read() {
        if (buckets != null) {
            return;
        }
        Clocks.turn(key());
        buckets = new TreeSet<>();
        byte[] bytes = head.get();
        for (ByteBuffer in = ByteBuffer.wrap(bytes == null ? new byte[0] : bytes); in.hasRemaining();) {
            buckets.add(in.getLong());
        }
    }

    private void write() {
        Clocks.turn(key());
        if (buckets.isEmpty()) {
            head.clear();
            return;
        }
        ByteBuffer out = ByteBuffer.allocate(Long.BYTES * buckets.size());
        buckets.forEach(out::putLong);
        head.update(out.array());
    }

    private byte[] key(long... bucket) {
        ByteBuffer key = ByteBuffer.allocate(Rows.KEY + Short.BYTES + Long.BYTES * bucket.length);
        key.putLong(-1).putShort((short) NODE).putShort((short) node);
        Arrays.stream(bucket).forEach(key::putLong);
        return key.array();
    }
}
