package flinkddl.udf;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.StructType;

/**
 * An aggregate function of Flink over rows that only come: {@code flinkddl.`{"class":..}`(struct(arguments))}. Spark
 * aggregates in parts. Those of a class with {@code merge} are accumulators; otherwise the rows themselves are kept, and
 * accumulated where the result is asked for. A frame of OVER is one part, whose rows come in order: an accumulator.
 */
public final class JavaAggregate extends JavaFunction implements AggregateFunction<Serializable, Object> {
    private transient Accumulating function;
    private transient UnsafeProjection projection;

    private final boolean distinct; // of a frame: Spark removes duplicates in GROUP BY alone
    private final boolean over;

    JavaAggregate(JavaSpec spec, StructType bound) {
        super(spec, bound);
        distinct = spec.distinct;
        over = spec.over;
    }

    /** What one part of a group holds: an accumulator, or rows. It is written as plain bytes, as {@code Retract} says. */
    private static final class Part implements Serializable {
        private final transient Accumulating function;
        private Object accumulator;
        private final List<byte[]> rows = new ArrayList<>();
        private final transient Set<ByteBuffer> seen = new HashSet<>();

        Part(Accumulating function) { this.function = function; }

        /** As bytes: the accumulator alone, or an array of rows. */
        private Object writeReplace() {
            return accumulator == null ? rows.toArray(byte[][]::new) : function.write(accumulator);
        }
    }

    private Accumulating function() {
        if (function == null) {
            function = JavaFunctions.accumulating(text, this);
        }
        return function;
    }

    private Part part(Serializable state) {
        if (state instanceof Part part) {
            return part;
        }
        Part part = new Part(function());
        if (state instanceof byte[][] rows) {
            part.rows.addAll(List.of(rows));
        } else {
            part.accumulator = function().read((byte[]) state);
        }
        return part;
    }

    @Override public Serializable newAggregationState() { return new Part(function()); }

    @Override public Serializable update(Serializable state, InternalRow in) {
        Part part = part(state);
        if (arguments() != null && in.isNullAt(0)) {
            return part; // Spark's rows for the DISTINCT values of another call
        }
        InternalRow row = arguments() == null ? in : in.getStruct(0, arguments().length());
        if (distinct && !part.seen.add(ByteBuffer.wrap(bytes(row)))) {
            return part;
        }
        if (!over && !function().merges()) {
            part.rows.add(bytes(row));
            return part;
        }
        if (part.accumulator == null) {
            part.accumulator = function().create();
        }
        function().add(part.accumulator, row);
        return part;
    }

    private byte[] bytes(InternalRow row) {
        if (arguments() == null) {
            return new byte[0];
        }
        projection = projection == null ? UnsafeProjection.create(arguments()) : projection;
        return projection.apply(row).copy().getBytes(); // its own bytes: a projection has one buffer for all rows
    }

    @Override public Serializable merge(Serializable a, Serializable b) {
        Part part = part(a);
        Part other = part(b);
        part.rows.addAll(other.rows);
        if (part.accumulator == null) {
            part.accumulator = other.accumulator;
        } else if (other.accumulator != null) {
            function().merge(part.accumulator, other.accumulator);
        }
        return part;
    }

    @Override public Object produceResult(Serializable state) {
        Part part = part(state);
        Object accumulator = part.accumulator == null ? function().create() : part.accumulator;
        UnsafeRow view = new UnsafeRow(arguments() == null ? 0 : arguments().length());
        for (byte[] row : part.rows) {
            view.pointTo(row, row.length);
            function().add(accumulator, view);
        }
        return function().result(accumulator);
    }
}
