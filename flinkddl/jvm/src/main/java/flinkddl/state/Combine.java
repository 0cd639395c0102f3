package flinkddl.state;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.Platform;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * Before the exchange of a stage, in micro-batches: rows of a group that a task has are brought together by the
 * {@link Combiner} of their node, so that fewer are exchanged and sorted. A table of groups of bounded size is given out
 * as a whole when it is full; a task whose first table had hardly two rows of a group goes on without.
 */
public final class Combine extends AbstractFunction1<Iterator<Object>, Iterator<Object>> implements Serializable {
    private static final boolean WANTED = Boolean.parseBoolean(System.getProperty("flinkddl.state.combine", "true"));
    private static final long MOST = 32L << 20; // bytes a task
    private static final long ALL = Runtime.getRuntime().maxMemory() / 32; // bytes of all tasks that run at once
    private static final AtomicLong TAKEN = new AtomicLong();
    private static final long CHUNK = 256 << 10;
    private static final int OVERHEAD = 64; // bytes a group, beside those of its key and row
    private static final int PILED = 160; // bytes a row of a group that holds more with each
    private static final double WORTH = 0.9; // rows out for each row in, from which it is not

    private final Figures figures;
    private final KeyedStage.Node[] spec;

    private Combine(Figures figures, KeyedStage.Node[] spec) {
        this.figures = figures;
        this.spec = spec;
    }

    /** Null where none of the nodes brings rows together; {@code figures} are those of the stage. */
    static Combine of(Figures figures, KeyedStage.Node... spec) {
        boolean any = Arrays.stream(spec).anyMatch(n -> n.kind() != null && n.kind().combiner() != null);
        return WANTED && any ? new Combine(figures, spec) : null;
    }

    /** A row on its way to the exchange. */
    public static final class Pair {
        final byte[] row;
        final byte[] key;

        Pair(byte[] row, byte[] key) {
            this.row = row;
            this.key = key;
        }
    }

    // called from generated code

    public static Pair pair(byte[] row, byte[] key) { return new Pair(row, key); }

    public static byte[] row(Pair pair) { return pair.row; }

    public static byte[] key(Pair pair) { return pair.key; }

    @Override public Iterator<Object> apply(Iterator<Object> rows) {
        int most = Arrays.stream(spec).filter(n -> n.kind() != null).mapToInt(KeyedStage.Node::number).max().orElse(0);
        Combiner[] combiners = new Combiner[most + 1];
        int[] came = new int[most + 1];
        for (KeyedStage.Node node : spec) {
            if (node.kind() != null) {
                combiners[node.number()] = node.kind().combiner();
                came[node.number()] = Figures.at(node.edge()) + Figures.IN;
            }
        }
        return new Combined(rows, combiners, figures.ofTaskBefore(), came);
    }

    /** The rows of a task, brought together. */
    private static final class Combined extends AbstractIterator<Object> {
        private final Iterator<Object> in;
        private final Combiner[] combiners; // by the number of their node
        private final long[] counts; // what the stage's figures are short of: it sees the rows that come out
        private final int[] counted; // where those of a node are
        private final Queue<Pair> out = new ArrayDeque<>();
        private byte[][] keys = new byte[1024][];
        private Object[] held = new Object[1024];
        private int groups;
        private long bytes;
        private long taken; // of them, what all tasks know of
        private long came;
        private boolean off;

        Combined(Iterator<Object> in, Combiner[] combiners, long[] counts, int[] counted) {
            this.in = in;
            this.combiners = combiners;
            this.counts = counts;
            this.counted = counted;
            TaskContext task = TaskContext.get();
            if (task != null) {
                task.addTaskCompletionListener((TaskContext done) -> release());
            }
        }

        /** Whether the table may grow: it takes its part of what all tasks may, a chunk at a time. */
        private boolean room() {
            while (bytes >= taken) {
                if (taken >= MOST || taken > 0 && TAKEN.get() >= ALL) { // a first chunk has each
                    return false;
                }
                TAKEN.addAndGet(CHUNK);
                taken += CHUNK;
            }
            return true;
        }

        private void release() {
            TAKEN.addAndGet(-taken);
            taken = 0;
        }

        @Override public boolean hasNext() {
            while (out.isEmpty() && !off && in.hasNext()) {
                fill();
            }
            return !out.isEmpty() || off && in.hasNext();
        }

        @Override public Object next() {
            return out.isEmpty() && !hasNext() ? Iterator.empty().next() : out.isEmpty() ? in.next() : out.poll();
        }

        private void fill() {
            boolean full = false;
            while (!(full = !room()) && in.hasNext()) {
                Pair pair = (Pair) in.next();
                int node = Rows.node(pair.key);
                Combiner combiner = node < combiners.length ? combiners[node] : null; // rows that pass, and those of time, have other numbers
                if (combiner == null || !combiner.takes(pair.row)) {
                    out.add(pair);
                    bytes += pair.row.length + pair.key.length;
                } else {
                    add(combiner, pair);
                }
            }
            long passed = out.size();
            give();
            off = full && out.size() - passed > WORTH * came;
            release();
            bytes = 0;
            came = 0;
        }

        private void add(Combiner combiner, Pair pair) {
            came++;
            counts[counted[Rows.node(pair.key)]]++;
            int at = place(pair.key);
            if (keys[at] == null) {
                keys[at] = pair.key;
                groups++;
                bytes += pair.key.length + pair.row.length + OVERHEAD;
            } else if (combiner.piles()) {
                bytes += pair.row.length + PILED;
            }
            held[at] = combiner.add(held[at], pair.row);
            if (2 * groups > keys.length) {
                grow();
            }
        }

        /** Where a key lies in the table, or would: by its hash, which it begins with, and the next ones. */
        private int place(byte[] key) {
            int mask = keys.length - 1;
            long hash = Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET);
            int at = (int) (hash ^ hash >>> Integer.SIZE) & mask;
            while (keys[at] != null && !Arrays.equals(keys[at], key)) {
                at = at + 1 & mask;
            }
            return at;
        }

        private void grow() {
            byte[][] oldKeys = keys;
            Object[] oldHeld = held;
            keys = new byte[2 * oldKeys.length][];
            held = new Object[keys.length];
            for (int i = 0; i < oldKeys.length; i++) {
                if (oldKeys[i] != null) {
                    int at = place(oldKeys[i]);
                    keys[at] = oldKeys[i];
                    held[at] = oldHeld[i];
                }
            }
        }

        private void give() {
            for (int i = 0; groups > 0 && i < keys.length; i++) {
                if (keys[i] != null) {
                    byte[] key = keys[i];
                    int node = Rows.node(key);
                    int before = out.size();
                    combiners[node].give(held[i], row -> out.add(new Pair(row, key)));
                    counts[counted[node]] -= out.size() - before;
                    keys[i] = null;
                    held[i] = null;
                    groups--;
                }
            }
        }
    }
}
