package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_top(weight, sequence, first BIGINT, last BIGINT, ranked BOOLEAN, grows BOOLEAN,
 * STRUCT<o: STRUCT<order...>, r: STRUCT<row...>>)}: the rows at places first..last of the order before and after this
 * batch, as {@code ARRAY<STRUCT<k BIGINT, o: row, n: row>>} of what changed. Ranked: one element per place {@code k}
 * whose row changed. Not ranked: rows that went (n is NULL) and rows that came (o is NULL).
 *
 * <p>Equal order: the earlier row keeps the better place, as in Flink; a row without a sequence is later than what came in
 * earlier batches. {@code grows} says that nothing is ever taken
 * back: then only the first {@code last} rows are kept.
 */
final class RetractTop extends Retract<RetractTop.Rows> {
    private final RetractOrder order;
    private final int orders;
    private final int fields;

    RetractTop(StructType inputs) {
        super("retract_top", inputs);
        StructType o = (StructType) struct(6).apply(0).dataType();
        order = new RetractOrder(o);
        orders = o.length();
        fields = ((StructType) struct(6).apply(1).dataType()).length();
    }

    /** The rows of one partition. */
    public static final class Rows extends State {
        final RetractMultiset rows = new RetractMultiset(true);
        long first;
        long last;
        boolean ranked;
        boolean grows;
        Place bar; // the row at the last place when rows were last trimmed: what is behind it need not be kept

        @Override void fold() { rows.fold(); }

        @Override void lives(long own, long other) {
            super.lives(own, other);
            rows.life(own);
        }

        @Override void forget(long idle) { rows.forget(); }

        @Override void clear() { rows.clear(); }

        @Override void write(DataOutput out) throws IOException {
            writeLong(out, first);
            writeLong(out, last);
            out.writeByte((ranked ? 1 : 0) | (grows ? 2 : 0));
            rows.write(out);
        }

        @Override void read(DataInput in) throws IOException {
            first = readLong(in);
            last = readLong(in);
            int flags = in.readByte();
            ranked = (flags & 1) != 0;
            grows = (flags & 2) != 0;
            rows.read(in);
        }
    }

    private record Place(InternalRow order, byte[] bytes, long sequence) { }

    @Override public DataType resultType() {
        DataType row = struct(6).apply(1).dataType();
        return new ArrayType(type("k", DataTypes.LongType, "o", row, "n", row), false);
    }

    @Override Rows create() { return new Rows(); }

    @Override Rows update(Rows s, InternalRow in) {
        s.first = in.getLong(2);
        s.last = in.getLong(3);
        s.ranked = in.getBoolean(4);
        s.grows = in.getBoolean(5);
        long sequence = came(in);
        if (s.bar == null || before(in.getStruct(6, 2).getStruct(0, orders), sequence, s.bar)) {
            s.rows.add(bytes(in, 6, 2), in.getLong(0), sequence);
            trim(s);
        }
        return s;
    }

    @Override Rows merge(Rows a, Rows b) {
        if (a.rows.entries.isEmpty()) {
            return b;
        }
        if (b.rows.entries.isEmpty()) {
            return a;
        }
        a.rows.merge(b.rows);
        trim(a);
        return a;
    }

    /** Only where nothing is taken back: rows beyond the last place, old or new, can never come back in. */
    private void trim(Rows s) {
        if (s.grows && s.rows.entries.size() > 4 * s.last + 16) {
            List<Place> now = places(s, false);
            Set<RetractMultiset.Key> keep = new HashSet<>();
            for (List<Place> kept : List.of(places(s, true), now)) {
                kept.forEach(p -> keep.add(new RetractMultiset.Key(p.bytes())));
            }
            s.rows.entries.keySet().retainAll(keep);
            s.bar = s.last > 0 && now.size() == s.last ? now.get(now.size() - 1) : null;
        }
    }

    /** Whether a row may come before a place; of equal ones each may, for their bytes decide. */
    private boolean before(InternalRow o, long sequence, Place place) {
        int c = order.compare(o, place.order());
        return c < 0 || c == 0 && sequence <= place.sequence();
    }

    /** The rows at places 1..last, best first. */
    private List<Place> places(Rows s, boolean old) {
        List<Place> all = new ArrayList<>();
        Function<RetractMultiset.Entry, long[]> sequences = s.rows.sequences(old);
        s.rows.entries.forEach((key, e) -> {
            InternalRow o = view(key.bytes, 2).getStruct(0, orders);
            for (long sequence : sequences.apply(e)) {
                all.add(new Place(o, key.bytes, sequence));
            }
        });
        all.sort(Comparator.comparing(Place::order, order).thenComparingLong(Place::sequence).thenComparing(Place::bytes, Arrays::compare));
        return all.size() > s.last ? all.subList(0, (int) s.last) : all;
    }

    @Override Object produceResult(Rows s) {
        List<Place> old = places(s, true);
        List<Place> now = places(s, false);
        List<Object> out = new ArrayList<>();
        int from = (int) Math.max(0, s.first - 1);
        if (s.ranked) {
            for (int i = from; i < Math.max(old.size(), now.size()); i++) {
                byte[] o = i < old.size() ? old.get(i).bytes() : null;
                byte[] n = i < now.size() ? now.get(i).bytes() : null;
                if (!same(o, n)) {
                    out.add(row(i + 1L, payload(o), payload(n)));
                }
            }
        } else {
            swap(tail(old, from), tail(now, from), out);
        }
        return new GenericArrayData(out.toArray());
    }

    private static List<Place> tail(List<Place> places, int from) { return places.subList(Math.min(from, places.size()), places.size()); }

    private void swap(List<Place> old, List<Place> now, List<Object> out) {
        Map<RetractMultiset.Key, Integer> change = new HashMap<>();
        old.forEach(p -> change.merge(new RetractMultiset.Key(payload(p.bytes()).getBytes()), -1, Integer::sum));
        now.forEach(p -> change.merge(new RetractMultiset.Key(payload(p.bytes()).getBytes()), 1, Integer::sum));
        List<byte[]> gone = new ArrayList<>();
        List<byte[]> come = new ArrayList<>();
        change.forEach((key, n) -> {
            for (int i = 0; i < Math.abs(n); i++) {
                (n < 0 ? gone : come).add(key.bytes);
            }
        });
        for (int i = 0; i < Math.max(gone.size(), come.size()); i++) {
            byte[] o = i < gone.size() ? gone.get(i) : null;
            byte[] n = i < come.size() ? come.get(i) : null;
            out.add(row(null, o == null ? null : view(o, fields), n == null ? null : view(n, fields)));
        }
    }

    private boolean same(byte[] o, byte[] n) {
        return o == null || n == null ? o == n : payload(o).equals(payload(n));
    }

    private org.apache.spark.sql.catalyst.expressions.UnsafeRow payload(byte[] bytes) {
        return bytes == null ? null : view(bytes, 2).getStruct(1, fields);
    }
}
