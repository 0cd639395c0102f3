package flinkddl.udf.flink;

import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;

/** Between a value as Spark has it and as a function has it; neither way is asked for a NULL. */
final class Conv {
    private static final UnaryOperator<Object> SAME = v -> v;

    private final DataType spark;
    private final Function<Object, Object> to;
    private final Function<Object, Object> from;

    Conv(DataType spark, Function<Object, Object> to, Function<Object, Object> from) {
        this.spark = spark;
        this.to = to;
        this.from = from;
    }

    static Conv same(DataType spark) { return new Conv(spark, SAME, SAME); }

    static Conv of(Shape s) {
        return switch (s.type().getTypeRoot()) {
            case CHAR, VARCHAR -> Simple.text(s);
            case DECIMAL -> Simple.decimal(s);
            case DATE -> Times.date(s);
            case TIME_WITHOUT_TIME_ZONE -> Times.time(s);
            case TIMESTAMP_WITHOUT_TIME_ZONE -> Times.timestamp(s);
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> Times.instant(s);
            case INTERVAL_YEAR_MONTH -> Times.months(s);
            case INTERVAL_DAY_TIME -> Times.duration(s);
            case ARRAY -> Many.array(s);
            case MAP, MULTISET -> Many.map(s);
            case ROW -> Fields.row(s);
            default -> Simple.plain(s);
        };
    }

    DataType spark() { return spark; }

    /** The value at a place of a struct or an array. */
    Object at(SpecializedGetters row, int i) { return row.isNullAt(i) ? null : to.apply(row.get(i, spark)); }

    Object back(Object value) { return value == null ? null : from.apply(value); }
}
