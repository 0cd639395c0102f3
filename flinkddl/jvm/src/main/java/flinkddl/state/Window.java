package flinkddl.state;

import flinkddl.Retract;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * The aggregates of a group and window, given out once, when event time has come to the window's end, and then
 * forgotten. The end (ms) is the last argument, the others and the head are those of {@link Aggregate}. Rows of a window
 * whose time is over are late, and dropped.
 */
final class Window extends Aggregate {
    private static final int END = 3;

    Window(StructType arguments) { super(arguments); }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        UnsafeRow first = rows.next();
        long fires = first.getLong(END) - 1;
        if (group.late(fires)) { // so are the others, which are of the same window
            return late(group, rows);
        }
        long[] rest = {0, Long.MIN_VALUE};
        boolean fresh = !read(group, rest);
        boolean empty = add(group, beginning(first, rows), rest);
        keep(group, rest, empty);
        if (fresh && !empty) {
            group.timer(fires);
        }
        return nothing();
    }

    private static Iterator<UnsafeRow> beginning(UnsafeRow first, Iterator<UnsafeRow> others) {
        return new Iterator<>() {
            private boolean begun;

            @Override public boolean hasNext() { return !begun || others.hasNext(); }

            @Override public UnsafeRow next() {
                UnsafeRow row = begun ? others.next() : first;
                begun = true;
                return row;
            }
        };
    }

    @Override Iterator<Object> fire(Store group, long time) {
        long[] rest = {0, Long.MIN_VALUE};
        if (!read(group, rest)) {
            return nothing(); // all its rows were taken back
        }
        UnsafeRow result = rest[0] > 0 ? results() : null;
        group.clear();
        return result == null ? nothing() : one(Retract.row(null, result, newest(rest)));
    }
}
