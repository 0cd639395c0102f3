package flinkddl.state;

import flinkddl.Retract;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * The aggregates of a key over HOP or CUMULATE windows, by the slices of time that these have in common, as Flink shares
 * them: a row is kept once, and a window is made of its slices when event time comes to its end. Arguments: those of
 * {@link Aggregate}, start and end (ms) of the window that a row names ({@link Windows}). For calls that need no trees.
 * A row is late where the last of its windows is over.
 *
 * <p>The head has the end of the next window, then the slices in order of their ends: end, start, and what an aggregate
 * keeps of each.
 */
final class Slices extends Aggregate {
    static final int MORE = 2; // arguments
    private static final int START = 3;
    private static final int END = 4;

    Slices(StructType arguments) { super(arguments); }

    /** Of one slice: where the window begins that its rows name, the number of rows, their newest sequence, the calls. */
    private record Slice(long start, byte[] kept) { }

    @Override Combiner combiner() {
        Combiner each = super.combiner();
        return each == null ? null : new BySlice(each);
    }

    /** Rows of a group by their slices, of each what a combiner makes of them. */
    private record BySlice(Combiner each) implements Combiner {
        @SuppressWarnings("unchecked")
        @Override public Object add(Object held, UnsafeRow row) {
            Map<Long, Object> slices = held == null ? new HashMap<>() : (Map<Long, Object>) held;
            long end = row.getLong(END);
            slices.put(end, each.add(slices.get(end), row));
            return slices;
        }

        @Override public void give(Object held, Consumer<byte[]> rows) { ((Map<?, ?>) held).values().forEach(slice -> each.give(slice, rows)); }

        @Override public boolean piles() { return true; }
    }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        long now = group.over();
        TreeMap<Long, List<UnsafeRow>> came = new TreeMap<>();
        int late = 0;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            if (windows.last(row.getLong(START), row.getLong(END)) - 1 <= now) {
                late++;
            } else {
                came.computeIfAbsent(row.getLong(END), k -> new ArrayList<>(1)).add(row.copy());
            }
        }
        group.dropped(late);
        if (came.isEmpty()) {
            return nothing();
        }
        TreeMap<Long, Slice> slices = new TreeMap<>();
        long asked = slices(group.head(), slices);
        long next = asked;
        for (Map.Entry<Long, List<UnsafeRow>> one : came.entrySet()) {
            long end = one.getKey();
            long start = one.getValue().get(0).getLong(START);
            Slice known = slices.get(end);
            long[] rest = begin(known == null ? null : known.kept, group.map(0));
            if (add(group, one.getValue().iterator(), rest)) {
                slices.remove(end);
            } else {
                slices.put(end, new Slice(start, body(rest)));
                next = Math.min(next, windows.next(start, end, now + 1));
            }
        }
        keep(group, slices, next, asked);
        return nothing();
    }

    @Override Iterator<Object> fire(Store group, long time) {
        TreeMap<Long, Slice> slices = new TreeMap<>();
        long asked = slices(group.head(), slices);
        List<Object> out = new ArrayList<>();
        keep(group, slices, over(slices, asked, group.time(), group.map(0), out), asked);
        return out.iterator();
    }

    /** Give the windows that are over, from the next one on; returns the end of the next that is not. */
    private long over(TreeMap<Long, Slice> slices, long next, long now, Pages pages, List<Object> out) {
        long at = next;
        while (at != Long.MAX_VALUE && at - 1 <= now) {
            window(slices, at, pages, out);
            at = after(slices, at);
        }
        return at;
    }

    private void window(TreeMap<Long, Slice> slices, long at, Pages pages, List<Object> out) {
        long[] rest = begin(null, pages);
        long start = at;
        for (Map.Entry<Long, Slice> one : slices.entrySet()) {
            Slice slice = one.getValue();
            if (windows.next(slice.start, one.getKey(), at - 1) == at) {
                start = windows.begin(slice.start, one.getKey(), at);
                merge(slice.kept, rest);
            }
        }
        if (rest[0] > 0) {
            out.add(Retract.row(start, at, Retract.row(null, merged(), newest(rest))));
        }
    }

    /** The end of the next window after one; slices that have none go. */
    private long after(TreeMap<Long, Slice> slices, long at) {
        slices.entrySet().removeIf(one -> windows.last(one.getValue().start, one.getKey()) <= at);
        return slices.entrySet().stream().mapToLong(one -> windows.next(one.getValue().start, one.getKey(), at)).min().orElse(Long.MAX_VALUE);
    }

    /** Read a head; returns the end of the next window, the greatest number where there is none. */
    private static long slices(byte[] head, TreeMap<Long, Slice> slices) {
        long[] next = {Long.MAX_VALUE};
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                next[0] = in.readLong();
                for (long n = Retract.readLong(in); n > 0; n--) {
                    slices.put(in.readLong(), new Slice(in.readLong(), Retract.readBytes(in)));
                }
            });
        }
        return next[0];
    }

    private static void keep(Store group, TreeMap<Long, Slice> slices, long next, long asked) {
        if (slices.isEmpty()) {
            group.keep(null);
            return;
        }
        if (next != asked) {
            group.timer(next - 1);
        }
        group.keep(Head.written(out -> {
            out.writeLong(0); // the store's own word
            out.writeLong(next);
            Retract.writeLong(out, slices.size());
            for (Map.Entry<Long, Slice> one : slices.entrySet()) {
                out.writeLong(one.getKey());
                out.writeLong(one.getValue().start);
                Retract.writeBytes(out, one.getValue().kept);
            }
        }));
    }
}
