package flinkddl.state;

import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Brings the rows of one group that a task has together before they are exchanged. What it gives stands for what it was
 * given, in whatever order that came, and however the rows of a group are parted among tasks.
 */
interface Combiner {
    /** Whether a row can be held; what cannot goes on as it is. Rows are the node's arguments, good as long as the call. */
    default boolean takes(UnsafeRow row) { return true; }

    /** What is held of a group with one more row; {@code held} is null of its first. */
    Object add(Object held, UnsafeRow row);

    /** Give what is held, as the bytes of arguments or as the kind itself reads them. */
    void give(Object held, Consumer<byte[]> rows);

    /** Whether a group holds more with each row. */
    boolean piles();
}
