package flinkddl.udf.flink;

import java.util.List;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.YearMonthIntervalType;

/** Which Spark type carries a Flink type: the rules of {@code flinkddl/sqltypes.py}. */
final class Carriers {
    private Carriers() { }

    static DataType of(LogicalType t) {
        return switch (t.getTypeRoot()) {
            case BOOLEAN -> DataTypes.BooleanType;
            case TINYINT -> DataTypes.ByteType;
            case SMALLINT -> DataTypes.ShortType;
            case INTEGER, TIME_WITHOUT_TIME_ZONE -> DataTypes.IntegerType;
            case BIGINT -> DataTypes.LongType;
            case FLOAT -> DataTypes.FloatType;
            case DOUBLE -> DataTypes.DoubleType;
            case CHAR, VARCHAR -> DataTypes.StringType;
            case BINARY, VARBINARY -> DataTypes.BinaryType;
            case DECIMAL -> DataTypes.createDecimalType(((DecimalType) t).getPrecision(), ((DecimalType) t).getScale());
            case DATE -> DataTypes.DateType;
            case TIMESTAMP_WITHOUT_TIME_ZONE -> DataTypes.TimestampNTZType;
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> DataTypes.TimestampType;
            case INTERVAL_YEAR_MONTH -> YearMonthIntervalType.DEFAULT();
            case INTERVAL_DAY_TIME -> DayTimeIntervalType.DEFAULT();
            case ARRAY -> DataTypes.createArrayType(child(t, 0), true);
            case MAP -> DataTypes.createMapType(child(t, 0), child(t, 1), true);
            case MULTISET -> DataTypes.createMapType(child(t, 0), DataTypes.IntegerType, true);
            case ROW -> row((RowType) t);
            default -> throw new IllegalArgumentException("FD890: Spark has no type that carries " + t.asSummaryString());
        };
    }

    private static DataType child(LogicalType t, int i) { return of(t.getChildren().get(i)); }

    private static DataType row(RowType t) {
        List<StructField> fields = t.getFields().stream()
            .map(f -> DataTypes.createStructField(f.getName(), of(f.getType()), true)).toList();
        return DataTypes.createStructType(fields);
    }
}
