package flinkddl.state;

import flinkddl.RetractMultiset;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The state of the group at hand, alike in every stage: a head and three maps, all of bytes, so that Spark never sees a
 * change of their schema. A head begins with one word: the layout's version in its first byte, and a counter in the
 * other seven that says which of two changes of a key came later. No clock does that. With a TTL a head ends with the
 * time of its last change, which a bit of its first byte says, and what is too old is as if it were not there: by the time
 * of the batch that Spark logs before it runs, so that a batch run again forgets the same.
 */
final class Store {
    /** Where a kind's own bytes begin in a head: a multiple of eight, as UnsafeRow wants it. */
    static final int BODY = 8;
    private static final int MAPS = 3;
    private static final int COUNTER = 56;
    private static final long ABOVE = 1L << COUNTER - 1; // from here on the counter is above all sequences
    private static final int TIMED = 0x80; // the head ends with a time

    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]>[] maps;
    private final Pages[] pages = new Pages[MAPS];
    private final long[] counts; // of Figures
    private final Map<Integer, Sweep> sweeps = new HashMap<>(); // one a node: each has a time of its own
    private final Map<Integer, Timers> timers = new HashMap<>(); // one a node
    private final Clocks clocks;
    private final Overlay overlay;
    private final boolean alone;
    private final boolean only;
    private Sweep sweep;
    private Kind kind;
    private byte[] key;
    private long now;
    private long counter;
    private boolean there; // the group's head
    private int layout; // of the group's head
    private boolean noted; // the sweep will come by
    private int figures; // where those of the node at hand begin
    private int size; // of the head that lies there, 0 of none

    /** Of one node, and no row that passes. */
    Store(StatefulProcessorHandle handle, boolean alone, long[] counts) { this(handle, alone, alone, counts, null); }

    /** {@code alone}: one node and no row that passes; {@code only}: one node; {@code counts} as {@link Figures} has them;
     * {@code held}: whose groups an {@link Overlay} holds, by their numbers, null where there is none. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    Store(StatefulProcessorHandle handle, boolean alone, boolean only, long[] counts, boolean[] held) {
        this.alone = alone;
        this.only = only;
        this.counts = counts;
        ValueState<byte[]> heads = handle.getValueState("head", Encoders.BINARY(), TTLConfig.NONE());
        MapState<byte[], byte[]>[] stored = new MapState[MAPS];
        Arrays.setAll(stored, i -> handle.getMapState("map" + i, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
        overlay = held == null ? null : new Overlay(handle, heads, stored, held);
        head = overlay == null ? heads : overlay.head();
        clocks = new Clocks(heads);
        maps = new MapState[MAPS];
        for (int i = 0; i < MAPS; i++) {
            maps[i] = overlay == null ? stored[i] : overlay.map(i);
            pages[i] = new Pages.Counted(maps[i], this);
        }
    }

    /** What holds state until the batch ends; null where none does. */
    Overlay overlay() { return overlay; }

    /** Between two groups: what is held is written, where it is too much; the turn is nobody's afterwards. */
    void between() {
        if (overlay != null) {
            overlay.between();
        }
    }

    /** Turn to another group, of the node whose figures begin there, in a batch of this time in ms. */
    void turn(Kind kind, int figures, byte[] key, long now) {
        this.kind = kind;
        this.figures = figures;
        this.key = key;
        this.now = now;
        sweep = sweep(Rows.node(key));
        counter = 0;
        there = false;
        layout = kind.layout();
        noted = false;
        size = 0;
    }

    private Sweep sweep(int node) {
        return sweeps.computeIfAbsent(node, n -> new Sweep(head, maps[0], named(n, alone), only ? named(n, !alone) : null));
    }

    /** Take out groups of a node whose time is over, whoever has a row in this batch; the turn is nobody's afterwards. */
    void forget(Kind kind, int node, int figures, long now) {
        if (kind.life() == 0) {
            return;
        }
        this.kind = kind;
        this.figures = figures;
        this.now = now;
        sweep = sweep(node);
        sweep.due(kind.life(), now, this::looked);
    }

    /** How a sweep's notes are told from those of other nodes. */
    private static byte[] named(int node, boolean alone) { return alone ? new byte[0] : new byte[] {(byte) (node >> 8), (byte) node}; }

    /**
     * Take over entries of another operator's state: to which partition of how many each goes, its part (0 the head, n the map
     * n - 1), its group, its name in a map, its bytes. {@code turn} is the group at hand, which has its turn again.
     */
    void take(java.util.Iterator<UnsafeRow> entries, byte[] turn) {
        while (entries.hasNext()) {
            UnsafeRow entry = entries.next();
            Clocks.check(entry.getInt(0), entry.getInt(1));
            between();
            Clocks.turn(entry.getBinary(3));
            int part = entry.getInt(2);
            if (part == 0) {
                head.update(entry.getBinary(5));
            } else {
                maps[part - 1].updateValue(entry.getBinary(4), entry.getBinary(5));
            }
        }
        Clocks.turn(turn);
    }

    /** The version in which the group's head is, after {@link #head}: it is kept in the same. */
    int layout() { return layout; }

    /** The time of the batch, in ms. */
    long now() { return now; }

    /**
     * The whole head, whose first {@link #BODY} bytes are not the kind's; null of a group that is not there.
     * Fails on a layout that the kind does not read: what lies there would be taken for something else.
     */
    byte[] head() {
        byte[] bytes = head.get();
        size = bytes == null ? 0 : bytes.length;
        if (bytes == null) {
            return null;
        }
        int written = written(kind, bytes);
        if (old(bytes)) {
            clear(key, size);
            size = 0;
            return null;
        }
        layout = written;
        there = true;
        noted = timed(bytes);
        counter = Long.reverseBytes(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET)) & (1L << COUNTER) - 1;
        return noted ? Arrays.copyOf(bytes, bytes.length - Long.BYTES) : bytes;
    }

    private static int written(Kind kind, byte[] bytes) {
        int written = bytes[0] & ~TIMED & 0xFF;
        if (!kind.reads(written)) {
            throw unknown("a group of this state", written, kind.layout());
        }
        return written;
    }

    /** Of what is in a layout that comes after those that are known here. */
    static IllegalStateException unknown(String what, int written, int known) {
        return new IllegalStateException("FD528: " + what + " was written by a newer flinkddl: it is in layout " + written
            + ", this version reads those up to " + known);
    }

    /** A head without its time, of a group that is read outside of an operator: its first byte is the layout. */
    static byte[] plain(Kind kind, byte[] bytes) {
        byte[] plain = Arrays.copyOf(bytes, timed(bytes) ? bytes.length - Long.BYTES : bytes.length);
        plain[0] = (byte) written(kind, bytes);
        return plain;
    }

    private static boolean timed(byte[] bytes) { return (bytes[0] & TIMED) != 0; }

    private static long touched(byte[] bytes) { return ByteBuffer.wrap(bytes).getLong(bytes.length - Long.BYTES); }

    private boolean old(byte[] bytes) { return kind.life() > 0 && timed(bytes) && now - touched(bytes) > kind.life(); }

    /** Forget the group. */
    void clear() {
        clear(key, size);
        size = 0;
    }

    /** Take out a group, which the handle is turned to. */
    private void clear(byte[] group, int size) {
        head.clear();
        headed(group, size, 0);
        for (int i = 0; i < kind.maps(); i++) {
            List<byte[]> names = new ArrayList<>(); // as Spark clears a map, which does not say what was in it
            for (Iterator<Tuple2<byte[], byte[]>> all = maps[i].iterator(); all.hasNext();) {
                Tuple2<byte[], byte[]> page = all.next();
                names.add(page._1());
                counts[figures + Figures.BYTES] -= group.length + page._1().length + page._2().length;
            }
            names.forEach(maps[i]::removeKey);
        }
    }

    /** Count what a head takes instead of what it took; 0 is none. */
    private void headed(byte[] group, int before, int after) {
        counts[figures + Figures.GROUPS] += Integer.signum(after) - Integer.signum(before);
        counts[figures + Figures.BYTES] += after - before + (Integer.signum(after) - Integer.signum(before)) * group.length;
    }

    /** Count what an entry of the group's maps takes instead of what it took. */
    void grown(int before, int after, int name) {
        counts[figures + Figures.BYTES] += after - before + (Integer.signum(after) - Integer.signum(before)) * (key.length + name);
    }

    /** The sweep has come to a group: it is old, or noted again. */
    private void looked(byte[] group) {
        byte[] bytes = head.get();
        if (bytes != null && old(bytes)) {
            clear(group, bytes.length);
        } else if (bytes != null && timed(bytes)) {
            sweep.note(group, kind.life(), touched(bytes));
        }
    }

    /** What is known of event time. */
    Clocks clocks() { return clocks; }

    /** Whether a row of this time (ms) is late. */
    boolean late(long time) { return time <= over(); }

    /** Up to which time (ms) rows of the group are late: none is to processing time, as a machine's clock can be put back. */
    long over() { return kind.clocks == Tick.WALL ? Long.MIN_VALUE : time(); }

    /** Count rows of the group that are dropped, as they are late. */
    void dropped(int rows) { counts[figures + Figures.LATE] += rows; }

    /** Event time (ms) as the node of the group knows it. */
    long time() { return clocks.time(kind.clocks, key); }

    /** Let the group fire when event time comes to this time (ms). */
    void timer(long time) { timers(Rows.node(key), kind).add(key, time); }

    /** The timers of a node. */
    Timers timers(int node, Kind of) { return timers.computeIfAbsent(node, n -> new Timers(head, maps[0], n, of.bucket(), overlay == null ? () -> { } : overlay::fresh)); }

    /** Whether rows of this group were numbered as they came; of use after {@link #head}. */
    boolean counts() { return counter > 0; }

    /**
     * The next number of this group's counter; of use after {@link #head}, and kept by {@link #keep}. A group that had
     * other sequences before goes on above all of them.
     */
    long next() {
        counter = counter == 0 && there ? ABOVE : counter + 1;
        return counter < ABOVE ? counter : counter - ABOVE + RetractMultiset.NUMBERED;
    }

    /** Keep a head, whose first {@link #BODY} bytes are filled here; null forgets it. */
    void keep(byte[] bytes) {
        if (bytes == null) {
            head.clear();
            headed(key, size, 0);
            size = 0;
            return;
        }
        boolean timed = kind.life() > 0;
        long first = layout | (timed ? TIMED : 0);
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, Long.reverseBytes(first << COUNTER | counter));
        byte[] kept = timed ? ByteBuffer.allocate(bytes.length + Long.BYTES).put(bytes).putLong(now).array() : bytes;
        head.update(kept);
        headed(key, size, kept.length);
        size = kept.length;
        if (timed && !noted) {
            sweep.note(key, kind.life(), now);
            noted = true;
        }
    }

    /** One of the three maps as Spark has it, to read all of it; exhaust its iterators: Spark frees them no earlier. */
    MapState<byte[], byte[]> entries(int n) { return maps[n]; }

    /** One of the three maps. */
    Pages map(int n) { return pages[n]; }
}
