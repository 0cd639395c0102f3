package flinkddl.state;

import flinkddl.Retract;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.StructType;

/**
 * The few rows of a group and window that an aggregate function of ours keeps (a Top-N), until event time has come to the
 * window's end; then its result is given once, that of {@code final_<function>}. The end (ms) is the last argument. The
 * function's state stands behind the head's first word.
 */
final class WindowTop extends Kind {
    private final AggregateFunction<Serializable, Object> function;
    private final int end;

    @SuppressWarnings("unchecked")
    WindowTop(String function, StructType arguments) {
        end = arguments.length() - 1;
        StructType known = new StructType(Arrays.copyOf(arguments.fields(), end));
        this.function = (AggregateFunction<Serializable, Object>) (Object) Retract.find("final_" + function).bind(known);
    }

    @Override int maps() { return 0; }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        List<UnsafeRow> batch = arrived(rows, (a, b) -> 0); // which rows are kept hangs on it
        long fires = batch.get(0).getLong(end) - 1;
        if (group.late(fires)) { // so are the others, which are of the same window
            group.dropped(batch.size());
            return nothing();
        }
        byte[] head = group.head();
        Serializable state = state(head);
        long turn = group.next();
        for (UnsafeRow row : batch) {
            row.setLong(1, Retract.numbered(Retract.sequence(row), turn));
            state = function.update(state, row);
        }
        byte[] kept = Retract.written(state);
        group.keep(ByteBuffer.allocate(Store.BODY + kept.length).position(Store.BODY).put(kept).array());
        if (head == null) {
            group.timer(fires);
        }
        return nothing();
    }

    private Serializable state(byte[] head) {
        return head == null ? function.newAggregationState() : Arrays.copyOfRange(head, Store.BODY, head.length);
    }

    @Override Object held(byte[] head, Pages pages, InternalRow arguments) { return function.produceResult(state(head)); }

    @Override Iterator<Object> fire(Store group, long time) {
        Object result = function.produceResult(state(group.head()));
        group.clear();
        return one(result);
    }
}
