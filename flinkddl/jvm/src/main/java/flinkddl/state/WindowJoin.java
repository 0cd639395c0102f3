package flinkddl.state;

import flinkddl.Retract;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * The rows of both sides of a window and join key, held until event time has come to the window's end, then joined once
 * and forgotten; nothing is taken back. The end (ms) is the last argument, the others are those of {@link Join}. Rows are
 * entries of map 0, by the number of their turn: a row costs itself, whatever the window holds.
 */
final class WindowJoin extends Kind {
    private static final int MATCHABLE = 1;
    private static final int LEFT = 2;
    private static final int RIGHT = 3;
    private static final int END = 4;

    private final boolean pairs;
    private final boolean matched; // semi: rows that have a match; others: rows that have none
    private final boolean left; // rows of the left side come out by themselves
    private final boolean right;
    private final int[] fields;
    private Condition condition;

    WindowJoin(String kind, StructType arguments) {
        pairs = !kind.equals("semi") && !kind.equals("anti");
        matched = kind.equals("semi");
        left = !kind.equals("inner");
        right = kind.equals("full");
        fields = Sides.fields(arguments);
    }

    @Override void when(Condition condition) { this.condition = condition; }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        UnsafeRow row = rows.next();
        long fires = row.getLong(END) - 1;
        if (group.late(fires)) { // so are the others, which are of the same window
            return late(group, rows);
        }
        boolean fresh = group.head() == null;
        List<byte[]> batch = new ArrayList<>(List.of(row.getBytes()));
        rows.forEachRemaining(more -> batch.add(more.getBytes()));
        batch.sort(Arrays::compareUnsigned); // a batch that runs again may bring them in another order
        for (byte[] one : batch) {
            group.map(0).put(ByteBuffer.allocate(Long.BYTES).putLong(group.next()).array(), one, 0);
        }
        group.keep(new byte[Store.BODY]);
        if (fresh) {
            group.timer(fires);
        }
        return nothing();
    }

    @Override Iterator<Object> fire(Store group, long time) {
        List<UnsafeRow> lefts = new ArrayList<>();
        List<UnsafeRow> rights = new ArrayList<>();
        group.head(); // what it takes is counted
        boolean apart = read(group.entries(0), lefts, rights);
        group.clear();
        return results(lefts, rights, apart);
    }

    /** Read what is held, in order; returns whether nothing in it matches. */
    private boolean read(MapState<byte[], byte[]> rows, List<UnsafeRow> lefts, List<UnsafeRow> rights) {
        List<Tuple2<byte[], byte[]>> held = new ArrayList<>();
        for (scala.collection.Iterator<Tuple2<byte[], byte[]>> all = rows.iterator(); all.hasNext();) {
            held.add(all.next());
        }
        held.sort((a, b) -> Arrays.compareUnsigned(a._1(), b._1()));
        boolean apart = false;
        for (Tuple2<byte[], byte[]> one : held) {
            UnsafeRow row = Rows.view(one._2(), 0, one._2().length, END + 1);
            apart |= !row.getBoolean(MATCHABLE);
            boolean isLeft = !row.isNullAt(LEFT);
            (isLeft ? lefts : rights).add(row.getStruct(isLeft ? LEFT : RIGHT, fields[isLeft ? 0 : 1]));
        }
        return apart;
    }

    /** A portion for each left row, as they are asked for, and one for right rows that have met none. */
    private Iterator<Object> results(List<UnsafeRow> lefts, List<UnsafeRow> rights, boolean apart) {
        boolean[] met = new boolean[rights.size()];
        Iterator<UnsafeRow> ahead = lefts.iterator();
        return new Iterator<>() {
            private boolean last = !right;

            @Override public boolean hasNext() { return ahead.hasNext() || !last; }

            @Override public Object next() {
                List<Object> out = new ArrayList<>();
                if (ahead.hasNext()) {
                    portion(ahead.next(), apart ? Collections.emptyList() : rights, met, out);
                } else {
                    last = true;
                    for (int i = 0; i < met.length; i++) {
                        out.addAll(met[i] ? List.of() : List.of(Retract.row(null, rights.get(i), 1L)));
                    }
                }
                return new GenericArrayData(out.toArray());
            }
        };
    }

    private void portion(UnsafeRow row, List<UnsafeRow> rights, boolean[] met, List<Object> out) {
        boolean any = false;
        for (int i = 0; i < rights.size(); i++) {
            if (condition == null || condition.holds(row, rights.get(i))) {
                any = true;
                met[i] = true;
                out.addAll(pairs ? List.of(Retract.row(row, rights.get(i), 1L)) : List.of());
            }
        }
        if (left && any == matched) {
            out.add(Retract.row(row, null, 1L));
        }
    }
}
