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
 * in pages of map 0, by the number of their turn: a row costs itself, whatever the window holds. A page has the size of
 * each row (8 bytes) before it, and the head how many rows there are; in the first layout a page was a row.
 */
final class WindowJoin extends Kind {
    private static final int MATCHABLE = 1;
    private static final int LEFT = 2;
    private static final int RIGHT = 3;
    private static final int END = 4;
    private static final int PAGED = 2; // layout
    private static final int PAGE = 16 << 10;

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

    @Override int layout() { return PAGED; }

    @Override boolean reads(int layout) { return layout == 1 || layout == PAGED; }

    @Override void when(Condition condition) { this.condition = condition; }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        UnsafeRow row = rows.next();
        long fires = row.getLong(END) - 1;
        if (group.late(fires)) { // so are the others, which are of the same window
            return late(group, rows);
        }
        byte[] head = group.head();
        List<byte[]> batch = new ArrayList<>(List.of(row.getBytes()));
        rows.forEachRemaining(more -> batch.add(more.getBytes()));
        batch.sort(Arrays::compareUnsigned); // a batch that runs again may bring them in another order
        boolean paged = group.layout() == PAGED;
        for (int from = 0, to = 0; from < batch.size(); from = to) {
            int size = 0;
            do {
                size += Long.BYTES + batch.get(to++).length;
            } while (paged && size < PAGE && to < batch.size());
            byte[] page = paged ? page(batch.subList(from, to), size) : batch.get(from);
            group.map(0).put(ByteBuffer.allocate(Long.BYTES).putLong(group.next()).array(), page, 0);
        }
        ByteBuffer kept = ByteBuffer.allocate(Store.BODY + (paged ? Long.BYTES : 0));
        if (paged) {
            long before = head == null ? 0 : ByteBuffer.wrap(head).getLong(Store.BODY);
            kept.putLong(Store.BODY, before + batch.size());
        }
        group.keep(kept.array());
        if (head == null) {
            group.timer(fires);
        }
        return nothing();
    }

    private static byte[] page(List<byte[]> rows, int size) {
        ByteBuffer page = ByteBuffer.allocate(size);
        rows.forEach(row -> page.putLong(row.length).put(row));
        return page.array();
    }

    @Override Iterator<Object> fire(Store group, long time) {
        List<UnsafeRow> lefts = new ArrayList<>();
        List<UnsafeRow> rights = new ArrayList<>();
        group.head(); // what it takes is counted
        boolean apart = read(group.entries(0), group.layout() == PAGED, lefts, rights);
        group.clear();
        return results(lefts, rights, apart);
    }

    /** Read what is held, in order; returns whether nothing in it matches. */
    private boolean read(MapState<byte[], byte[]> rows, boolean paged, List<UnsafeRow> lefts, List<UnsafeRow> rights) {
        List<Tuple2<byte[], byte[]>> held = new ArrayList<>();
        for (scala.collection.Iterator<Tuple2<byte[], byte[]>> all = rows.iterator(); all.hasNext();) {
            held.add(all.next());
        }
        held.sort((a, b) -> Arrays.compareUnsigned(a._1(), b._1()));
        boolean apart = false;
        for (Tuple2<byte[], byte[]> one : held) {
            byte[] page = one._2();
            int size = page.length;
            for (int at = 0; at < page.length; at += size) {
                if (paged) {
                    size = (int) ByteBuffer.wrap(page).getLong(at);
                    at += Long.BYTES;
                }
                UnsafeRow row = Rows.view(page, at, size, END + 1);
                apart |= !row.getBoolean(MATCHABLE);
                boolean isLeft = !row.isNullAt(LEFT);
                (isLeft ? lefts : rights).add(row.getStruct(isLeft ? LEFT : RIGHT, fields[isLeft ? 0 : 1]));
            }
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
