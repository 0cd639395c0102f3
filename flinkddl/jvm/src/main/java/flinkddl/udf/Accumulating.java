package flinkddl.udf;

import org.apache.spark.sql.catalyst.InternalRow;

/** An aggregate function of Flink, opened. An accumulator is an object that only the function knows. */
public interface Accumulating extends AutoCloseable {
    Object create();

    void add(Object accumulator, InternalRow arguments);

    /** Take a row back; refused where the class has no {@code retract}. */
    void retract(Object accumulator, InternalRow arguments);

    /** Whether the class has {@code merge}. */
    boolean merges();

    /** Bring another accumulator into the first; that one is of no use afterwards. */
    void merge(Object accumulator, Object other);

    /** The value as Spark has it; of a table aggregate an array of structs. */
    Object result(Object accumulator);

    /** All that an accumulator holds; of equal ones the same bytes, as far as their collections keep an order. */
    byte[] write(Object accumulator);

    Object read(byte[] bytes);

    @Override void close();
}
