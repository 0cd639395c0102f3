package flinkddl;

import flinkddl.scalar.Scalar;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.unsafe.types.UTF8String;

/** Rows of a stream: Flink's watermark after every record ({@code scan.watermark.emit.strategy = on-event}), arrival, time. */
public final class ScalarWatermark {
    private static final String QUERY_ID = "sql.streaming.queryId"; // Spark sets it on every task of a query
    private static final String PARTITIONS = "spark.flinkddl.partitions.";

    private static final Map<String, Track> TRACKS = new ConcurrentHashMap<>();

    private ScalarWatermark() { }

    static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarWatermark.class); }

    /** The watermark of one partition: before the batch, and as far as each attempt at the batch has come. */
    private static final class Track {
        private long batch = Long.MIN_VALUE;
        private long base = Long.MIN_VALUE;
        private final Map<Long, Long> running = new HashMap<>();

        synchronized long meet(long now, long attempt, long watermark) {
            if (now != batch) {
                base = running.values().stream().mapToLong(x -> x).reduce(base, Math::max);
                running.clear();
                batch = now;
            }
            long met = running.getOrDefault(attempt, base);
            running.put(attempt, Math.max(met, watermark));
            return met;
        }
    }

    /**
     * {@code met_watermark(source, partition, watermark)}: the largest watermark (ms) of the rows that came before this
     * one from the same partition. A task reads a partition in order; between batches the value is kept in this JVM
     * and, as in Flink, not in a checkpoint. Over several partitions Flink takes the least of all, and how far each was
     * read is a race: then the result is NULL and nothing counts as late.
     */
    public static final class MetWatermark extends Scalar {
        @Override public boolean isDeterministic() { return false; }

        public static Long invoke(UTF8String source, int partition, long watermark) {
            TaskContext task = TaskContext.get();
            String partitions = task == null ? null : task.getLocalProperty(PARTITIONS + source);
            if (task == null || (partitions != null && !partitions.equals("1"))) {
                return null;
            }
            String name = task.getLocalProperty(QUERY_ID) + "/" + source + "/" + partition;
            Track track = TRACKS.computeIfAbsent(name, n -> new Track());
            long met = track.meet(Retract.batch(), task.taskAttemptId(), watermark);
            return met == Long.MIN_VALUE ? null : (Long) met;
        }
    }

    /** {@code arrival()}: grows with the rows of a task, tasks of a batch, batches of a query; the same on a replay. */
    public static final class Arrival extends Scalar {
        private static final ThreadLocal<long[]> NEXT = ThreadLocal.withInitial(() -> new long[] {-1, 0}); // task, row

        @Override public boolean isDeterministic() { return false; }

        public static long invoke() {
            TaskContext task = TaskContext.get(); // the driver has none
            if (task != null && NEXT.get()[0] != task.taskAttemptId()) {
                NEXT.set(new long[] {task.taskAttemptId(), 0});
            }
            long place = task == null ? 0 : Math.min(task.partitionId(), 511); // 9 bits, before 27 of the row
            return (Math.max(0, Retract.batch()) << 36) | (place << 27) | Math.min(NEXT.get()[1]++, (1L << 27) - 1);
        }
    }

    /** {@code clock()}: the time of this row in ms. Spark's own is that of the batch, which may last for minutes. */
    public static final class Clock extends Scalar {
        @Override public boolean isDeterministic() { return false; }

        public static long invoke() { return System.currentTimeMillis(); }
    }
}
