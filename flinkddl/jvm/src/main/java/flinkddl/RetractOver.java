package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_over(weight, sequence, byRows BOOLEAN, preceding BIGINT, STRUCT<o: STRUCT<order...>, r: STRUCT<row...>,
 * a: STRUCT<`kind:0`: argument, ...>>)}: OVER aggregates up to the current row for every row of a partition; gives what
 * changed as {@code ARRAY<STRUCT<r, v: STRUCT<results...>, w>>}.
 *
 * <p>A fourth field {@code w: STRUCT<m BIGINT>} holds the watermark that a row met, in units of the first order field:
 * a row is dropped when its partition had seen, before it, a row of its time or later that this watermark had passed.
 *
 * <p>Frame: {@code preceding} rows or, not by rows, units of the first order field (which is then a long), NULL for all.
 * Kinds: those of {@link RetractAggregate}, and row_number, rank, dense_rank over anything, lag over a struct (value,
 * offset INT, default). As Flink has it, RANK and DENSE_RANK give peers of a RANGE frame the rank of the last of them
 * when {@code rank} runs by range; LAG's default also replaces a NULL.
 */
public final class RetractOver extends Retract<RetractOver.Rows> {
    private final RetractOrder order;
    private final int[] widths = new int[3];
    private final StructType calls;
    private final String[] kinds;
    private final boolean timed;
    private final int parts; // 4 with a watermark
    private final RetractFinish[] finish;
    private transient UnsafeProjection projection;

    RetractOver(StructType inputs) {
        super("retract_over", inputs);
        StructType all = struct(4);
        parts = all.length();
        for (int i = 0; i < 3; i++) {
            widths[i] = ((StructType) all.apply(i).dataType()).length();
        }
        StructType o = (StructType) all.apply(0).dataType();
        order = new RetractOrder(o);
        timed = o.length() > 0 && (o.apply(0).dataType() instanceof LongType);
        calls = (StructType) all.apply(2).dataType();
        finish = RetractAggregate.finishers(calls);
        kinds = Arrays.stream(finish).map(f -> f.kind).toArray(String[]::new);
    }

    /** The rows of a partition and its frame. */
    public static final class Rows extends State {
        final RetractMultiset rows = new RetractMultiset(true);
        boolean byRows;
        long preceding = -1;

        @Override void fold() { rows.fold(); }

        @Override void clear() { rows.clear(); }

        @Override void write(DataOutput out) throws IOException {
            out.writeBoolean(byRows);
            writeLong(out, preceding);
            rows.write(out);
        }

        @Override void read(DataInput in) throws IOException {
            byRows = in.readBoolean();
            preceding = readLong(in);
            rows.read(in);
        }
    }

    private record Place(InternalRow order, InternalRow row, byte[] bytes, long sequence) { }

    @Override public DataType resultType() {
        return new ArrayType(type("r", struct(4).apply(1).dataType(), "v", results(), "w", DataTypes.LongType), false);
    }

    private StructType results() { return results(calls, finish); }

    /** The values of a row: one field a call, named as the call. */
    public static StructType results(StructType calls, RetractFinish[] finish) {
        Object[] fields = new Object[2 * finish.length];
        for (int i = 0; i < finish.length; i++) {
            fields[2 * i] = calls.apply(i).name();
            DataType argument = calls.apply(i).dataType();
            fields[2 * i + 1] = switch (finish[i].kind) {
                case "row_number", "rank", "dense_rank" -> DataTypes.LongType;
                case "lag" -> ((StructType) argument).apply(0).dataType();
                default -> finish[i].type();
            };
        }
        return type(fields);
    }

    @Override Rows create() { return new Rows(); }

    @Override Rows update(Rows s, InternalRow in) {
        s.byRows = in.getBoolean(2);
        s.preceding = in.isNullAt(3) ? -1 : in.getLong(3);
        s.rows.add(bytes(in, 4, parts), in.getLong(0), sequence(in));
        return s;
    }

    @Override Rows merge(Rows a, Rows b) {
        if (a.rows.entries.isEmpty()) {
            return b;
        }
        a.rows.merge(b.rows);
        return a;
    }

    @Override Object produceResult(Rows s) {
        Map<RetractMultiset.Key, Long> change = new HashMap<>();
        StructType both = type("r", struct(4).apply(1).dataType(), "v", results());
        projection = projection == null ? UnsafeProjection.create(both) : projection;
        for (boolean old : new boolean[] {true, false}) {
            for (InternalRow result : evaluate(s, old)) {
                byte[] bytes = projection.apply(result).copy().getBytes(); // the projection has one buffer for all
                change.merge(new RetractMultiset.Key(bytes), old ? -1L : 1L, (x, y) -> x + y == 0 ? null : x + y);
            }
        }
        List<Object> out = new ArrayList<>();
        change.forEach((key, w) -> {
            InternalRow x = view(key.bytes, 2);
            out.add(row(x.getStruct(0, widths[1]), x.getStruct(1, kinds.length), w));
        });
        return new GenericArrayData(out.toArray());
    }

