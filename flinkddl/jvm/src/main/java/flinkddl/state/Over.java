package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractAggregate;
import flinkddl.RetractFinish;
import flinkddl.RetractOrder;
import flinkddl.RetractOver;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of a partition ({@code retract_over}): a tree of places, in order of the rows, of when they came and of their
 * bytes, and one of marks, the {@link Frame} as of every so many places. A change runs from the mark before it to where it
 * makes no difference any more. Rows that are taken back before they came are a third tree, rows by when they came, with
 * the watermark that they met, a fourth, places by the value of a DISTINCT call one a call. Pages are in map 0.
 *
 * <p>Where the row is {@code STRUCT<p, r, a>} in place of {@code <o, r, a>}, rows come in turn and stay: a later batch's are
 * behind all others, and what none of them can ask for goes.
 */
final class Over extends Kind {

    final StructType calls;
    final RetractFinish[] finish;
    final boolean ranks;
    private final boolean lags;
    private final boolean timed;
    private final boolean inTurn;
    private final int parts; // 4 with a watermark
    private final int orders;
    private final int fields;
    private final RetractOrder order;
    private final StructType result;
    boolean byRows;
    long preceding;
    private transient UnsafeProjection projection;
    private transient Tree tree;
    private transient Tree marks;
    private transient Tree debts;
    private transient Lateness lateness;
    private transient Map<Integer, Firsts> firsts; // by the call
    private transient Places places;
    private transient long reach; // the most rows that LAG looks back

    /** {@code arguments}: weight, sequence, by rows, preceding, STRUCT of the order, the row, the calls' arguments. */
    Over(StructType arguments) {
        StructType row = (StructType) arguments.apply(4).dataType();
        StructType ordering = (StructType) row.apply(0).dataType();
        parts = row.length();
        inTurn = row.apply(0).name().equals("p");
        order = new RetractOrder(ordering);
        orders = ordering.length();
        timed = orders > 0 && ordering.apply(0).dataType() instanceof LongType;
        fields = ((StructType) row.apply(1).dataType()).length();
        calls = (StructType) row.apply(2).dataType();
        finish = RetractAggregate.finishers(calls);
        ranks = Arrays.stream(finish).anyMatch(f -> f.kind.endsWith("rank") || f.kind.equals("row_number"));
        lags = Arrays.stream(finish).anyMatch(f -> f.kind.equals("lag"));
        result = new StructType(new StructField[] {
            DataTypes.createStructField("r", row.apply(1).dataType(), true),
            DataTypes.createStructField("v", RetractOver.results(calls, finish), true),
        });
    }

    @Override void open() {
        projection = UnsafeProjection.create(result);
        tree = new Tree(0, this::compare);
        marks = new Tree(1, this::compare);
        debts = new Tree(2, Tree.BYTES);
        lateness = parts < 4 ? null : new Lateness(this, new Tree(3, Tree.BYTES));
        firsts = new TreeMap<>();
        for (int i = 0; i < finish.length; i++) {
            if (finish[i].kind.equals("dcount") || finish[i].kind.equals("dsum")) {
                firsts.put(i, new Firsts(this, i, 4 + i));
            }
        }
    }

    // ---- places: eight bytes of the sequence, then the order, the row, the arguments of the calls ----------------------

    int compare(byte[] a, byte[] b) {
        int c = order.compare(entry(a).getStruct(0, orders), entry(b).getStruct(0, orders));
        c = c != 0 ? c : Arrays.compareUnsigned(a, 0, Long.BYTES, b, 0, Long.BYTES);
        return c != 0 ? c : Arrays.compare(a, Long.BYTES, a.length, b, Long.BYTES, b.length);
    }

    static byte[] place(byte[] entry, long sequence) {
        return ByteBuffer.allocate(Long.BYTES + entry.length).putLong(sequence ^ Long.MIN_VALUE).put(entry).array();
    }

    UnsafeRow entry(byte[] place) { return Rows.view(place, Long.BYTES, place.length - Long.BYTES, parts); }

