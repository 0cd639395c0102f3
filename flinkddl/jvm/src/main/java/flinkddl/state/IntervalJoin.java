package flinkddl.state;

import flinkddl.Retract;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of both sides of a key that a later row may still match: left time - right time lies between two bounds. A row is
 * held against those that are there when it comes, and stays until event time has passed all that could match it; one
 * that has matched none by then comes out by itself, where its side is outer. Nothing is taken back. Arguments: those of
 * {@link Join}, the row's time, the lower and the upper bound (ms).
 *
 * <p>The head has for when there is a timer, and a tree a side, by time and turn: whether the row has matched, and the row.
 */
final class IntervalJoin extends Kind {
    static final int MORE = 3; // arguments
    private static final int MATCHABLE = 1;
    private static final int ROWS = 2;
    private static final int TIME = 4;
    private static final int LOWER = 5;
    private static final int UPPER = 6;
    private static final int PORTION = 256; // rows of a result

    private final boolean[] outer;
    private final int[] fields;
    private Condition condition;
    private transient Tree[] sides;
    private transient long timer;

    IntervalJoin(String kind, StructType arguments) {
        outer = new boolean[] {!kind.equals("inner"), kind.equals("full")};
        fields = Sides.fields(arguments);
    }

    @Override void when(Condition condition) { this.condition = condition; }

    @Override void open() { sides = new Tree[] {new Tree(0, Tree.BYTES), new Tree(1, Tree.BYTES)}; }

    @Override long bucket() { return 1000; }