    private List<InternalRow> evaluate(Rows s, boolean old) {
        List<Place> places = new ArrayList<>();
        Function<RetractMultiset.Entry, long[]> sequences = s.rows.sequences(old);
        s.rows.entries.forEach((key, e) -> {
            InternalRow row = view(key.bytes, parts);
            for (long sequence : sequences.apply(e)) {
                places.add(new Place(row.getStruct(0, widths[0]), row, key.bytes, sequence));
            }
        });
        drop(places);
        places.sort(Comparator.comparing(Place::order, order).thenComparingLong(Place::sequence).thenComparing(Place::bytes, Arrays::compare));
        Object[][] values = new Object[places.size()][kinds.length];
        for (int i = 0; i < kinds.length; i++) {
            fill(s, places, i, values);
        }
        List<InternalRow> out = new ArrayList<>();
        for (int p = 0; p < places.size(); p++) {
            out.add(row(places.get(p).row().getStruct(1, widths[1]), row(values[p])));
        }
        return out;
    }

    /** Takes late rows out: those behind a row that came before them and that the watermark they met had passed. */
    private void drop(List<Place> places) {
        if (parts < 4) {
            return;
        }
        places.sort(Comparator.comparingLong(Place::sequence));
        TreeSet<Long> seen = new TreeSet<>();
        places.removeIf(p -> {
            long time = p.order().getLong(0);
            InternalRow met = p.row().getStruct(3, 1);
            Long next = met.isNullAt(0) ? null : seen.ceiling(time);
            boolean late = next != null && next <= met.getLong(0);
            if (!late) {
                seen.add(time);
            }
            return late;
        });
    }

    private void fill(Rows s, List<Place> places, int call, Object[][] values) {
        switch (kinds[call]) {
            case "row_number", "rank", "dense_rank" -> rank(s, places, call, values);
            case "lag" -> lag(s, places, call, values);
            default -> frame(s, places, call, values);
        }
    }

    private void rank(Rows s, List<Place> places, int call, Object[][] values) {
        long dense = 0;
        for (int p = 0; p < places.size(); p = peers(places, p)) {
            int end = peers(places, p);
            dense++;
            for (int i = p; i < end; i++) {
                values[i][call] = switch (kinds[call]) {
                    case "row_number" -> (long) i + 1;
                    // peers within one firing of the watermark get the rank of the last of them
                    case "rank" -> s.byRows ? p + 1L : (long) end;
                    default -> dense;
                };
            }
        }
    }

    private int peers(List<Place> places, int from) {
        int end = from + 1;
        while (end < places.size() && order.compare(places.get(from).order(), places.get(end).order()) == 0) {
            end++;
        }
        return end;
    }

    /** By rows each row has its own; by range the last of several peers gives it to all of them. */
    private void lag(Rows s, List<Place> places, int call, Object[][] values) {
        for (int p = 0; p < places.size(); ) {
            int end = s.byRows ? p + 1 : peers(places, p);
            Object value = behind(places, end - 1, call);
            for (; p < end; p++) {
                values[p][call] = value;
            }
        }
    }

    private Object behind(List<Place> places, int p, int call) {
        StructType type = (StructType) calls.apply(call).dataType();
        InternalRow own = args(places.get(p)).getStruct(call, type.length());
        int from = p - own.getInt(1);
        InternalRow there = from < 0 ? null : args(places.get(from)).getStruct(call, type.length());
        return there != null && !there.isNullAt(0) ? there.get(0, type.apply(0).dataType())
            : own.isNullAt(2) ? null : own.get(2, type.apply(2).dataType());
    }

    private InternalRow args(Place p) { return p.row().getStruct(2, kinds.length); }

    /** One pass: rows enter at the upper end and leave at the lower one, so each is added and taken back once. */
    private void frame(Rows s, List<Place> places, int call, Object[][] values) {
        RetractAcc acc = finish[call].create();
        boolean folds = acc instanceof RetractJava; // a function of the user sees those that leave before those that enter
        int low = 0;
        for (int p = 0; p < places.size(); ) {
            int end = s.byRows ? p + 1 : peers(places, p);
            for (int i = p; i < end; i++) {
                acc.add(args(places.get(i)), call, 1, i);
            }
            while (s.preceding >= 0 && leaves(s, places, low, end - 1)) {
                acc.add(args(places.get(low++)), call, -1, 0);
            }
            if (folds) {
                acc.fold();
            }
            Object result = finish[call].result(acc, folds);
            for (int i = p; i < end; i++) {
                values[i][call] = result;
            }
            p = end;
        }
    }

    private boolean leaves(Rows s, List<Place> places, int low, int current) {
        if (s.byRows) {
            return low < current - s.preceding;
        }
        if (!timed) {
            return false;
        }
        return places.get(low).order().getLong(0) < places.get(current).order().getLong(0) - s.preceding;
    }
}
