package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractOrder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * The first places of a partition ({@code retract_top}): a tree of places, in order of the rows, of when they came and of
 * their bytes; where rows can be taken back, one of rows too, which says when their copies came. It has the same order:
 * what changes is mostly at one end, and lies there in few pages. In layout 1 it had that of the bytes, anywhere. Pages
 * are in map 0.
 */
final class Top extends Kind {
    private static final int FIELDS = 7;
    private static final int MOST = 1000; // places, up to which a task looks for the first rows itself

    private final RetractOrder order;
    private final int orders;
    private final int fields;
    private transient Tree places;
    private transient Tree rows;
    private transient Ages placeAges;
    private transient Ages rowAges;
    private transient Tree[] byLayout;
    private transient Ages[] agesByLayout;
    private transient long now;
    private transient long count; // places that are kept
    private transient long first;
    private transient long last;
    private transient boolean ranked;
    private transient boolean grows;

    /** {@code arguments}: weight, sequence, first, last, ranked, grows, STRUCT of the order and the row. */
    Top(StructType arguments) {
        StructType entry = (StructType) arguments.apply(6).dataType();
        order = new RetractOrder((StructType) entry.apply(0).dataType());
        orders = ((StructType) entry.apply(0).dataType()).length();
        fields = ((StructType) entry.apply(1).dataType()).length();
    }

    @Override void open() {
        places = new Tree(0, this::compare);
        placeAges = new Ages(2, places, lives[0]);
        byLayout = new Tree[] {new Tree(1, Tree.BYTES), new Tree(1, this::compareRows)};
        agesByLayout = new Ages[] {new Ages(2, byLayout[0], lives[0]), new Ages(2, byLayout[1], lives[0])};
    }

    @Override int layout() { return 2; }

    @Override boolean reads(int layout) { return layout == 1 || layout == 2; }

    /** Places are eight bytes of the sequence, then the order and the row. */
    private int compare(byte[] a, byte[] b) { return compare(entry(a), entry(b), a, b); }

    /** Rows are the order and the row. */
    private int compareRows(byte[] a, byte[] b) { return compare(Retract.view(a, 2), Retract.view(b, 2), a, b); }

    private int compare(UnsafeRow left, UnsafeRow right, byte[] a, byte[] b) {
        int c = order.compare(left.getStruct(0, orders), right.getStruct(0, orders));
        return c != 0 ? c : Tree.BYTES.compare(a, b);
    }

    private static UnsafeRow entry(byte[] place) { return Rows.view(place, Long.BYTES, place.length - Long.BYTES, 2); }

    private UnsafeRow row(byte[] place) { return place == null ? null : entry(place).getStruct(1, fields); }

    private static byte[] place(byte[] entry, long sequence) {
        return ByteBuffer.allocate(Long.BYTES + entry.length).putLong(sequence ^ Long.MIN_VALUE).put(entry).array();
    }

    /** Of rows that only come, the first ones are enough. */
    @Override Combiner combiner() {
        return new Combiner() {
            @Override public boolean takes(UnsafeRow given) {
                return given.getBoolean(5) && given.getLong(0) == 1 && given.getLong(3) > 0 && given.getLong(3) <= MOST;
            }

            @Override public Object add(Object held, UnsafeRow row) { return among(held == null ? new ArrayList<>() : first(held), row); }

            @Override public void give(Object held, Consumer<byte[]> rows) { first(held).forEach(rows); }

            @Override public boolean piles() { return true; }
        };
    }

    @SuppressWarnings("unchecked")
    private static List<byte[]> first(Object held) { return (List<byte[]>) held; }

    /** The first rows of arguments, one of them perhaps this one. */
    private List<byte[]> among(List<byte[]> best, UnsafeRow row) {
        long most = row.getLong(3);
        if (best.size() >= most && compareGiven(row, Retract.view(best.get(best.size() - 1), FIELDS)) >= 0) {
            return best;
        }
        byte[] bytes = Rows.bytes(row);
        int at = Collections.binarySearch(best, bytes, (a, b) -> compareGiven(Retract.view(a, FIELDS), Retract.view(b, FIELDS)));
        best.add(at < 0 ? -at - 1 : at, bytes);
        if (best.size() > most) {
            best.remove(best.size() - 1);
        }
        return best;
    }

