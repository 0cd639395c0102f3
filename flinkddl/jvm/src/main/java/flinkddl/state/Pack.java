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

/** {@code pack(struct)} as BINARY: a row of any type as it lies in state, for those who show both alike. */
public final class Pack implements ScalarFunction<Object>, Serializable {
    private final StructType arguments;
    private final Rows rows;

    private Pack(StructType arguments) {
        this.arguments = arguments;
        rows = new Rows((StructType) arguments.apply(0).dataType());
    }

    /** Puts the function into the table. */
    public static void register(Map<String, UnboundFunction> table) { table.put("pack", Scalar.unbound("pack", Pack::new)); }

    public byte[] invoke(InternalRow row) { return rows.pack(row); }

    @Override public DataType[] inputTypes() { return new DataType[] {arguments.apply(0).dataType()}; }

    @Override public DataType resultType() { return DataTypes.BinaryType; }

    @Override public String name() { return "pack"; }

    @Override public String canonicalName() { return "flinkddl.state.pack" + arguments.catalogString(); }
}
