package flinkddl.state;

import flinkddl.scalar.Scalar;
import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code pack(struct)} as BINARY and {@code unpack(bytes, CAST(NULL AS STRUCT<...>))} as that struct: rows of any type in
 * one column. {@code stages_missing()} says why there are no stages in this session, and is empty where there are.
 */
public final class Packed {
    private Packed() { }

    /** Puts the functions into the table. */
    public static void register(Map<String, UnboundFunction> table) {
        table.put("pack", Scalar.unbound("pack", Pack::new));
        table.put("unpack", Scalar.unbound("unpack", Unpack::new));
        table.put("stages_missing", Scalar.unbound("stages_missing", in -> new StagesMissing()));
    }

    private abstract static class OfRows implements ScalarFunction<Object>, Serializable {
        private final StructType arguments;
        private final DataType result;
        final Rows rows;

        OfRows(StructType arguments, int typed, boolean packs) {
            this.arguments = arguments;
            rows = new Rows((StructType) arguments.apply(typed).dataType());
            result = packs ? DataTypes.BinaryType : rows.type;
        }

        @Override public DataType[] inputTypes() {
            DataType[] types = new DataType[arguments.length()];
            for (int i = 0; i < types.length; i++) {
                types[i] = arguments.apply(i).dataType();
            }
            return types;
        }

        @Override public DataType resultType() { return result; }

        @Override public String name() { return getClass().getSimpleName(); }

        @Override public String canonicalName() { return "flinkddl.state." + name() + arguments.catalogString(); }
    }

    public static final class Pack extends OfRows {
        Pack(StructType arguments) { super(arguments, 0, true); }

        public byte[] invoke(InternalRow row) { return rows.pack(row); }
    }

    public static final class Unpack extends OfRows {
        Unpack(StructType arguments) { super(arguments, 1, false); }

        public InternalRow invoke(byte[] bytes, InternalRow type) { return rows.unpack(bytes); }
    }

    /** What was found when the function was looked up: where it runs there may be no session. */
    public static final class StagesMissing implements ScalarFunction<Object>, Serializable {
        private final UTF8String why = UTF8String.fromString(Install.missing());

        public UTF8String invoke() { return why; }

        @Override public DataType[] inputTypes() { return new DataType[0]; }

        @Override public DataType resultType() { return DataTypes.StringType; }

        @Override public String name() { return "stages_missing"; }
    }
}