    /** The order of places, of rows of arguments. */
    private int compareGiven(UnsafeRow left, UnsafeRow right) {
        UnsafeRow x = left.getStruct(6, 2);
        UnsafeRow y = right.getStruct(6, 2);
        int c = order.compare(x.getStruct(0, orders), y.getStruct(0, orders));
        c = c != 0 ? c : Long.compare(Retract.sequence(left), Retract.sequence(right));
        return c != 0 ? c : Tree.BYTES.compare(x.getBytes(), y.getBytes());
    }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> in) {
        TreeMap<byte[], Copies> changes = new TreeMap<>(Tree.BYTES);
        while (in.hasNext()) {
            UnsafeRow row = in.next();
            bounds(row);
            byte[] entry = row.getStruct(6, 2).getBytes();
            changes.computeIfAbsent(entry, k -> new Copies()).add(row.getLong(0), Retract.sequence(row));
        }
        read(group.head(), group.layout(), group.map(0), group.now());
        Copies.number(changes.values(), group);
        List<byte[]> before = best();
        changes.forEach(grows ? (entry, change) -> came(entry, new Copies().and(change)) : this::changed);
        if (grows) {
            trim();
        }
        List<byte[]> after = best();
        byte[] head = Head.written(out -> {
            out.writeLong(0);
            Retract.writeLong(out, count);
            places.write(out);
            rows.write(out);
            if (rowAges.forgets()) {
                (grows ? placeAges : rowAges).write(out);
            }
        });
        group.keep(places.isEmpty() && rows.isEmpty() ? null : head);
        Object changed = changed(before, after);
        return changed == null ? nothing() : one(changed);
    }

    /** What is the same for all rows. */
    private void bounds(InternalRow row) {
        first = row.getLong(2);
        last = row.getLong(3);
        ranked = row.getBoolean(4);
        grows = row.getBoolean(5);
    }

    private Object changed(List<byte[]> before, List<byte[]> after) {
        List<Object> changed = ranked ? byPlace(before, after) : byRow(before, after);
        return changed.isEmpty() ? null : new GenericArrayData(changed.toArray());
    }

    @Override Object held(byte[] head, Pages pages, InternalRow arguments) {
        bounds(arguments);
        read(head, head[0], pages, 0);
        return changed(List.of(), best());
    }

    private void read(byte[] head, int layout, Pages pages, long time) {
        now = time;
        count = 0;
        rows = byLayout[layout - 1];
        rowAges = agesByLayout[layout - 1];
        places.reset(pages);
        rows.reset(pages);
        Ages ages = grows ? placeAges : rowAges; // nothing is taken back: there are no rows but those at their places
        ages.reset(pages);
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                count = Retract.readLong(in);
                places.read(in, pages);
                rows.read(in, pages);
                ages.read(in, pages, now);
                ages.forget(now, grows ? (place, copies) -> count -= Copies.weight(copies) : this::forgotten);
            });
        }
    }

    private void forgotten(byte[] entry, byte[] copies) {
        for (long sequence : Copies.read(copies).sequences) {
            put(place(entry, sequence), -1);
        }
    }

    private void changed(byte[] entry, Copies change) {
        Copies old = Copies.read(rows.get(entry));
        Copies now = old.and(change);
        boolean none = rowAges.forgets() ? now.weight <= 0 : now.weight == 0; // of a forgotten row nothing is left to take back
        rowAges.put(entry, none ? null : now.bytes(), this.now);
        for (long sequence : old.sequences) {
            put(place(entry, sequence), -1);
        }
        came(entry, now);
    }

    private void came(byte[] entry, Copies copies) {
        for (long sequence : copies.sequences) {
            put(place(entry, sequence), 1);
        }
    }

    private void put(byte[] place, long more) {
        long copies = Copies.weight(places.get(place)) + more;
        byte[] kept = copies == 0 ? null : Copies.of(copies);
        if (grows) {
            placeAges.put(place, kept, now);
        } else {
            places.put(place, kept);
        }
        count += more;
    }

    /** Nothing is taken back: what is behind the last place never comes forward. */
    private void trim() {
        while (count > last) {
            put(places.scan(true).next().getKey(), -1);
        }
    }

    /** The rows at places 1..last, best first, as their places. */
    private List<byte[]> best() {
        List<byte[]> best = new ArrayList<>();
        for (Iterator<Map.Entry<byte[], byte[]>> all = places.scan(false); best.size() < last && all.hasNext();) {
            Map.Entry<byte[], byte[]> e = all.next();
            for (long n = Copies.weight(e.getValue()); n > 0 && best.size() < last; n--) {
                best.add(e.getKey());
            }
        }
        return best;
    }

    /** Each is a place, the row that was there and the one that is. */
    @Override int rows(Object result) {
        ArrayData places = (ArrayData) result;
        int rows = 0;
        for (int i = 0; i < places.numElements(); i++) {
            rows += there(places.getStruct(i, 3), 1);
        }
        return rows;
    }

    private List<Object> byPlace(List<byte[]> before, List<byte[]> after) {
        List<Object> out = new ArrayList<>();
        for (int i = (int) Math.max(0, first - 1); i < Math.max(before.size(), after.size()); i++) {
            UnsafeRow old = row(i < before.size() ? before.get(i) : null);
            UnsafeRow now = row(i < after.size() ? after.get(i) : null);
            if (old == null || now == null || !old.equals(now)) {
                out.add(Retract.row(i + 1L, old, now));
            }
        }
        return out;
    }

    /** Rows that went beside rows that came, whatever their places. */
    private List<Object> byRow(List<byte[]> before, List<byte[]> after) {
        TreeMap<byte[], Integer> change = new TreeMap<>(Tree.BYTES);
        before.stream().skip(Math.max(0, first - 1)).forEach(p -> change.merge(row(p).getBytes(), -1, Integer::sum));
        after.stream().skip(Math.max(0, first - 1)).forEach(p -> change.merge(row(p).getBytes(), 1, Integer::sum));
        List<UnsafeRow> gone = new ArrayList<>();
        List<UnsafeRow> come = new ArrayList<>();
        change.forEach((row, n) -> {
            for (int i = 0; i < Math.abs(n); i++) {
                (n < 0 ? gone : come).add(Retract.view(row, fields));
            }
        });
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < Math.max(gone.size(), come.size()); i++) {
            out.add(Retract.row(null, i < gone.size() ? gone.get(i) : null, i < come.size() ? come.get(i) : null));
        }
        return out;
    }
}
