package flinkddl.udf;

import org.apache.spark.sql.types.DataType;

/** What is linked against Flink's classes. {@link Loaders} makes it where they are; the rest of ours knows none of them. */
public interface Flink {
    /** The Spark type that carries a Flink type; of all arguments together a struct. */
    DataType carrier(String type);

    /** Whether the class itself says that equal arguments give equal results. */
    boolean deterministic(JavaSpec spec, ClassLoader job);

    /** A scalar, async or table function, opened. */
    Kernel kernel(JavaSpec spec, ClassLoader job);

    /** An aggregate or table aggregate function, opened. */
    Accumulating accumulating(JavaSpec spec, ClassLoader job);
}
