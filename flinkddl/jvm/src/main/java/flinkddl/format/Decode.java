package flinkddl.format;

import flinkddl.scalar.LastRecord;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code <format>_decode(bytes, CAST(NULL AS STRUCT<...>), spec, topic, partition, offset) -> ARRAY<STRUCT<...>>}: the
 * rows of one message. A message the format refuses stops the task, and says which message it was.
 */
public final class Decode implements ScalarFunction<ArrayData> {
    private final DataType row;
    private transient UTF8String specText;
    private transient Spec spec;
    private transient Codec codec;
    private transient ArrayList<InternalRow> rows;
    private transient LastRecord last;

    Decode(StructType inputs) {
        if (inputs.length() != 6) {
            throw new UnsupportedOperationException("decode takes bytes, type, spec, topic, partition, offset");
        }
        row = inputs.apply(1).dataType();
    }

    @Override public DataType[] inputTypes() {
        return new DataType[] {DataTypes.BinaryType, row, DataTypes.StringType, DataTypes.StringType,
            DataTypes.IntegerType, DataTypes.LongType};
    }

    @Override public DataType resultType() { return DataTypes.createArrayType(row, false); }

    @Override public String name() { return "decode"; }

    @Override public String toString() { return "flinkddl"; }

    // equal plans: Spark then computes a common expression once
    @Override public boolean equals(Object o) { return o instanceof Decode other && other.row.equals(row); }

    @Override public int hashCode() { return row.hashCode(); }

    public ArrayData invoke(byte[] bytes, InternalRow type, UTF8String text, UTF8String topic, int partition, long offset) {
        if (text != specText) {
            open(text);
        }
        rows.clear();
        last.is(topic, partition, offset);
        try {
            codec.decode(bytes, rows);
        } catch (Exception | StackOverflowError e) {
            String where = topic == null ? "" : ", topic '" + topic + "', partition " + partition + ", offset " + offset;
            throw Formats.failure("FD750", spec, where, e);
        }
        return new GenericArrayData(rows.toArray());
    }

    /** Specs are literals, so the object changes at most with the task; equal text needs no new codec. */
    private void open(UTF8String text) {
        if (!text.equals(specText)) {
            spec = new Spec(text.toString());
            codec = Codec.reading(spec);
            rows = new ArrayList<>();
        }
        specText = text;
        last = LastRecord.ofTask();
    }
}
