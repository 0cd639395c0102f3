package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.streaming.ValueState;

/**
 * How far event time has come in one partition of a stage: a clock for each table that has a WATERMARK, which shows the
 * least time of those who send it (partitions of a topic, or of the stage before). Where a table has an idle timeout,
 * nobody waits for a sender that was silent for longer while others spoke, nor for such a table. It is state, so that a
 * batch that runs again finds it as it was; it never goes back.
 */
final class Clocks {
    private static final byte LAYOUT = 1;
    private static final byte[] KEY = ByteBuffer.allocate(Rows.KEY).putLong(-1).putShort((short) Rows.TIME).array();

    private final ValueState<byte[]> head;
    private Map<Integer, Clock> clocks;

    Clocks(ValueState<byte[]> head) { this.head = head; }

    private static final class Clock {
        final Map<Long, long[]> heard = new TreeMap<>(); // of each sender its time, and when it was told
        int senders;
        long time = Long.MIN_VALUE;
        long first; // when it was told first, and last
        long last;
        long idle;

        /** Whether that says more than what was known. */
        boolean hear(Tick.Word word) {
            if (word.senders() < senders) { // a topic is there again with fewer partitions, and which are gone is not known
                heard.clear();
            }
            long[] known = heard.get(word.sender());
            first = heard.isEmpty() ? word.told() : Math.min(first, word.told());
            last = heard.isEmpty() ? word.told() : Math.max(last, word.told());
            boolean more = known == null || word.at() > known[0] || word.told() > known[1] || senders != word.senders() || idle != word.idle();
            senders = word.senders();
            idle = word.idle();
            heard.merge(word.sender(), new long[] {word.at(), word.told()}, (a, b) -> new long[] {Math.max(a[0], b[0]), Math.max(a[1], b[1])});
            return more;
        }

        void move() {
            boolean all = heard.size() >= senders || idle > 0 && last - first > idle;
            long least = heard.values().stream().filter(h -> idle == 0 || last - h[1] <= idle).mapToLong(h -> h[0]).min().orElse(Long.MIN_VALUE);
            time = Math.max(time, heard.containsKey(Tick.ALL) ? Long.MAX_VALUE : all ? least : Long.MIN_VALUE);
        }
    }

    /** The time (ms) of what reads the tables of these clocks, a bit each: the least of them. {@code group} has its turn. */
    long time(long of, byte[] group) {
        read(group);
        long last = Long.MIN_VALUE;
        long least = Long.MAX_VALUE;
        for (Map.Entry<Integer, Clock> clock : clocks.entrySet()) {
            last = (of >> clock.getKey() & 1) == 1 ? Math.max(last, clock.getValue().last) : last;
        }
        for (int number = 0; number < Long.SIZE; number++) {
            Clock clock = clocks.get(number);
            boolean silent = clock != null && clock.idle > 0 && last - clock.last > clock.idle;
            if ((of >> number & 1) == 1 && !silent) {
                least = Math.min(least, clock == null ? Long.MIN_VALUE : clock.time);
            }
        }
        return least;
    }

    /** Take in what senders tell; returns what is to be told by one of so many senders itself. */
    List<Tick.Word> hear(Iterator<UnsafeRow> ticks, byte[] group) {
        read(group);
        Set<Integer> changed = new TreeSet<>();
        while (ticks.hasNext()) {
            UnsafeRow tick = ticks.next();
            check(tick.getInt(0), tick.getInt(1));
            Tick.Word word = Tick.Word.of(tick);
            if (clocks.computeIfAbsent(word.clock(), k -> new Clock()).hear(word)) {
                changed.add(word.clock());
            }
        }
        TaskContext task = TaskContext.get();
        List<Tick.Word> words = new ArrayList<>();
        for (int number : changed) {
            Clock clock = clocks.get(number);
            long before = clock.time;
            clock.move();
            if (clock.time > before || clock.idle > 0) {
                words.add(new Tick.Word(number, task.partitionId(), task.numPartitions(), clock.time, clock.last, clock.idle));
            }
        }
        if (!changed.isEmpty()) {
            write(group);
        }
        return words;
    }

    /** Fail where what is for one partition has come to another. */
    static void check(int to, int parts) {
        TaskContext task = TaskContext.get();
        if (task.numPartitions() != parts || task.partitionId() != to) {
            throw new IllegalStateException("what is for partition " + to + " of " + parts + " has come to " + task.partitionId() + " of " + task.numPartitions());
        }
    }

    private void read(byte[] group) {
        if (clocks != null) {
            return;
        }
        turn(KEY);
        byte[] bytes = head.get();
        turn(group);
        clocks = new TreeMap<>();
        if (bytes == null) {
            return;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        byte layout = in.get();
        if (layout != LAYOUT) {
            throw Store.unknown("event time in this state", layout, LAYOUT);
        }
        while (in.hasRemaining()) {
            Clock clock = new Clock();
            clocks.put(in.getInt(), clock);
            clock.senders = in.getInt();
            clock.time = in.getLong();
            clock.first = in.getLong();
            clock.last = in.getLong();
            clock.idle = in.getLong();
            for (int n = in.getInt(); n > 0; n--) {
                clock.heard.put(in.getLong(), new long[] {in.getLong(), in.getLong()});
            }
        }
    }

    private void write(byte[] group) {
        int size = 1 + clocks.values().stream().mapToInt(c -> 3 * Integer.BYTES + 4 * Long.BYTES + 3 * Long.BYTES * c.heard.size()).sum();
        ByteBuffer out = ByteBuffer.allocate(size).put(LAYOUT);
        clocks.forEach((number, clock) -> {
            out.putInt(number).putInt(clock.senders).putLong(clock.time).putLong(clock.first).putLong(clock.last).putLong(clock.idle);
            out.putInt(clock.heard.size());
            clock.heard.forEach((sender, h) -> out.putLong(sender).putLong(h[0]).putLong(h[1]));
        });
        turn(KEY);
        head.update(out.array());
        turn(group);
    }

    /** Turn Spark's handle to another group. */
    static void turn(byte[] group) { ImplicitGroupingKeyTracker$.MODULE$.setImplicitKey(group); }
}
