package flinkddl.state;

import flinkddl.Retract;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The sessions of a key, as Flink merges them: a row's window reaches from its time to the gap behind it, and is one with
 * all that it meets. Each comes out once, with its bounds, when event time has come to its end. Arguments: those of
 * {@link Aggregate}, the row's time, the gap, the watermark that the row met on its way, NULL where that is not known (ms).
 * A row whose window, and all that it meets, is over is late, and dropped.
 *
 * <p>The head has the sessions in order of time, each its bounds, for when it has a timer, and a state of
 * {@code final_aggregate}: they can be merged, which what {@link Aggregate} keeps cannot. Where results hang on the order
 * of rows ({@code sessionlist}) it is the rows: of sessions that become one the later's stand before the earlier's, as
 * Flink has them, and not in the order in which they came.
 */
final class Session extends Kind {
    static final int MORE = 3; // arguments
    private static final int TIME = 3;
    private static final int GAP = 4;
    private static final int MET = 5;
    private static final int RESULT = 2; // in what comes out

    private final AggregateFunction<Serializable, Object> function;
    private final int fields;
    private final boolean listed;

    @SuppressWarnings("unchecked")
    Session(StructType arguments, boolean listed) {
        this.listed = listed;
        fields = arguments.length();
        StructType known = new StructType(Arrays.copyOf(arguments.fields(), fields - MORE));
        function = (AggregateFunction<Serializable, Object>) (Object) Retract.find("final_aggregate").bind(known);
    }

    /** What comes out: the bounds of a session, and what the aggregate gives. */
    static DataType type(DataType result) {
        return new StructType().add("s", DataTypes.LongType).add("e", DataTypes.LongType).add("r", result);
    }

    private static final class Span {
        long start;
        long end;
        long timer = Long.MAX_VALUE; // the time for which it has asked, at most its end
        Serializable state; // or
        final List<byte[]> rows = new ArrayList<>();

        Span(long start, long end) {
            this.start = start;
            this.end = end;
        }
    }

    @Override int maps() { return 0; }

    @Override long bucket() { return 1000; }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        List<Span> spans = read(group.head());
        long time = group.over();
        boolean changed = false;
        for (UnsafeRow row : arrived(rows, Comparator.comparingLong(row -> row.getLong(TIME)))) {
            changed |= take(group, row, spans, row.isNullAt(MET) ? time : Math.max(time, row.getLong(MET)));
        }
        if (changed) {
            keep(group, spans);
        }
        return nothing();
    }

    /** Bring in a row; returns false of one that is late. */
    private boolean take(Store group, UnsafeRow row, List<Span> spans, long now) {
        long start = row.getLong(TIME);
        long end = start + row.getLong(GAP);
        List<Span> met = new ArrayList<>(spans.stream().filter(s -> s.end - 1 > now && s.start <= end && s.end >= start).toList());
        if (met.isEmpty() && end - 1 <= now) {
            group.dropped(1);
            return false;
        }
        Span one = met.isEmpty() ? new Span(start, end) : met.get(met.size() - 1);
        for (Span other : met.subList(0, Math.max(0, met.size() - 1))) { // the earlier ones into the last, as Flink does
            one.state = listed ? null : function.merge(one.state, other.state);
            one.rows.addAll(other.rows);
            one.start = Math.min(one.start, other.start);
            one.timer = Math.min(one.timer, other.timer);
        }
        one.start = Math.min(one.start, start);
        one.end = Math.max(one.end, end);
        if (listed) {
            one.rows.add(row.getBytes());
        } else {
            one.state = function.update(met.isEmpty() ? function.newAggregationState() : one.state, row);
        }
        spans.removeAll(met);
        spans.add(one);
        spans.sort(Comparator.comparingLong(s -> s.start));
        return true;
    }

    @Override Iterator<Object> fire(Store group, long time) {
        List<Span> spans = read(group.head());
        List<Object> out = new ArrayList<>();
        long now = group.time();
        for (Span span : List.copyOf(spans)) {
            if (span.end - 1 <= now) {
                InternalRow result = result(span);
                if (!result.isNullAt(RESULT)) { // else all its rows were taken back
                    out.add(result);
                }
                spans.remove(span);
            } else if (span.timer <= time) {
                span.timer = Long.MAX_VALUE; // it has grown since it asked
            }
        }
        keep(group, spans);
        return out.iterator();
    }

    private InternalRow result(Span span) {
        return Retract.row(span.start, span.end, function.produceResult(listed ? state(span.rows) : span.state));
    }

    @Override Object held(byte[] head, Pages pages, InternalRow arguments) {
        return new GenericArrayData(read(head).stream().map(this::result).toArray());
    }

    private Serializable state(List<byte[]> rows) {
        Serializable state = function.newAggregationState();
        for (int i = 0; i < rows.size(); i++) {
            UnsafeRow row = Retract.view(rows.get(i), fields);
            row.setLong(1, i); // in place of when it came
            state = function.update(state, row);
        }
        return state;
    }

    private List<Span> read(byte[] head) {
        List<Span> spans = new ArrayList<>();
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                for (long n = Retract.readLong(in); n > 0; n--) {
                    Span span = new Span(in.readLong(), in.readLong());
                    span.timer = in.readLong();
                    for (long rows = listed ? Retract.readLong(in) : 0; rows > 0; rows--) {
                        span.rows.add(Retract.readBytes(in));
                    }
                    span.state = listed ? null : Retract.readBytes(in);
                    spans.add(span);
                }
            });
        }
        return spans;
    }

    private void keep(Store group, List<Span> spans) {
        for (Span span : spans) {
            if (span.timer == Long.MAX_VALUE) {
                span.timer = span.end - 1;
                group.timer(span.timer);
            }
        }
        group.keep(spans.isEmpty() ? null : Head.written(out -> {
            out.writeLong(0); // the store's own word
            Retract.writeLong(out, spans.size());
            for (Span span : spans) {
                out.writeLong(span.start);
                out.writeLong(span.end);
                out.writeLong(span.timer);
                if (!listed) {
                    Retract.writeBytes(out, Retract.written(span.state));
                    continue;
                }
                Retract.writeLong(out, span.rows.size());
                for (byte[] row : span.rows) {
                    Retract.writeBytes(out, row);
                }
            }
        }));
    }
}
