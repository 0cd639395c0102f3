package flinkddl.state;

import flinkddl.Retract;
import flinkddl.state.Sides.Change;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * As {@link Join}, where more than the key decides which rows match: a row that can come out by itself is kept with the
 * number of the other side's rows that match it. A changed row is held against the other side's rows of its group. Rows
 * that are forgotten leave that number as it is, as in Flink: the pairs that they made are not taken back either.
 */
final class JoinIf extends Kind {
    private final boolean pairs;
    private final boolean matched; // semi: rows that have a match; others: rows that have none
    private final boolean[] alone; // the side's rows come out by themselves
    private final int[] fields;
    private Condition condition;
    private transient Sides sides;

    /** {@code arguments} as {@link Sides#fields} has them. */
    JoinIf(String kind, StructType arguments) {
        matched = kind.equals("semi");
        pairs = !matched && !kind.equals("anti");
        alone = new boolean[] {true, kind.equals("full")};
        fields = Sides.fields(arguments);
    }

    @Override void when(Condition condition) { this.condition = condition; }

    @Override int input(UnsafeRow row) { return Sides.of(row); }

    @Override int inputs() { return 2; }

    @Override void open() { sides = new Sides(fields, lives); }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        Sides.Turn turn = sides.turn(rows);
        return turn.apart() ? new Results(turn.changes()) : new Results(turn.changes(), group, sides.read(group));
    }

    /** A row that changes: its copies, and the matching rows of the other side, before and after this turn. */
    private static final class Row {
        final byte[] bytes;
        final UnsafeRow view;
        final long old;
        final long now;
        final long had;
        long has;

        Row(byte[] bytes, UnsafeRow view, Change c, long had) {
            this.bytes = bytes;
            this.view = view;
            old = c.old;
            now = c.now;
            this.had = had;
            has = had;
        }
    }

    /** A row that stays, and what matches it now. */
    private record Stayed(byte[] row, long copies, long has) { }

    /** How many copies of a row come out by themselves. */
    private long shown(long matches, long copies) { return (matches != 0) == matched ? copies : 0; }

    private long matches(int side, byte[] kept) {
        long[] matches = {0};
        if (kept != null && alone[side]) {
            Head.read(kept, 0, in -> {
                Retract.readLong(in);
                matches[0] = Retract.readLong(in);
            });
        }
        return matches[0];
    }

    /**
     * The turn, done as its results are read, so that they need not lie all in memory: rows that stay are held against
     * those that change, then these against each other; with the last result the group is kept.
     */
    private final class Results extends Sides.Results {
        private final Store group;
        private final long[] sizes;
        private final List<TreeMap<byte[], Row>> changed = new ArrayList<>();
        private final List<List<Stayed>> stayed = List.of(new ArrayList<>(), new ArrayList<>());
        private final UnsafeRow[] views = {new UnsafeRow(fields[0]), new UnsafeRow(fields[1])};
        private Iterator<Map.Entry<byte[], byte[]>> scan;
        private Iterator<Row> crossed;
        private List<Row> others;
        private int side;

        /** Of rows that can match nothing: they are not kept, their changes are those of the result. */
        Results(List<TreeMap<byte[], Change>> changes) {
            sides.super();
            group = null;
            sizes = null;
            side = 2;
            crossed = Collections.emptyIterator();
            for (int i = 0; i < 2 && !matched; i++) {
                int of = i;
                changes.get(i).forEach((row, c) -> alone(of, row, c.now));
            }
        }

        Results(List<TreeMap<byte[], Change>> changes, Store group, long[] sizes) {
            sides.super();
            this.group = group;
            this.sizes = sizes;
            for (int i = 0; i < 2; i++) {
                changed.add(changed(i, changes.get(i)));
            }
            crossed = changed.get(0).values().iterator();
        }

        private TreeMap<byte[], Row> changed(int of, TreeMap<byte[], Change> changes) {
            TreeMap<byte[], Row> rows = new TreeMap<>(Tree.BYTES);
            changes.forEach((row, c) -> {
                byte[] kept = sides.trees[of].get(row);
                sides.known(of, kept, c);
                if (c.old != c.now) {
                    rows.put(row, new Row(row, Retract.view(row, fields[of]), c, matches(of, kept)));
                }
            });
            return rows;
        }

        @Override boolean step() {
            if (side < 2) {
                scan();
            } else if (crossed.hasNext()) {
                Row a = crossed.next();
                changed.get(1).values().forEach(b -> met(a, b));
            } else if (side == 2 && group != null) {
                keep();
                side++;
            } else {
                return false;
            }
            return true;
        }

        /** Hold the next row of a side that stays against the other side's that change. */
        private void scan() {
            if (scan == null) {
                others = new ArrayList<>(changed.get(1 - side).values());
                if (side == 1 && !pairs) { // of a row that was there it is known how many match
                    others.removeIf(other -> other.old != 0);
                }
                scan = others.isEmpty() ? Collections.emptyIterator() : sides.trees[side].scan(false);
            }
            if (!scan.hasNext()) {
                scan = null;
                side++;
                return;
            }
            Map.Entry<byte[], byte[]> e = scan.next();
            if (!changed.get(side).containsKey(e.getKey())) {
                scanned(e.getKey(), e.getValue());
            }
        }

        private void scanned(byte[] row, byte[] kept) {
            UnsafeRow view = views[side];
            view.pointTo(row, row.length);
            long copies = Copies.weight(kept);
            long had = matches(side, kept);
            long has = had;
            boolean hit = false;
            for (Row other : others) {
                if (side == 0 ? condition.holds(view, other.view) : condition.holds(other.view, view)) {
                    hit = true;
                    has += other.now - other.old;
                    other.has += other.old == 0 ? copies : 0; // it is new: nobody has counted yet
                    paired(side == 0 ? row : other.bytes, side == 0 ? other.bytes : row, copies * (other.now - other.old));
                }
            }
            if (alone[side] && hit && (has != had || sides.ages[side].forgets())) { // as in Flink, a match makes a row young
                alone(side, row, shown(has, copies) - shown(had, copies));
                stayed.get(side).add(new Stayed(row, copies, has));
            }
        }

        private void met(Row a, Row b) {
            if (condition.holds(a.view, b.view)) {
                a.has += a.old == 0 ? b.now : b.now - b.old;
                b.has += b.old == 0 ? a.now : a.now - a.old;
                paired(a.bytes, b.bytes, a.now * b.now - a.old * b.old);
            }
        }

        private void keep() {
            for (int i = 0; i < 2; i++) {
                for (Row row : changed.get(i).values()) {
                    alone(i, row.bytes, shown(row.has, row.now) - shown(row.had, row.old));
                    sizes[i] += row.now - row.old;
                    keep(i, row.bytes, row.now, row.has);
                }
                for (Stayed row : stayed.get(i)) {
                    keep(i, row.row, row.copies, row.has);
                }
            }
            sides.keep(group, sizes);
        }

        private void keep(int of, byte[] row, long copies, long matches) {
            byte[] kept = copies == 0 ? null : !alone[of] ? Copies.of(copies) : Head.written(out -> {
                Retract.writeLong(out, copies);
                Retract.writeLong(out, matches);
            });
            sides.ages[of].put(row, kept, group.now());
        }

        private void paired(byte[] l, byte[] r, long weight) {
            if (pairs) {
                pair(l, r, weight);
            }
        }

        private void alone(int of, byte[] row, long weight) {
            if (alone[of]) {
                single(of, row, weight);
            }
        }
    }
}
