package flinkddl.state;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * Before the exchange of a stage, in micro-batches: rows of a group that a task has are brought together by the
 * {@link Combiner} of their node, so that fewer are exchanged and sorted. Tables of groups of bounded size are given out
 * as a whole when they are full; a task whose first tables had hardly two rows of a group goes on without. Rows come as
 * {@link Given} reads them, and become bytes where they are kept or go on.
 */
public final class Combine extends AbstractFunction1<Iterator<Object>, Iterator<Object>> implements Serializable {
    private static final boolean WANTED = Boolean.parseBoolean(System.getProperty("flinkddl.state.combine", "true"));
    private static final long MOST = 64L << 20; // bytes a task
    private static final long ALL = Runtime.getRuntime().maxMemory() / 16; // bytes of all tasks that run at once
    private static final AtomicLong TAKEN = new AtomicLong();
    private static final long CHUNK = 256 << 10;
    private static final int FIRST = 1024; // places of a table
    private static final int OVERHEAD = 96; // bytes a group, beside those of its key and row
    private static final int PILED = 160; // bytes a row of a group that holds more with each, and of the first as many again
    private static final double WORTH = 0.9; // rows out for each row in, from which it is not
    private static final int JUDGED = 10_000; // rows, of which that is said: other tasks may leave no room for more at once

    private final Figures figures;
    private final Given given;
    private final KeyedStage.Node[] spec;

    private Combine(Figures figures, Given given, KeyedStage.Node[] spec) {
        this.figures = figures;
        this.given = given;
        this.spec = spec;
    }

    /** Null where none of the nodes brings rows together; {@code figures} are those of the stage. */
    static Combine of(Figures figures, Given given, KeyedStage.Node... spec) {
        boolean any = Arrays.stream(spec).anyMatch(n -> n.kind() != null && n.kind().combiner() != null);
        return WANTED && any ? new Combine(figures, given, spec) : null;
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

    public static byte[] row(Pair pair) { return pair.row; }

    public static byte[] key(Pair pair) { return pair.key; }

    @Override public Iterator<Object> apply(Iterator<Object> rows) { return new Combined(rows, given, figures.ofTaskBefore(), spec); }

    /** The groups of a node: what brings their rows together, and what there is of each so far. */
    private static final class Groups {
        final Combiner combiner;
        final Table<Object> table = new Table<>(FIRST);
        final int counted; // where the node's rows are counted

        Groups(Combiner combiner, int counted) {
            this.combiner = combiner;
            this.counted = counted;
        }
    }

    /** The rows of a task, brought together. */
    private static final class Combined extends AbstractIterator<Object> {
        private final Iterator<Object> in; // a row is good until the next one is asked for
        private final Given given;
        private final Groups[] groups; // by the place of the edge; null of rows that go on as they are
        private final long[] counts; // what the stage's figures are short of: it sees the rows that come out
        private final Queue<Pair> out = new ArrayDeque<>();
        private int giving; // of what tables are given, the edge
        private int place; // and where in its table
        private long bytes;
        private long taken; // of them, what all tasks know of
        private long came;
        private long went;
        private boolean full;
        private boolean off;

        Combined(Iterator<Object> in, Given given, long[] counts, KeyedStage.Node[] spec) {
            this.in = in;
            this.given = given;
            this.counts = counts;
            groups = new Groups[Arrays.stream(spec).mapToInt(KeyedStage.Node::edge).max().orElse(0) + 1];
            giving = groups.length;
            for (KeyedStage.Node node : spec) {
                Combiner combiner = node.kind() == null ? null : node.kind().combiner();
                groups[node.edge()] = combiner == null ? null : new Groups(combiner, Figures.at(node.edge()) + Figures.IN);
            }
            TaskContext task = TaskContext.get();
            if (task != null) {
                task.addTaskCompletionListener((TaskContext done) -> release());
            }
        }

        /** Whether the tables may grow: they take their part of what all tasks may, a chunk at a time. */
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
            while (out.isEmpty()) {
                if (giving < groups.length) {
                    give();
                } else if (off || !in.hasNext()) {
                    return off && in.hasNext();
                } else {
                    fill();
                }
            }
            return true;
        }

        @Override public Object next() {
            if (!hasNext()) {
                return Iterator.empty().next();
            }
            return out.isEmpty() ? given.pair((UnsafeRow) in.next()) : out.poll();
        }

        private void fill() {
            while (!(full = !room()) && in.hasNext()) {
                UnsafeRow row = (UnsafeRow) in.next();
                KeyedStage.Node node = given.node(row);
                Groups of = groups[node.edge()];
                UnsafeRow arguments = of == null ? null : given.arguments(node, row);
                if (of == null || !of.combiner.takes(arguments)) {
                    Pair pair = given.pair(row);
                    out.add(pair);
                    bytes += pair.row.length + pair.key.length;
                } else {
                    add(of, node, given.key(node, row), arguments);
                }
            }
            giving = 0;
        }

        private void add(Groups of, KeyedStage.Node node, UnsafeRow key, UnsafeRow arguments) {
            came++;
            counts[of.counted]++;
            long hash = Rows.hash(node.number(), key);
            int at = of.table.place(hash, key, Rows.KEY);
            if (of.table.key(at) == null) {
                of.table.put(at, hash, Rows.key(hash, node.number(), key));
                bytes += Rows.KEY + key.getSizeInBytes() + arguments.getSizeInBytes() + OVERHEAD + (of.combiner.piles() ? 2 * PILED : 0);
            } else if (of.combiner.piles()) {
                bytes += arguments.getSizeInBytes() + PILED;
            }
            of.table.set(at, of.combiner.add(of.table.value(at), arguments));
        }

        /** Give the next group, or see that there is none. */
        private void give() {
            Groups of = groups[giving];
            while (of != null && of.table.size() > 0) {
                int at = place++;
                byte[] key = of.table.key(at);
                if (key != null) {
                    of.combiner.give(of.table.value(at), row -> out.add(new Pair(row, key)));
                    counts[of.counted] -= out.size();
                    went += out.size();
                    of.table.remove(at);
                    return;
                }
            }
            place = 0;
            if (++giving == groups.length) {
                release();
                bytes = 0;
                if (full && came >= JUDGED) {
                    off = went > WORTH * came;
                    came = 0;
                    went = 0;
                }
                if (off) {
                    Arrays.fill(groups, null);
                }
            }
        }
    }
}
