package flinkddl.state;

import flinkddl.state.Sides.Change;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one join key ({@code retract_inner | left | full | semi | anti}): a tree a side, rows with the number of their
 * copies, pages in map 0; the head has the sides' sizes before them. Only pairs with a changed row are looked at, and a
 * side is read as a whole only where each of its rows gives a change.
 */
final class Join extends Kind {
    private final boolean pairs;
    private final boolean matched; // semi: rows that have a match; others: rows that have none
    private final boolean[] alone; // the side's rows come out by themselves
    private final int[] fields;
    private transient Sides sides;

    /** {@code arguments} as {@link Sides#fields} has them. */
    Join(String kind, StructType arguments) {
        matched = kind.equals("semi");
        pairs = !matched && !kind.equals("anti");
        alone = new boolean[] {!kind.equals("inner"), kind.equals("full")};
        fields = Sides.fields(arguments);
    }

    @Override int input(UnsafeRow row) { return Sides.of(row); }

    @Override int inputs() { return 2; }

    @Override void open() { sides = new Sides(fields, lives); }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        Sides.Turn turn = sides.turn(rows);
        long[] before = {0, 0};
        long[] after = {0, 0};
        if (!turn.apart()) { // what can match nothing is not kept: its changes are those of the result
            before = sides.read(group);
            after = folded(group, turn.changes(), before.clone());
        }
        return new Results(turn.changes(), before, after, pairs && !turn.apart());
    }

    /** Of an inner or semi join: of the others rows that can match nothing are not kept. */
    @Override Object held(byte[] head, Pages pages, InternalRow arguments) {
        if (alone[0] && !matched) {
            return super.held(head, pages, arguments);
        }
        long[] sizes = sides.read(head, pages, 0);
        List<Object> out = new ArrayList<>();
        if (sizes[0] != 0 && sizes[1] != 0) {
            for (Iterator<Map.Entry<byte[], byte[]>> left = sides.trees[0].scan(false); left.hasNext();) {
                Map.Entry<byte[], byte[]> l = left.next();
                long weight = Copies.weight(l.getValue());
                if (matched) {
                    out.add(sides.result(l.getKey(), null, weight));
                    continue;
                }
                for (Iterator<Map.Entry<byte[], byte[]>> right = sides.trees[1].scan(false); right.hasNext();) {
                    Map.Entry<byte[], byte[]> r = right.next();
                    out.add(sides.result(l.getKey(), r.getKey(), weight * Copies.weight(r.getValue())));
                }
            }
        }
        return out.isEmpty() ? null : new GenericArrayData(out.toArray());
    }

    private long[] folded(Store group, List<TreeMap<byte[], Change>> changes, long[] sizes) {
        for (int i = 0; i < 2; i++) {
            for (Map.Entry<byte[], Change> e : changes.get(i).entrySet()) {
                Change c = e.getValue();
                sides.known(i, sides.trees[i].get(e.getKey()), c);
                sizes[i] += c.now - c.old;
                sides.ages[i].put(e.getKey(), c.now == 0 ? null : Copies.of(c.now), group.now());
            }
        }
        sides.keep(group, sizes);
        return sizes;
    }

    private interface Each { void row(byte[] bytes, long weight); }

    private record Scan(int side, Each each) { }

    /** Changed rows with each other and alone; then what a side's unchanged rows give, read as it goes out. */
    private final class Results extends Sides.Results {
        private final List<TreeMap<byte[], Change>> changes;
        private final List<Scan> scans = new ArrayList<>();
        private Iterator<Map.Entry<byte[], byte[]>> scan;
        private Iterator<Map.Entry<byte[], Change>> lefts = Collections.emptyIterator();
        private Iterator<Map.Entry<byte[], Change>> rights = Collections.emptyIterator();
        private Map.Entry<byte[], Change> left;

        Results(List<TreeMap<byte[], Change>> changes, long[] before, long[] after, boolean pairs) {
            sides.super();
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
            if (sides.trees[0].isEmpty() && left.isEmpty() || sides.trees[1].isEmpty() && right.isEmpty()) {
                return;
            }
            lefts = left.entrySet().iterator();
            if (!right.isEmpty()) {
                scans.add(new Scan(0, (l, w) -> right.forEach((r, b) -> pair(l, r, w * (b.now - b.old)))));
            }
            if (!left.isEmpty()) {
                scans.add(new Scan(1, (r, w) -> left.forEach((l, a) -> pair(l, r, w * (a.now - a.old)))));
            }
        }

        /** Rows of one side, where they count before and after this turn. */
        private void alone(int side, boolean before, boolean after) {
            if (!before && !after) {
                return;
            }
            changes.get(side).forEach((row, c) -> single(side, row, (after ? c.now : 0) - (before ? c.old : 0)));
            if (before != after) {
                scans.add(new Scan(side, (row, w) -> single(side, row, after ? w : -w)));
            }
        }

        /** One changed row with one of the other side: of a hot key they are too many to be made at once. */
        private boolean cross() {
            while (!rights.hasNext()) {
                if (!lefts.hasNext()) {
                    return false;
                }
                left = lefts.next();
                rights = changes.get(1).entrySet().iterator();
            }
            Map.Entry<byte[], Change> right = rights.next();
            Change a = left.getValue();
            Change b = right.getValue();
            pair(left.getKey(), right.getKey(), a.now * b.now - a.old * b.old);
            return true;
        }

        @Override boolean step() {
            if (cross()) {
                return true;
            }
            if (scans.isEmpty()) {
                return false;
            }
            Scan now = scans.get(0);
            scan = scan == null ? sides.trees[now.side].scan(false) : scan;
            if (!scan.hasNext()) {
                scan = null;
                scans.remove(0);
                return true;
            }
            Map.Entry<byte[], byte[]> e = scan.next();
            if (!changes.get(now.side).containsKey(e.getKey())) {
                now.each.row(e.getKey(), Copies.weight(e.getValue()));
            }
            return true;
        }
    }
}
