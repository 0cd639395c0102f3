package flinkddl.udf;

import org.apache.spark.sql.catalyst.InternalRow;

/** A Java function of Flink, opened: Spark's values in, Spark's values out. One thread at a time calls it. */
public interface Kernel extends AutoCloseable {
    /** A scalar function's result; the rows of a table function as an array of structs. */
    Object call(InternalRow arguments);

    @Override void close();
}
