package flinkddl;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Which of two rows of {@code retract_latest} counts. Versions {@code arrived} and {@code darrived} order the rows of one
 * batch alone. Of another the last field says when a row came: of what came out of an operator it is NULL, and then, of
 * one time, a later batch's row is the later one.
 */
public final class RetractVersion implements Serializable {
    private final RetractOrder order;
    private final RetractOrder times;
    private final int fields;
    private final boolean arrived;
    private final boolean first;
    private final boolean ascending;

    public RetractVersion(StructType version) {
        fields = version.length();
        order = new RetractOrder(version);
        StructField[] before = Arrays.copyOf(version.fields(), fields - 1);
        times = new RetractOrder(new StructType(before));
        arrived = version.apply(0).name().equals("arrived");
        first = version.apply(0).name().equals("darrived");
        ascending = !version.apply(fields - 1).name().startsWith("d");
    }

    /** Whether what comes later is newer, whatever it says. */
    public boolean arrived() { return arrived; }

    /** The order of rows of one batch, 0 where none of them knows better. */
    public int compare(InternalRow a, InternalRow b) { return order.compare(a, b); }

    /** Whether it is not known when a row came, so that of one batch its bytes decide. */
    boolean unknown(UnsafeRow version) { return version.isNullAt(fields - 1); }

    /** Whether a row of a later batch replaces one of an earlier; {@code equal}: so where both say the same. */
    public boolean replaces(UnsafeRow now, UnsafeRow old, boolean equal) {
        if (arrived || first) {
            return arrived;
        }
        boolean known = !unknown(now) && !unknown(old);
        int c = known ? order.compare(now, old) : times.compare(now, old);
        return c > 0 || c == 0 && (known ? equal : ascending);
    }
}