    /** A row that comes: how long it may wait, and between which times the other side's rows match it. */
    private record Coming(int side, byte[] row, long time, long until, long from, long to) {
        static Coming of(UnsafeRow all, int[] fields) {
            int side = all.isNullAt(ROWS) ? 1 : 0;
            long time = all.getLong(TIME);
            long lower = all.getLong(LOWER);
            long upper = all.getLong(UPPER);
            byte[] row = all.getStruct(ROWS + side, fields[side]).getBytes();
            return side == 0 ? new Coming(0, row, time, time - lower, time - upper, time - lower)
                : new Coming(1, row, time, time + upper, time + lower, time + upper);
        }
    }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        List<Coming> batch = new ArrayList<>();
        List<Object> out = new ArrayList<>();
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            if (row.getBoolean(MATCHABLE)) {
                batch.add(Coming.of(row, fields));
            } else { // matches nothing
                int side = row.isNullAt(ROWS) ? 1 : 0;
                alone(side, row.getStruct(ROWS + side, fields[side]).getBytes(), out);
            }
        }
        if (batch.isEmpty()) {
            return portions(out);
        }
        long now = group.time();
        // what may wait comes first: so the order in which a batch brings its rows makes no difference
        batch.sort(Comparator.<Coming, Boolean>comparing(c -> c.until <= now).thenComparingLong(Coming::time)
            .thenComparing(Coming::row, Arrays::compareUnsigned).thenComparingInt(Coming::side));
        read(group);
        for (Coming row : batch) {
            boolean met = meet(row, out);
            if (row.until > now) {
                sides[row.side].put(key(row.time, group.next()), kept(met, row.until, row.row));
                timer(group, row.until);
            } else if (!met) {
                alone(row.side, row.row, out);
            }
        }
        keep(group);
        return portions(out);
    }

    /** Hold a row against the other side's; returns whether it has matched one. */
    private boolean meet(Coming row, List<Object> out) {
        Tree others = sides[1 - row.side];
        List<byte[]> marked = new ArrayList<>();
        boolean met = false;
        for (Iterator<Map.Entry<byte[], byte[]>> all = others.scan(key(row.from, Long.MIN_VALUE), false); all.hasNext();) {
            Map.Entry<byte[], byte[]> other = all.next();
            if (time(other.getKey()) > row.to) {
                break;
            }
            UnsafeRow left = view(row.side == 0 ? row.row : row(other.getValue()), 0);
            UnsafeRow right = view(row.side == 0 ? row(other.getValue()) : row.row, 1);
            if (condition == null || condition.holds(left, right)) {
                met = true;
                out.add(Retract.row(left, right, 1L));
                if (outer[1 - row.side] && other.getValue()[0] == 0) {
                    marked.add(other.getKey());
                }
            }
        }
        for (byte[] key : marked) {
            others.put(key, matched(others.get(key)));
        }
        return met;
    }

    @Override Iterator<Object> fire(Store group, long time) {
        List<Object> out = new ArrayList<>();
        if (!read(group)) {
            return nothing();
        }
        timer = timer <= time ? Long.MAX_VALUE : timer;
        long now = group.time();
        for (int side = 0; side < 2; side++) {
            leave(group, side, now, out);
        }
        keep(group);
        return portions(out);
    }

    /** Let go of the rows that nothing can match any more. */
    private void leave(Store group, int side, long now, List<Object> out) {
        List<byte[]> over = new ArrayList<>();
        for (Iterator<Map.Entry<byte[], byte[]>> all = sides[side].scan(false); all.hasNext();) {
            Map.Entry<byte[], byte[]> one = all.next();
            long until = until(one.getValue());
            if (until > now) {
                timer(group, until);
                break;
            }
            over.add(one.getKey());
            if (one.getValue()[0] == 0) {
                alone(side, row(one.getValue()), out);
            }
        }
        over.forEach(key -> sides[side].put(key, null));
    }

    private void alone(int side, byte[] row, List<Object> out) {
        if (outer[side]) {
            out.add(Retract.row(side == 0 ? view(row, 0) : null, side == 1 ? view(row, 1) : null, 1L));
        }
    }

    private UnsafeRow view(byte[] row, int side) { return Retract.view(row, fields[side]); }

    private static byte[] key(long time, long turn) {
        return ByteBuffer.allocate(2 * Long.BYTES).putLong(time ^ Long.MIN_VALUE).putLong(turn ^ Long.MIN_VALUE).array();
    }

    private static long time(byte[] key) { return ByteBuffer.wrap(key).getLong() ^ Long.MIN_VALUE; }

    private static byte[] kept(boolean met, long until, byte[] row) {
        return ByteBuffer.allocate(1 + Long.BYTES + row.length).put((byte) (met ? 1 : 0)).putLong(until).put(row).array();
    }

    private static byte[] matched(byte[] kept) {
        byte[] now = kept.clone();
        now[0] = 1;
        return now;
    }

    private static long until(byte[] kept) { return ByteBuffer.wrap(kept).getLong(1); }

    private static byte[] row(byte[] kept) { return Arrays.copyOfRange(kept, 1 + Long.BYTES, kept.length); }

    /** One timer a group, for its first row to go. */
    private void timer(Store group, long until) {
        if (until < timer) {
            timer = until;
            group.timer(until);
        }
    }

    private boolean read(Store group) {
        byte[] head = group.head();
        timer = Long.MAX_VALUE;
        for (Tree side : sides) {
            side.reset(group.map(0));
        }
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                timer = in.readLong();
                for (Tree side : sides) {
                    side.read(in, group.map(0));
                }
            });
        }
        return head != null;
    }

    private void keep(Store group) {
        byte[] head = Head.written(out -> {
            out.writeLong(0); // the store's own word
            out.writeLong(timer);
            for (Tree side : sides) {
                side.write(out);
            }
        });
        group.keep(sides[0].isEmpty() && sides[1].isEmpty() ? null : head);
    }

    static Iterator<Object> portions(List<Object> out) {
        List<Object> portions = new ArrayList<>();
        for (int from = 0; from < out.size(); from += PORTION) {
            portions.add(new GenericArrayData(out.subList(from, Math.min(from + PORTION, out.size())).toArray()));
        }
        return portions.iterator();
    }
}
