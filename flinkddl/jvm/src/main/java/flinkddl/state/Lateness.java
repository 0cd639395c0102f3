package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Which rows of a partition of {@link Over} are late: those behind a row that came before them and that the watermark they
 * met had passed. Rows come, none is taken back; the tree has them all, by when they came, with their copies and 1 where
 * they are late.
 */
final class Lateness {
    private final Over over;
    final Tree came;

    Lateness(Over over, Tree came) {
        this.over = over;
        this.came = came;
    }

    /** A row by when it came; how many copies, and whether it is late. */
    private record Row(byte[] place, long copies, boolean late) {
        byte[] value() { return ByteBuffer.allocate(Long.BYTES + 1).putLong(copies).put((byte) (late ? 1 : 0)).array(); }
    }

    /** Bring in a batch: what came after all others leaves those as they are. */
    void bring(TreeMap<byte[], Copies> batch, Places places) {
        TreeMap<byte[], Long> more = new TreeMap<>(Tree.BYTES);
        batch.forEach((entry, copies) -> {
            for (long sequence : new Copies().and(copies).sequences) {
                more.merge(Over.place(entry, sequence), 1L, Long::sum);
            }
        });
        if (more.isEmpty()) {
            return;
        }
        Iterator<Map.Entry<byte[], byte[]>> newest = came.scan(true);
        boolean after = !newest.hasNext() || sequence(newest.next().getKey()) < sequence(more.firstKey());
        TreeSet<Long> seen = new TreeSet<>();
        if (after) {
            more.forEach((place, copies) -> put(new Row(place, copies, late(place, seen, places.tree)), 0, places));
        } else {
            anew(more, seen, places);
        }
    }

    private static long sequence(byte[] place) { return ByteBuffer.wrap(place).getLong() ^ Long.MIN_VALUE; }

    /** All rows in turn: one that came between them may have made others late, and those others timely. */
    private void anew(TreeMap<byte[], Long> more, TreeSet<Long> seen, Places places) {
        TreeMap<byte[], long[]> all = new TreeMap<>(Tree.BYTES); // copies, and of those the ones that are at their places
        came.scan(false).forEachRemaining(e -> {
            ByteBuffer value = ByteBuffer.wrap(e.getValue());
            long copies = value.getLong();
            all.put(e.getKey(), new long[] {copies, value.get() == 1 ? 0 : copies});
        });
        more.forEach((place, copies) -> all.computeIfAbsent(place, k -> new long[2])[0] += copies);
        all.forEach((place, copies) -> put(new Row(place, copies[0], late(place, seen, null)), copies[1], places));
    }

    private void put(Row row, long there, Places places) {
        came.put(row.place, row.value());
        places.add(row.place, (row.late ? 0 : row.copies) - there);
    }

    /** Whether a row of its time or later, of those seen or of a tree's, was passed by the watermark that it met. */
    private boolean late(byte[] place, TreeSet<Long> seen, Tree kept) {
        long time = over.time(place);
        InternalRow met = over.entry(place).getStruct(3, 1);
        Long next = seen.ceiling(time);
        if (kept != null) {
            byte[] first = Over.place(Arrays.copyOfRange(place, Long.BYTES, place.length), Long.MIN_VALUE);
            Iterator<Map.Entry<byte[], byte[]>> all = kept.scan(first, false);
            Long later = all.hasNext() ? (Long) over.time(all.next().getKey()) : null;
            next = next == null || later != null && later < next ? later : next;
        }
        boolean late = next != null && !met.isNullAt(0) && next <= met.getLong(0);
        if (!late) {
            seen.add(time);
        }
        return late;
    }
}
