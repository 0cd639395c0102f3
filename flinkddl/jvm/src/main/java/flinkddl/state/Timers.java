package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.TreeSet;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.ValueState;

/**
 * When groups of one node are to fire: a bucket a time, and a list of those times, all of them groups of state with keys
 * that no row has. (An iterator over a map reads all of it: one map of all timers would be read with every tick.)
 */
final class Timers {
    private static final int NODE = 0xFFFD;
    private static final byte[] THERE = {1};

    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]> map;
    private final int node;
    private TreeSet<Long> times;

    Timers(ValueState<byte[]> head, MapState<byte[], byte[]> map, int node) {
        this.head = head;
        this.map = map;
        this.node = node;
    }

    /** A group that is to fire, and the time for which it asked. */
    record Due(long time, byte[] group) { }

    /** Let a group, which has its turn, fire at a time. */
    void add(byte[] group, long time) {
        read();
        if (times.add(time)) {
            write();
        }
        Clocks.turn(key(time));
        map.updateValue(group, THERE);
        Clocks.turn(group);
    }

    /** Take out what is due, in order of its times; the turn is nobody's afterwards. */
    Iterator<Due> due(long now) {
        read();
        List<Long> ripe = new ArrayList<>(times.headSet(now, true));
        if (!ripe.isEmpty()) {
            times.headSet(now, true).clear();
            write();
        }
        Iterator<Long> ahead = ripe.iterator();
        return new Iterator<>() {
            private long time;
            private Iterator<byte[]> groups = List.<byte[]>of().iterator();

            @Override public boolean hasNext() {
                while (!groups.hasNext() && ahead.hasNext()) {
                    time = ahead.next();
                    groups = taken(time);
                }
                return groups.hasNext();
            }

            @Override public Due next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return new Due(time, groups.next());
            }
        };
    }

    /** The groups of a bucket in the order of their keys, which a batch that runs again gives too. */
    private Iterator<byte[]> taken(long time) {
        Clocks.turn(key(time));
        List<byte[]> groups = new ArrayList<>();
        for (scala.collection.Iterator<byte[]> all = map.keys(); all.hasNext();) {
            groups.add(all.next());
        }
        map.clear();
        groups.sort(Arrays::compareUnsigned);
        return groups.iterator();
    }

    private void read() {
        if (times != null) {
            return;
        }
        Clocks.turn(key());
        times = new TreeSet<>();
        byte[] bytes = head.get();
        for (ByteBuffer in = ByteBuffer.wrap(bytes == null ? new byte[0] : bytes); in.hasRemaining();) {
            times.add(in.getLong());
        }
    }

    private void write() {
        Clocks.turn(key());
        if (times.isEmpty()) {
            head.clear();
            return;
        }
        ByteBuffer out = ByteBuffer.allocate(Long.BYTES * times.size());
        times.forEach(out::putLong);
        head.update(out.array());
    }

    private byte[] key(long... time) {
        ByteBuffer key = ByteBuffer.allocate(Rows.KEY + Short.BYTES + Long.BYTES * time.length);
        key.putLong(-1).putShort((short) NODE).putShort((short) node);
        Arrays.stream(time).forEach(key::putLong);
        return key.array();
    }
}
