package flinkddl.state;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * What the nodes of a stage have done in a batch: rows that came in, of each input, rows that went out, and by how many
 * groups and bytes their state has grown. A task counts in a plain array, which Spark brings to the driver when it ends;
 * there {@link StageRule} has each number read as an observed metric of the query. Of a partition that ran again the
 * last run counts.
 */
public final class Figures extends AccumulatorV2<long[], long[]> {
    /** The numbers of a node, by their places; inputs are two of a join, left and right. */
    static final String[] NAMES = {"in0", "in1", "out", "groups", "bytes"};
    static final int IN = 0;
    static final int OUT = 2;
    static final int GROUPS = 3;
    static final int BYTES = 4;

    private final int size;
    private final Map<Integer, long[]> counts = new ConcurrentHashMap<>(); // by partition, below zero of tasks before the exchange

    Figures(int nodes) { size = nodes * NAMES.length; }

    /** Where the numbers of a node begin, by the place of its edge. */
    static int at(int edge) { return edge * NAMES.length; }

    /** Those of the task at hand; on the driver nobody counts. */
    long[] ofTask() { return of(0); }

    /** Those of a task that is before the exchange, and has another task's partition for its number. */
    long[] ofTaskBefore() { return of(-1); }

    private long[] of(int apart) {
        TaskContext task = TaskContext.get();
        return task == null ? new long[size] : counts.computeIfAbsent(task.partitionId() ^ apart, p -> new long[size]);
    }

    /** Called from generated code, on the driver. */
    public long count(int at) { return counts.values().stream().mapToLong(c -> c[at]).sum(); }

    @Override public boolean isZero() { return counts.isEmpty(); }

    @Override public Figures copy() {
        Figures copy = new Figures(size / NAMES.length);
        copy.counts.putAll(counts);
        return copy;
    }

    @Override public void reset() { counts.clear(); }

    @Override public void add(long[] more) { throw new UnsupportedOperationException("a task counts by itself"); }

    @Override public void merge(AccumulatorV2<long[], long[]> other) { counts.putAll(((Figures) other).counts); }

    @Override public long[] value() {
        long[] sums = new long[size];
        Arrays.setAll(sums, this::count);
        return sums;
    }
}
