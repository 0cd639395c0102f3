package flinkddl.udf;

import java.lang.ref.Cleaner;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/** When a function that was opened is closed. */
final class Opening {
    private static final Cleaner CLEANER = Cleaner.create();

    private Opening() { }

    /**
     * Closes at the task's end; where Spark computes constants while it plans, when nobody holds {@code owner} any more,
     * which the function must not hold.
     */
    static <T extends AutoCloseable> T until(Object owner, T opened) {
        TaskContext task = TaskContext.get();
        if (task == null) {
            CLEANER.register(owner, () -> close(opened));
        } else {
            task.addTaskCompletionListener((TaskCompletionListener) t -> close(opened));
        }
        return opened;
    }

    private static void close(AutoCloseable opened) {
        try {
            opened.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
