package flinkddl.state;

import flinkddl.Retract;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** Both sides of a join in the group at hand: a tree of rows each, in pages of map 0; the head has their sizes before them. */
final class Sides {
    final Tree[] trees = {new Tree(0, Tree.BYTES), new Tree(1, Tree.BYTES)};
    final Ages[] ages;
    private final int[] fields;

    Sides(int[] fields, long[] lives) {
        this.fields = fields;
        ages = new Ages[] {new Ages(2, trees[0], lives[0]), new Ages(3, trees[1], lives[1])};
    }

    /** How many fields a row of each side has; {@code arguments}: weight BIGINT, matchable BOOLEAN, left row or NULL, right row or NULL. */
    static int[] fields(StructType arguments) {
        return new int[] {((StructType) arguments.apply(2).dataType()).length(), ((StructType) arguments.apply(3).dataType()).length()};
    }

    /** The side of a row that is given. */
    static int of(UnsafeRow row) { return row.isNullAt(2) ? 1 : 0; }

    /** Copies of a row before and after this turn. */
    static final class Change {
        long old;
        long now;
    }

    /** Rows of each side that change, by how many copies; {@code apart}: they can match nothing. */
    record Turn(List<TreeMap<byte[], Change>> changes, boolean apart) { }

    Turn turn(Iterator<UnsafeRow> rows) {
        List<TreeMap<byte[], Change>> changes = List.of(new TreeMap<>(Tree.BYTES), new TreeMap<>(Tree.BYTES));
        boolean apart = false;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            apart |= !row.getBoolean(1);
            int side = of(row);
            byte[] bytes = row.getStruct(2 + side, fields[side]).getBytes();
            changes.get(side).computeIfAbsent(bytes, k -> new Change()).now += row.getLong(0);
        }
        changes.forEach(side -> side.values().removeIf(c -> c.now == 0));
        return new Turn(changes, apart);
    }

    /** Say how many copies of a row there were, and are then: of a forgotten row nothing is left to take back. */
    void known(int side, byte[] kept, Change c) {
        c.old = Copies.weight(kept);
        c.now = ages[side].forgets() ? Math.max(0, c.now + c.old) : c.now + c.old;
    }

    /** Turn to a group, without what is too old; gives the sizes. */
    long[] read(Store group) { return read(group.head(), group.map(0), group.now()); }

    long[] read(byte[] head, Pages pages, long now) {
        long[] sizes = {0, 0};
        for (int i = 0; i < 2; i++) {
            trees[i].reset(pages);
            ages[i].reset(pages);
        }
        if (head == null) {
            return sizes;
        }
        Head.read(head, Store.BODY, in -> {
            for (int i = 0; i < 2; i++) {
                sizes[i] = Retract.readLong(in);
                trees[i].read(in, pages);
            }
            for (int i = 0; i < 2; i++) {
                int side = i;
                ages[i].read(in, pages, now);
                ages[i].forget(now, (row, copies) -> sizes[side] -= Copies.weight(copies));
            }
        });
        return sizes;
    }

    /** Keep the group as it is now. */
    void keep(Store group, long[] sizes) {
        byte[] kept = Head.written(out -> {
            out.writeLong(0);
            for (int i = 0; i < 2; i++) {
                Retract.writeLong(out, sizes[i]);
                trees[i].write(out);
            }
            if (ages[0].forgets() || ages[1].forgets()) {
                ages[0].write(out);
                ages[1].write(out);
            }
        });
        group.keep(trees[0].isEmpty() && trees[1].isEmpty() ? null : kept);
    }

    /** Changes of the result, in portions. */
    abstract class Results extends Portions {
        final void pair(byte[] left, byte[] right, long weight) {
            if (weight != 0) {
                add(result(left, right, weight));
            }
        }

        /** A row of a side that comes out by itself. */
        final void single(int side, byte[] row, long weight) { pair(side == 0 ? row : null, side == 0 ? null : row, weight); }
    }

    /** A change of the result. */
    Object result(byte[] left, byte[] right, long weight) { return Retract.row(view(left, 0), view(right, 1), weight); }

    private UnsafeRow view(byte[] row, int side) { return row == null ? null : Retract.view(row, fields[side]); }
}
