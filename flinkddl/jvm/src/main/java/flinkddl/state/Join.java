package flinkddl.state;

import flinkddl.Retract;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one join key ({@code retract_inner | left | full | semi | anti}): a tree a side, rows with the number of their
 * copies, pages in map 0; the head has the sides' sizes before them. Only pairs with a changed row are looked at, and a
 * side is read as a whole only where each of its rows gives a change.
 */
final class Join extends Kind {
    private static final int PORTION = 256; // rows of a result

    private final boolean pairs;
    private final boolean matched; // semi: rows that have a match; others: rows that have none
    private final boolean[] alone; // the side's rows come out by themselves
    private final int[] fields;
    private transient Tree[] sides;
    private transient Ages[] ages;

    /** {@code arguments}: weight BIGINT, matchable BOOLEAN, left row or NULL, right row or NULL. */
    Join(String kind, StructType arguments) {
        matched = kind.equals("semi");
        pairs = !matched && !kind.equals("anti");
        alone = new boolean[] {!kind.equals("inner"), kind.equals("full")};
        fields = new int[] {((StructType) arguments.apply(2).dataType()).length(), ((StructType) arguments.apply(3).dataType()).length()};
    }

    @Override void open() {
        sides = new Tree[] {new Tree(0, Tree.BYTES), new Tree(1, Tree.BYTES)};
        ages = new Ages[] {new Ages(2, sides[0], lives[0]), new Ages(3, sides[1], lives[1])};
    }

    /** Copies of a row before and after this turn. */
    private static final class Change {
        long old;
        long now;
    }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        List<TreeMap<byte[], Change>> changes = List.of(new TreeMap<>(Tree.BYTES), new TreeMap<>(Tree.BYTES));
        boolean apart = false;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            apart |= !row.getBoolean(1);
            int side = row.isNullAt(2) ? 1 : 0;
            byte[] bytes = row.getStruct(2 + side, fields[side]).getBytes();
            changes.get(side).computeIfAbsent(bytes, k -> new Change()).now += row.getLong(0);
        }
        changes.forEach(side -> side.values().removeIf(c -> c.now == 0));
        long[] before = {0, 0};
        long[] after = {0, 0};
        if (!apart) { // what can match nothing is not kept: its changes are those of the result
            fold(group, changes, before, after);
        }
        return new Results(changes, before, after, pairs && !apart);
    }

    private void fold(Store group, List<TreeMap<byte[], Change>> changes, long[] before, long[] after) {
        read(group, before);
        for (int i = 0; i < 2; i++) {
            Tree side = sides[i];
            after[i] = before[i];
            for (Map.Entry<byte[], Change> e : changes.get(i).entrySet()) {
                Change c = e.getValue();
                c.old = Copies.weight(side.get(e.getKey()));
                // of a forgotten row nothing is left to take back
                c.now = ages[i].forgets() ? Math.max(0, c.now + c.old) : c.now + c.old;
                after[i] += c.now - c.old;
                ages[i].put(e.getKey(), c.now == 0 ? null : Copies.of(c.now), group.now());
            }
        }
        byte[] kept = Head.written(out -> {
            out.writeLong(0);
            for (int i = 0; i < 2; i++) {
                Retract.writeLong(out, after[i]);
                sides[i].write(out);
            }
            if (ages[0].forgets() || ages[1].forgets()) {
                ages[0].write(out);
                ages[1].write(out);
            }
        });
        group.keep(sides[0].isEmpty() && sides[1].isEmpty() ? null : kept);
    }

    /** The sides without what is too old. */
    private void read(Store group, long[] sizes) {
        byte[] head = group.head();
        for (int i = 0; i < 2; i++) {
            sides[i].reset(group.map(0));
            ages[i].reset(group.map(0));
        }
        if (head == null) {
            return;
        }
        Head.read(head, Store.BODY, in -> {
            for (int i = 0; i < 2; i++) {
                sizes[i] = Retract.readLong(in);
                sides[i].read(in, group.map(0));
            }
            for (int i = 0; i < 2; i++) {
                int side = i;
                ages[i].read(in, group.map(0), group.now());
                ages[i].forget(group.now(), (row, copies) -> sizes[side] -= Copies.weight(copies));
            }
        });
    }

    private interface Each { void row(byte[] bytes, long weight); }

    private record Scan(int side, Each each) { }

    /** Changed rows with each other and alone; then what a side's unchanged rows give, read as it goes out. */
    private final class Results implements Iterator<Object> {
        private final List<TreeMap<byte[], Change>> changes;
        private final List<Scan> scans = new ArrayList<>();
        private Iterator<Map.Entry<byte[], byte[]>> scan;
        private List<Object> portion = new ArrayList<>();

        Results(List<TreeMap<byte[], Change>> changes, long[] before, long[] after, boolean pairs) {
            this.changes = changes;
            if (pairs) {
                pairs();
            }
            for (int i = 0; i < 2; i++) {
                if (alone[i]) {
                    alone(i, before[1 - i] != 0 == matched, after[1 - i] != 0 == matched);
                }
            }
        }

        private void pairs() {
            TreeMap<byte[], Change> left = changes.get(0);
            TreeMap<byte[], Change> right = changes.get(1);
            if (sides[0].isEmpty() && left.isEmpty() || sides[1].isEmpty() && right.isEmpty()) {
                return;
            }
            left.forEach((l, a) -> right.forEach((r, b) -> add(l, r, a.now * b.now - a.old * b.old)));
            if (!right.isEmpty()) {
                scans.add(new Scan(0, (l, w) -> right.forEach((r, b) -> add(l, r, w * (b.now - b.old)))));
            }
            if (!left.isEmpty()) {
                scans.add(new Scan(1, (r, w) -> left.forEach((l, a) -> add(l, r, w * (a.now - a.old)))));
            }
        }

        /** Rows of one side, where they count before and after this turn. */
        private void alone(int side, boolean before, boolean after) {
            if (!before && !after) {
                return;
            }
            changes.get(side).forEach((row, c) -> alone(side, row, (after ? c.now : 0) - (before ? c.old : 0)));
            if (before != after) {
                scans.add(new Scan(side, (row, w) -> alone(side, row, after ? w : -w)));
            }
        }

        private void alone(int side, byte[] row, long weight) { add(side == 0 ? row : null, side == 0 ? null : row, weight); }

        private void add(byte[] l, byte[] r, long weight) {
            if (weight != 0) {
                portion.add(Retract.row(view(l, 0), view(r, 1), weight));
            }
        }

        private UnsafeRow view(byte[] row, int side) { return row == null ? null : Retract.view(row, fields[side]); }

        @Override public boolean hasNext() {
            while (portion.size() < PORTION && !scans.isEmpty()) {
                Scan now = scans.get(0);
                scan = scan == null ? sides[now.side].scan(false) : scan;
                if (!scan.hasNext()) {
                    scan = null;
                    scans.remove(0);
                    continue;
                }
                Map.Entry<byte[], byte[]> e = scan.next();
                if (!changes.get(now.side).containsKey(e.getKey())) {
                    now.each.row(e.getKey(), Copies.weight(e.getValue()));
                }
            }
            return !portion.isEmpty();
        }

        @Override public Object next() {
            hasNext();
            Object out = new GenericArrayData(portion.toArray());
            portion = new ArrayList<>();
            return out;
        }
    }
}
