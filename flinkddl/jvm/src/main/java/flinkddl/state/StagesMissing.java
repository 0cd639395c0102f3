package flinkddl.state;

import flinkddl.scalar.Scalar;
import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code stages_missing()} says why there are no stages in this session, and is empty where there are: what was found when
 * the function was looked up, since where it runs there may be no session.
 */
public final class StagesMissing implements ScalarFunction<Object>, Serializable {
    private final UTF8String why = UTF8String.fromString(Install.missing());

    private StagesMissing() { }

    /** Puts the function into the table. */
    public static void register(Map<String, UnboundFunction> table) {
        table.put("stages_missing", Scalar.unbound("stages_missing", in -> new StagesMissing()));
    }

    public UTF8String invoke() { return why; }

    @Override public DataType[] inputTypes() { return new DataType[0]; }

    @Override public DataType resultType() { return DataTypes.StringType; }

    @Override public String name() { return "stages_missing"; }
}
