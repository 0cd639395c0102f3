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
import org.apache.spark.sql.types.StructType;

/**
 * Left rows of a key that wait until event time has come to theirs, and the right side's versions by their time: a row
 * comes out once, beside the newest version that is not newer than it, or beside none. As in Flink no row and no version
 * is too late: it waits for the next step of event time, and of versions that were passed before that the newest is
 * there. Of versions of one time the one that came last counts. Arguments: those of {@link Join}, the row's time (ms), and of a
 * version when it came.
 *
 * <p>The head has for when there is a timer, a tree of rows by time and turn, and one of versions by time. Only the least
 * time of what has come since the last step has a timer, as Flink does: so what lets go of versions is the same.
 */
final class TemporalJoin extends Kind {
    static final int MORE = 2; // arguments
    private static final int WEIGHT = 0;
    private static final int TIMED = 1;
    private static final int ROWS = 2;
    private static final int TIME = 4;
    private static final int CAME = 5;

    private final int[] fields;
    private transient Tree rows;
    private transient Tree versions;
    private transient long timer;

    TemporalJoin(StructType arguments) { fields = Sides.fields(arguments); }

    @Override void open() {
        rows = new Tree(0, Tree.BYTES);
        versions = new Tree(1, Tree.BYTES);
    }

    @Override long bucket() { return 1000; }

    /** What comes: a row with its weight, or a version. */
    private record Coming(boolean version, long time, Long came, boolean gone, byte[] kept) {
        static Coming of(UnsafeRow all, int[] fields) {
            boolean version = all.isNullAt(ROWS);
            UnsafeRow row = all.getStruct(version ? ROWS + 1 : ROWS, fields[version ? 1 : 0]);
            Long came = version && !all.isNullAt(CAME) ? all.getLong(CAME) : null;
            byte[] kept = version ? row.getBytes() : weighted(all.getLong(WEIGHT), row.getBytes());
            return new Coming(version, all.getLong(TIME), came, version && row.getBoolean(0), kept);
        }

        /** Whatever the order in which a batch brings its rows: of versions without a number one that is there counts. */
        static int compare(Coming a, Coming b) {
            int c = Comparator.comparing(Coming::version).thenComparingLong(Coming::time)
                .thenComparing(Coming::came, Comparator.nullsFirst(Comparator.naturalOrder())).compare(a, b);
            c = c == 0 ? Boolean.compare(b.gone, a.gone) : c;
            return c == 0 ? Arrays.compareUnsigned(a.kept, b.kept) : c;
        }
    }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> coming) {
        List<Coming> batch = new ArrayList<>();
        List<Object> out = new ArrayList<>();
        while (coming.hasNext()) {
            UnsafeRow row = coming.next();
            if (row.getBoolean(TIMED)) {
                batch.add(Coming.of(row, fields));
            } else if (!row.isNullAt(ROWS)) { // event time never comes to it
                out.add(Retract.row(row.getStruct(ROWS, fields[0]).copy(), null, row.getLong(WEIGHT)));
            }
        }
        if (!batch.isEmpty()) {
            batch.sort(Coming::compare);
            read(group);
            long now = group.time();
            for (Coming one : batch) {
                (one.version ? versions : rows).put(one.version ? key(one.time) : key(one.time, group.next()), one.kept);
                timer(group, one.time <= now && now < Long.MAX_VALUE ? now + 1 : one.time); // what is late waits for a step
            }
            keep(group);
        }
        return IntervalJoin.portions(out);
    }

    @Override Iterator<Object> fire(Store group, long time) {
        long now = group.time();
        if (!read(group) || timer > now) {
            return nothing(); // another one stands in its place
        }
        timer = Long.MAX_VALUE;
        List<Object> out = new ArrayList<>();
        List<byte[]> over = new ArrayList<>();
        for (Iterator<Map.Entry<byte[], byte[]>> all = rows.scan(false); all.hasNext();) {
            Map.Entry<byte[], byte[]> row = all.next();
            long at = time(row.getKey());
            if (at > now) {
                timer(group, at);
                break;
            }
            over.add(row.getKey());
            out.add(met(at, row.getValue()));
        }
        over.forEach(key -> rows.put(key, null));
        leave(now);
        keep(group);
        return IntervalJoin.portions(out);
    }

    private Object met(long at, byte[] kept) {
        Iterator<Map.Entry<byte[], byte[]>> older = versions.scan(key(at), true);
        UnsafeRow version = older.hasNext() ? Retract.view(older.next().getValue(), fields[1]) : null;
        return Retract.row(Rows.view(kept, Long.BYTES, kept.length - Long.BYTES, fields[0]), version, ByteBuffer.wrap(kept).getLong());
    }

    /** Let go of the versions before the newest one that event time has passed. */
    private void leave(long now) {
        List<byte[]> older = new ArrayList<>();
        versions.scan(key(now), true).forEachRemaining(one -> older.add(one.getKey()));
        older.stream().skip(1).forEach(key -> versions.put(key, null));
    }

    private static byte[] key(long time) { return ByteBuffer.allocate(Long.BYTES).putLong(time ^ Long.MIN_VALUE).array(); }

    private static byte[] key(long time, long turn) {
        return ByteBuffer.allocate(2 * Long.BYTES).putLong(time ^ Long.MIN_VALUE).putLong(turn ^ Long.MIN_VALUE).array();
    }

    private static long time(byte[] key) { return ByteBuffer.wrap(key).getLong() ^ Long.MIN_VALUE; }

    private static byte[] weighted(long weight, byte[] row) {
        return ByteBuffer.allocate(Long.BYTES + row.length).putLong(weight).put(row).array();
    }

    private void timer(Store group, long time) {
        if (time < timer) {
            timer = time;
            group.timer(time);
        }
    }

    private boolean read(Store group) {
        byte[] head = group.head();
        timer = Long.MAX_VALUE;
        rows.reset(group.map(0));
        versions.reset(group.map(0));
        if (head != null) {
            Head.read(head, Store.BODY, in -> {
                timer = in.readLong();
                rows.read(in, group.map(0));
                versions.read(in, group.map(0));
            });
        }
        return head != null;
    }

    private void keep(Store group) {
        byte[] head = Head.written(out -> {
            out.writeLong(0); // the store's own word
            out.writeLong(timer);
            rows.write(out);
            versions.write(out);
        });
        group.keep(rows.isEmpty() && versions.isEmpty() ? null : head);
    }
}
