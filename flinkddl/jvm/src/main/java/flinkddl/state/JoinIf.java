package flinkddl.state;

import flinkddl.Retract;
import flinkddl.state.Sides.Change;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * As {@link Join}, where more than the key decides which rows match: a row that can come out by itself is kept with the
 * number of the other side's rows that match it. A changed row is held against the other side's rows of its group. Rows
 * that are forgotten leave that number as it is, as in Flink: the pairs that they made are not taken back either.
 */
final class JoinIf extends Kind {
    private static final int PORTION = 256; // rows of a result

    private final boolean pairs;
    private final boolean matched; // semi: rows that have a match; others: rows that have none
    private final boolean[] alone; // the side's rows come out by themselves
    private final int[] fields;
    private Condition condition;
    private transient Sides sides;
    private transient List<TreeMap<byte[], Row>> changed;
    private transient List<Result> results;

    /** {@code arguments} as {@link Sides#fields} has them. */
    JoinIf(String kind, StructType arguments) {
        matched = kind.equals("semi");
        pairs = !matched && !kind.equals("anti");
        alone = new boolean[] {true, kind.equals("full")};
        fields = Sides.fields(arguments);
    }

    @Override void when(Condition condition) { this.condition = condition; }

    @Override void open() { sides = new Sides(fields, lives); }

    /** A row that changes: its copies, and the matching rows of the other side, before and after this turn. */
    private static final class Row {
        final UnsafeRow view;
        final long old;
        final long now;
        final long had;
        long has;

        Row(UnsafeRow view, Change c, long had) {
            this.view = view;
            old = c.old;
            now = c.now;
            this.had = had;
            has = had;
        }
    }

    /** The other side's match of a row that stays. */
    private record Match(byte[] row, long copies, long has) { }

    private record Result(byte[] left, byte[] right, long weight) { }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        Sides.Turn turn = sides.turn(rows);
        results = new ArrayList<>();
        if (!turn.apart()) {
            fold(group, turn.changes());
        } else if (!matched) { // what can match nothing is not kept: its changes are those of the result
            for (int i = 0; i < 2; i++) {
                int side = i;
                turn.changes().get(i).forEach((row, c) -> alone(side, row, c.now));
            }
        }
        return given(results.iterator());
    }

    private void fold(Store group, List<TreeMap<byte[], Change>> changes) {
        long[] sizes = sides.read(group);
        changed = List.of(changed(0, changes.get(0)), changed(1, changes.get(1)));
        List<List<Match>> stayed = List.of(scanned(0), scanned(1));
        changed.get(0).forEach((l, a) -> changed.get(1).forEach((r, b) -> met(l, a, r, b)));
        for (int i = 0; i < 2; i++) {
            for (Map.Entry<byte[], Row> e : changed.get(i).entrySet()) {
                Row row = e.getValue();
                alone(i, e.getKey(), shown(row.has, row.now) - shown(row.had, row.old));
                sizes[i] += row.now - row.old;
                keep(i, e.getKey(), row.now, row.has, group.now());
            }
            for (Match m : stayed.get(i)) {
                keep(i, m.row, m.copies, m.has, group.now());
            }
        }
        sides.keep(group, sizes);
    }

    private TreeMap<byte[], Row> changed(int side, TreeMap<byte[], Change> changes) {
        TreeMap<byte[], Row> rows = new TreeMap<>(Tree.BYTES);
        changes.forEach((row, c) -> {
            byte[] kept = sides.trees[side].get(row);
            sides.known(side, kept, c);
            if (c.old != c.now) {
                rows.put(row, new Row(Retract.view(row, fields[side]), c, matches(side, kept)));
            }
        });
        return rows;
    }

    /** Hold the rows of a side that stay against the other side's that change; gives those whose matches change. */
    private List<Match> scanned(int side) {
        TreeMap<byte[], Row> others = new TreeMap<>(changed.get(1 - side));
        if (side == 1 && !pairs) { // of a row that was there it is known how many match
            others.values().removeIf(other -> other.old != 0);
        }
        List<Match> touched = new ArrayList<>();
        UnsafeRow view = new UnsafeRow(fields[side]);
        for (Iterator<Map.Entry<byte[], byte[]>> all = sides.trees[side].scan(false); !others.isEmpty() && all.hasNext();) {
            Map.Entry<byte[], byte[]> e = all.next();
            if (changed.get(side).containsKey(e.getKey())) {
                continue;
            }
            view.pointTo(e.getKey(), e.getKey().length);
            scanned(side, e, view, others, touched);
        }
        return touched;
    }

    private void scanned(int side, Map.Entry<byte[], byte[]> e, UnsafeRow view, TreeMap<byte[], Row> others, List<Match> touched) {
        long copies = Copies.weight(e.getValue());
        long had = matches(side, e.getValue());
        long has = had;
        boolean hit = false;
        for (Map.Entry<byte[], Row> o : others.entrySet()) {
            Row other = o.getValue();
            if (side == 0 ? condition.holds(view, other.view) : condition.holds(other.view, view)) {
                hit = true;
                has += other.now - other.old;
                other.has += other.old == 0 ? copies : 0; // it is new: nobody has counted yet
                if (pairs) {
                    add(side == 0 ? e.getKey() : o.getKey(), side == 0 ? o.getKey() : e.getKey(), copies * (other.now - other.old));
                }
            }
        }
        if (alone[side] && hit && (has != had || sides.ages[side].forgets())) { // as in Flink, a match makes a row young
            alone(side, e.getKey(), shown(has, copies) - shown(had, copies));
            touched.add(new Match(e.getKey(), copies, has));
        }
    }

    private void met(byte[] l, Row a, byte[] r, Row b) {
        if (condition.holds(a.view, b.view)) {
            a.has += a.old == 0 ? b.now : b.now - b.old;
            b.has += b.old == 0 ? a.now : a.now - a.old;
            if (pairs) {
                add(l, r, a.now * b.now - a.old * b.old);
            }
        }
    }

    /** How many copies of a row come out by themselves. */
    private long shown(long matches, long copies) { return (matches != 0) == matched ? copies : 0; }

    private void alone(int side, byte[] row, long weight) {
        if (alone[side]) {
            add(side == 0 ? row : null, side == 0 ? null : row, weight);
        }
    }

    private void add(byte[] l, byte[] r, long weight) {
        if (weight != 0) {
            results.add(new Result(l, r, weight));
        }
    }

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

    private void keep(int side, byte[] row, long copies, long matches, long now) {
        byte[] kept = copies == 0 ? null : !alone[side] ? Copies.of(copies) : Head.written(out -> {
            Retract.writeLong(out, copies);
            Retract.writeLong(out, matches);
        });
        sides.ages[side].put(row, kept, now);
    }

    private Iterator<Object> given(Iterator<Result> all) {
        return new Iterator<>() {
            @Override public boolean hasNext() { return all.hasNext(); }

            @Override public Object next() {
                List<Object> portion = new ArrayList<>();
                while (portion.size() < PORTION && all.hasNext()) {
                    Result r = all.next();
                    portion.add(sides.result(r.left, r.right, r.weight));
                }
                return new GenericArrayData(portion.toArray());
            }
        };
    }
}
