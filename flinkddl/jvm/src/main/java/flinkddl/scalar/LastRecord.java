package flinkddl.scalar;

import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;

/** The record that a task decoded last, by which a failure further on is found again: one thread computes a task. */
public final class LastRecord {
    private static final ThreadLocal<LastRecord> LAST = ThreadLocal.withInitial(LastRecord::new);

    private TaskContext task;
    private UTF8String topic;
    private int partition;
    private long offset;

    private LastRecord() { }

    /** That of the task at hand, asked for once a task: it is told of every record. */
    public static LastRecord ofTask() {
        LastRecord last = LAST.get();
        last.task = TaskContext.get();
        last.topic = null;
        return last;
    }

    public void is(UTF8String topic, int partition, long offset) {
        if (topic == null || !topic.equals(this.topic)) {
            this.topic = topic == null ? null : topic.clone(); // what it lies in is Spark's, for the next record
        }
        this.partition = partition;
        this.offset = offset;
    }

    /** Which it was, for a message; "" where this task decoded none. */
    public static String said() {
        LastRecord last = LAST.get();
        if (last.topic == null || last.task == null || last.task != TaskContext.get()) {
            return "";
        }
        return "topic '" + last.topic + "', partition " + last.partition + ", offset " + last.offset;
    }
}