    InternalRow args(byte[] place) { return entry(place).getStruct(2, finish.length); }

    boolean peers(byte[] a, byte[] b) { return order.compare(entry(a).getStruct(0, orders), entry(b).getStruct(0, orders)) == 0; }

    long time(byte[] place) { return entry(place).getStruct(0, orders).getLong(0); }

    /** Whether a place is behind the frame of another. */
    boolean behind(byte[] place, byte[] current) { return timed && time(place) < time(current) - preceding; }

    // ---- a turn ------------------------------------------------------------------------------------------------------

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        TreeMap<byte[], Copies> batch = new TreeMap<>(Tree.BYTES);
        long looks = 0;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            byRows = inTurn || row.getBoolean(2);
            preceding = row.isNullAt(3) ? -1 : row.getLong(3);
            UnsafeRow entry = row.getStruct(4, parts);
            looks = Math.max(looks, looks(entry));
            batch.computeIfAbsent(entry.getBytes(), k -> new Copies()).add(row.getLong(0), Retract.sequence(row));
        }
        read(group);
        reach = Math.max(reach, looks);
        if (!inTurn) {
            Copies.number(batch.values(), group);
        }
        if (inTurn) {
            inTurn(batch);
        } else if (lateness != null) {
            lateness.bring(batch, places);
        } else {
            batch.forEach(this::changed);
        }
        places.settle();
        TreeMap<byte[], Long> out = new TreeMap<>(Tree.BYTES);
        if (!places.changed.isEmpty()) {
            firsts.values().forEach(f -> f.turn(places));
            run(out);
        }
        keep(group);
        return given(out);
    }

    private long looks(UnsafeRow entry) {
        long most = 0;
        for (int i = 0; lags && i < finish.length; i++) {
            if (finish[i].kind.equals("lag")) {
                long rows = entry.getStruct(2, finish.length).getStruct(i, 3).getInt(1);
                if (rows < 0) {
                    throw new IllegalArgumentException("LAG looks back, its offset is " + rows);
                }
                most = Math.max(most, rows);
            }
        }
        return most;
    }

    private void read(Store group) {
        byte[] head = group.head();
        reach = 0;
        List<Tree> trees = trees();
        trees.forEach(t -> t.reset(group.map(0)));
        places = new Places(tree, new TreeMap<>(this::compare));
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                reach = Retract.readLong(in);
                for (Tree t : trees) {
                    t.read(in, group.map(0));
                }
            });
        }
    }

    private void keep(Store group) {
        List<Tree> trees = trees();
        byte[] head = Head.written(out -> {
            out.writeLong(0);
            Retract.writeLong(out, reach);
            for (Tree t : trees) {
                t.write(out);
            }
        });
        group.keep(trees.stream().allMatch(Tree::isEmpty) ? null : head);
    }

    private List<Tree> trees() {
        List<Tree> trees = new ArrayList<>(List.of(tree, marks, debts));
        if (lateness != null) {
            trees.add(lateness.came);
        }
        if (preceding < 0) {
            firsts.values().forEach(f -> trees.add(f.tree));
        }
        return trees;
    }

    /** Whether a value of a DISTINCT call is at a place for the first time. */
    boolean first(int call, byte[] value, byte[] place, boolean before) { return firsts.get(call).first(value, place, before); }

    /** Rows that come behind all others: they are numbered as they came. */
    private void inTurn(TreeMap<byte[], Copies> batch) {
        Iterator<Map.Entry<byte[], byte[]>> mark = marks.scan(true);
        long[] number = {mark.hasNext() ? frame(mark.next().getValue()).position : 0};
        TreeMap<byte[], Long> came = new TreeMap<>(Tree.BYTES);
        batch.forEach((entry, copies) -> {
            for (long sequence : new Copies().and(copies).sequences) {
                came.merge(place(entry, sequence), 1L, Long::sum);
            }
        });
        came.forEach((place, copies) -> {
            byte[] entry = Arrays.copyOfRange(place, Long.BYTES, place.length);
            for (long n = copies; n > 0; n--) {
                places.add(place(entry, number[0]++), 1);
            }
        });
    }

    private void changed(byte[] entry, Copies change) {
        if (change.grows() && debts.isEmpty()) {
            Arrays.stream(new Copies().and(change).sequences).forEach(s -> places.add(place(entry, s), 1));
            return;
        }
        Copies old = held(entry);
        Copies now = old.and(change);
        Arrays.stream(old.sequences).forEach(s -> places.add(place(entry, s), -1));
        Arrays.stream(now.sequences).forEach(s -> places.add(place(entry, s), 1));
        if (old.weight < 0 || now.weight < 0) {
            debts.put(entry, now.weight < 0 ? Copies.of(now.weight) : null);
        }
    }

    /** The copies of a row that are there, which lie among its peers; fewer than none where one is owed. */
    private Copies held(byte[] entry) {
        Copies held = new Copies();
        byte[] first = place(entry, Long.MIN_VALUE);
        for (Iterator<Map.Entry<byte[], byte[]>> all = tree.scan(first, false); all.hasNext();) {
            Map.Entry<byte[], byte[]> e = all.next();
            byte[] key = e.getKey();
            if (!peers(first, key)) {
                break;
            }
            if (Arrays.equals(key, Long.BYTES, key.length, entry, 0, entry.length)) {
                held.add(Copies.weight(e.getValue()), ByteBuffer.wrap(key).getLong() ^ Long.MIN_VALUE);
            }
        }
        Copies owed = new Copies();
        owed.weight = Copies.weight(debts.get(entry));
        return owed.and(held);
    }

    // ---- from the mark before the first change to where it makes no difference ------------------------------------------

    private Frame frame(byte[] mark) {
        Frame frame = new Frame(this, places, false);
        if (mark != null) {
            Head.read(mark, 0, frame::read);
        }
        return frame;
    }

    private void run(TreeMap<byte[], Long> out) {
        byte[] first = places.changed.firstKey();
        Map.Entry<byte[], byte[]> mark = markBefore(first);
        byte[] begin = mark == null ? null : mark.getKey();
        Frame now = frame(mark == null ? null : mark.getValue());
        TreeMap<byte[], byte[]> fresh = new TreeMap<>(this::compare);
        byte[] end = pass(now, groups(begin), fresh, out);
        List<byte[]> stale = new ArrayList<>();
        for (Iterator<Map.Entry<byte[], byte[]>> all = marks.scan(begin, false); all.hasNext();) {
            byte[] key = all.next().getKey();
            if (end != null && compare(key, end) > 0) {
                break;
            }
            stale.add(key);
        }
        stale.stream().filter(key -> inTurn || begin == null || compare(key, begin) > 0).forEach(key -> marks.put(key, null));
        if (inTurn) {
            marks.put(now.last, now.bytes());
            forget(now);
        } else {
            fresh.forEach(marks::put);
        }
        places.apply();
        if (preceding < 0) {
            firsts.values().forEach(f -> f.apply(inTurn));
        }
    }

    /** The mark to begin at: by range not one among the peers of the place, to which it may have come. */
    private Map.Entry<byte[], byte[]> markBefore(byte[] place) {
        for (Iterator<Map.Entry<byte[], byte[]>> back = marks.scan(place, true); back.hasNext();) {
            Map.Entry<byte[], byte[]> mark = back.next();
            if (compare(mark.getKey(), place) < 0 && (byRows || !peers(mark.getKey(), place))) {
                return mark;
            }
        }
        return null;
    }

    /** Places behind one, by rows one at a time, by range with their peers. */
    private Iterator<List<Places.Place>> groups(byte[] begin) {
        Iterator<Places.Place> all = places.from(begin, false);
        return new Iterator<>() {
            private Places.Place ahead = first();

            private Places.Place first() {
                Places.Place place = more();
                return place != null && begin != null && compare(place.key(), begin) == 0 ? more() : place;
            }

            private Places.Place more() { return all.hasNext() ? all.next() : null; }

            @Override public boolean hasNext() { return ahead != null; }

            @Override public List<Places.Place> next() {
                List<Places.Place> group = new ArrayList<>();
                do {
                    group.add(ahead);
                    ahead = more();
                } while (!byRows && ahead != null && peers(group.get(0).key(), ahead.key()));
                return group;
            }
        };
    }

    /** Run over places; gives the last one that was looked at where others are behind it, for which nothing changes. */
    private byte[] pass(Frame now, Iterator<List<Places.Place>> groups, TreeMap<byte[], byte[]> fresh, TreeMap<byte[], Long> out) {
        byte[] change = places.changed.lastKey();
        BiConsumer<byte[], Object[]> gone = (place, values) -> note(out, place, values, -1);
        BiConsumer<byte[], Object[]> come = (place, values) -> note(out, place, values, 1);
        Frame old = null;
        long room = 0;
        long needed = Tree.FULL;
        long behind = 0; // rows since the last change
        for (int looked = 0; groups.hasNext();) {
            List<Places.Place> group = groups.next();
            old = old == null && group.stream().anyMatch(Places.Place::touched) ? now.of(true) : old;
            long before = now.position;
            if (old != null) {
                old.step(group, gone);
            }
            now.step(group, old == null ? null : come);
            byte[] end = group.get(group.size() - 1).key();
            boolean passed = compare(end, change) > 0;
            behind += passed && !peersOf(group, change) ? now.position - before : 0;
            if (passed && behind >= reach && now.same(old, change, (++looked & looked - 1) == 0)) { // looks cost: 1, 2, 4, 8
                return end;
            }
            room += group.size() * (long) end.length;
            if (!inTurn && room >= needed && now.last != null) {
                byte[] bytes = now.bytes();
                needed = Math.max(Tree.FULL, bytes.length); // marks take no more room than the places
                if (room >= needed) {
                    fresh.put(now.last, bytes);
                    room = 0;
                }
            }
        }
        return null;
    }

    /** Whether the last change is among these peers. */
    private boolean peersOf(List<Places.Place> group, byte[] change) { return compare(group.get(0).key(), change) <= 0; }

    private void note(TreeMap<byte[], Long> out, byte[] place, Object[] values, long weight) {
        InternalRow both = Retract.row(entry(place).getStruct(1, fields), Retract.row(values));
        byte[] bytes = projection.apply(both).copy().getBytes(); // the projection has one buffer for all
        out.merge(bytes, weight, (a, b) -> a + b == 0 ? null : a + b);
    }

    /** Nobody asks for what is before the frame, and before what LAG may look back to. */
    private void forget(Frame now) {
        byte[] low = now.reach();
        long rows = 0;
        for (Iterator<Places.Place> back = places.from(now.last, true); back.hasNext() && rows < reach; rows++) {
            byte[] key = back.next().key();
            low = low == null || compare(key, low) < 0 ? key : low;
        }
        List<byte[]> gone = new ArrayList<>();
        for (Iterator<Places.Place> all = places.from(null, false); all.hasNext();) {
            byte[] key = all.next().key();
            if (low != null && compare(key, low) >= 0) {
                break;
            }
            gone.add(key);
        }
        gone.forEach(key -> places.add(key, -1));
    }

    private Iterator<Object> given(TreeMap<byte[], Long> out) {
        Iterator<Map.Entry<byte[], Long>> all = out.entrySet().iterator();
        return new Portions() {
            @Override boolean step() {
                if (!all.hasNext()) {
                    return false;
                }
                Map.Entry<byte[], Long> e = all.next();
                UnsafeRow row = Retract.view(e.getKey(), 2);
                add(Retract.row(row.getStruct(0, fields), row.getStruct(1, finish.length), e.getValue()));
                return true;
            }
        };
    }
}
