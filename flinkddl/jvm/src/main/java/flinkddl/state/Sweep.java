package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Finds the groups of a partition that nobody has touched for the time of their TTL. Spark's own timers would ask for a
 * watermark or for endless empty batches; a forgotten group gives no rows, so it may lie until any row comes to its
 * partition of the stage. Each group is noted once, in a bucket of those touched at about one time, and noted again when its
 * bucket is due and it has been touched since. Buckets are groups of state with keys that no row has.
 */
final class Sweep {
    private static final int NODE = 0xFFFE;
    private static final int A_LIFE = 8; // buckets' lengths in a TTL
    private static final int PARTS = 64; // of a bucket, by the group's hash: what is swept at once
    private static final int MOST = 10_000; // groups looked at in a batch, before the part at hand is done
    private static final byte[] THERE = {1};

    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]> map;
    private final byte[] other;
    private byte[] node; // whose groups they are, where the operator has several nodes
    private TreeSet<Long> buckets; // the end of the times in it, in ms, times PARTS, and the part

    /**
     * {@code node} is in the keys of its notes; {@code other} was there while its node stood with others or rows that pass,
     * or did not: notes that lie there go on, under those keys. Null where it cannot be known whose they are.
     */
    Sweep(ValueState<byte[]> head, MapState<byte[], byte[]> map, byte[] node, byte[] other) {
        this.head = head;
        this.map = map;
        this.node = node;
        this.other = other;
    }

    /** Once a task, before any group has its turn: let {@code look} see each group that is due, and has the turn then. */
    void due(long life, long now, Consumer<byte[]> look) {
        read();
        int seen = 0;
        boolean changed = false;
        while (seen < MOST && !buckets.isEmpty() && now - buckets.first() / PARTS > life) {
            changed = true;
            for (byte[] member : taken(buckets.pollFirst())) {
                seen++;
                turn(member);
                look.accept(member);
            }
        }
        if (changed) {
            write();
        }
    }

    private List<byte[]> taken(long bucket) {
        turn(key(bucket));
        List<byte[]> members = new ArrayList<>();
        for (scala.collection.Iterator<byte[]> all = map.keys(); all.hasNext();) {
            members.add(all.next());
        }
        map.clear();
        return members;
    }

    /** Note a group that was touched at {@code time}, in ms. */
    void note(byte[] group, long life, long time) {
        long length = Math.max(1, life / A_LIFE);
        long bucket = (time / length + 1) * length * PARTS + (group[0] & PARTS - 1);
        if (buckets == null) {
            read();
        }
        if (buckets.add(bucket)) {
            write();
        }
        turn(key(bucket));
        map.updateValue(group, THERE);
        turn(group);
    }

    private void read() {
        byte[] mine = node;
        buckets = listed();
        if (buckets.isEmpty() && other != null) {
            node = other;
            buckets = listed();
            node = buckets.isEmpty() ? mine : other;
        }
    }

    private TreeSet<Long> listed() {
        turn(key());
        TreeSet<Long> listed = new TreeSet<>();
        byte[] bytes = head.get();
        for (ByteBuffer in = ByteBuffer.wrap(bytes == null ? new byte[0] : bytes); in.hasRemaining();) {
            listed.add(in.getLong());
        }
        return listed;
    }

    private void write() {
        ByteBuffer out = ByteBuffer.allocate(Long.BYTES * buckets.size());
        buckets.forEach(out::putLong);
        turn(key());
        head.update(out.array());
    }

    private byte[] key(long... bucket) {
        ByteBuffer key = ByteBuffer.allocate(Rows.KEY + node.length + Long.BYTES * bucket.length);
        key.putLong(-1).putShort((short) NODE).put(node);
        Arrays.stream(bucket).forEach(key::putLong);
        return key.array();
    }

    /** Turn Spark's handle to another group. */
    private static void turn(byte[] group) { ImplicitGroupingKeyTracker$.MODULE$.setImplicitKey(group); }
}
