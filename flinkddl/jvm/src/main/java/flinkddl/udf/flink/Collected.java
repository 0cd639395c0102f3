package flinkddl.udf.flink;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.functions.TableAggregateFunction.RetractableCollector;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Rows as structs; each is converted when it comes, since functions use their objects again. */
final class Collected implements RetractableCollector<Object> {
    private final Conv row;
    private final boolean bare;
    private final List<Object> rows = new ArrayList<>();

    Collected(Shape shape) {
        row = Conv.of(shape);
        bare = !(row.spark() instanceof org.apache.spark.sql.types.StructType);
    }

    @Override public void collect(Object value) {
        Object there = row.back(value);
        rows.add(bare ? new GenericInternalRow(new Object[] {there}) : there);
    }

    @Override public void retract(Object value) {
        Object there = row.back(value);
        rows.remove(bare ? new GenericInternalRow(new Object[] {there}) : there);
    }

    @Override public void close() { }

    /** What came since the last call. */
    Object[] take() {
        Object[] all = rows.toArray();
        rows.clear();
        return all;
    }
}
