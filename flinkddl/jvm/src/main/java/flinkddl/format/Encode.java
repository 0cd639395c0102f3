package flinkddl.format;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code <format>_encode(struct, spec) -> BINARY}: the message of one row. */
public final class Encode implements ScalarFunction<byte[]> {
    private final DataType row;
    private transient UTF8String specText;
    private transient Spec spec;
    private transient Codec codec;

    Encode(StructType inputs) {
        if (inputs.length() != 2 || !(inputs.apply(0).dataType() instanceof StructType)) {
            throw new UnsupportedOperationException("encode takes a struct and a spec");
        }
        row = inputs.apply(0).dataType();
    }

    @Override public DataType[] inputTypes() { return new DataType[] {row, DataTypes.StringType}; }

    @Override public DataType resultType() { return DataTypes.BinaryType; }

    @Override public String name() { return "encode"; }

    @Override public String toString() { return "flinkddl"; }

    // equal plans: Spark then computes a common expression once
    @Override public boolean equals(Object o) { return o instanceof Encode other && other.row.equals(row); }

    @Override public int hashCode() { return row.hashCode(); }

    public byte[] invoke(InternalRow struct, UTF8String text) {
        if (text != specText) {
            if (!text.equals(specText)) {
                spec = new Spec(text.toString());
                codec = spec.format.codec.apply(spec);
            }
            specText = text;
        }
        try {
            return struct == null ? null : codec.encode(struct);
        } catch (Exception e) {
            throw Formats.failure("FD751", spec, "", e);
        }
    }
}
