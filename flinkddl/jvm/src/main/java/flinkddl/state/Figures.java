package flinkddl.state;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.util.CollectionAccumulator;

/**
 * What the nodes of a stage have done in a batch: rows that came in, of each input, rows that went out, by how many groups
 * and bytes their state has grown, and of those that wait for event time (ms) where it stands, and rows that came behind it. A task counts in a plain array, which Spark brings to the driver when it ends;
 * there {@link StageRule} has each number read as an observed metric of the query. Of a partition that ran again the
 * last run counts.
 */
public final class Figures implements Serializable {
    /** The numbers of a node, by their places; inputs are two of a join, left and right. */
    static final String[] NAMES = {"in0", "in1", "out", "groups", "bytes", "late", "time"};
    static final String PASSED = "passed";
    static final int IN = 0;
    static final int OUT = 2;
    static final int GROUPS = 3;
    static final int BYTES = 4;
    static final int LATE = 5;
    static final int TIME = 6; // not told by a task that heard of none: 0

    private final int size;
    // of arrays, each with its task at the end: Spark's own class, for the same reason as below
    private final CollectionAccumulator<long[]> tasks = new CollectionAccumulator<>();

    Figures(int nodes) { size = nodes * NAMES.length; }

    /** Where the numbers of a node begin, by the place of its edge. */
    static int at(int edge) { return edge * NAMES.length; }

    /**
     * Whether the figures can be observed. What observes them goes to each task and comes back with its result, where Spark
     * knows the classes that it was started with, not those that came into a session later, as over Spark Connect.
     */
    static boolean observable() {
        ClassLoader mine = Figures.class.getClassLoader();
        return mine == SparkContext.class.getClassLoader() || mine.getClass().getName().equals("org.apache.spark.util.MutableURLClassLoader");
    }

    /** On the driver, before any task. */
    long register() {
        SparkContext.getOrCreate().register(tasks);
        return tasks.id();
    }

    /** Those of the task at hand; on the driver nobody counts. */
    long[] ofTask() { return of(0); }

    /** Those of a task that is before the exchange, and has another task's partition for its number. */
    long[] ofTaskBefore() { return of(-1); }

    private long[] of(int apart) {
        long[] counts = new long[size + 1];
        TaskContext task = TaskContext.get();
        if (task != null) {
            counts[size] = task.partitionId() ^ apart;
            tasks.add(counts);
        }
        return counts;
    }

    /** Called from generated code, on the driver. */
    public long count(int at) {
        Map<Long, long[]> last = new HashMap<>();
        tasks.value().forEach(counts -> last.put(counts[size], counts));
        LongStream found = last.values().stream().mapToLong(c -> c[at]);
        return at % NAMES.length == TIME ? found.filter(time -> time != 0).min().orElse(0) : found.sum();
    }
}
