package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_latest(deleted BOOLEAN, STRUCT<o: STRUCT<version...>, r: STRUCT<row...>>)} gives
 * {@code STRUCT<o: row, n: row, s: version>}: the newest row before and after this batch, NULL where the key is deleted
 * or was never there; NULL as a whole when they are equal. Flink's ChangelogNormalize and keep-last deduplication;
 * with a descending version, keep-first ({@link RetractVersion}).
 */
final class RetractLatest extends Retract<RetractLatest.Newest> {
    private final RetractVersion order;
    private final int orders;
    private final int fields;

    RetractLatest(StructType inputs) {
        super("retract_latest", inputs);
        StructType version = (StructType) struct(1).apply(0).dataType();
        order = new RetractVersion(version);
        orders = version.length();
        fields = ((StructType) struct(1).apply(1).dataType()).length();
    }

    /** Version and row in one struct, and whether it is a deletion. */
    public static final class Newest extends State {
        byte[] base;
        byte[] pending;
        boolean baseDeleted;
        boolean pendingDeleted;

        @Override void fold() {
            if (pending != null) {
                base = pending;
                baseDeleted = pendingDeleted;
                pending = null;
            }
        }

        @Override void clear() {
            base = null;
            baseDeleted = false;
        }

        @Override void write(DataOutput out) throws IOException {
            out.writeByte((baseDeleted ? 1 : 0) | (pendingDeleted ? 2 : 0));
            writeBytes(out, base);
            writeBytes(out, pending);
        }

        @Override void read(DataInput in) throws IOException {
            int flags = in.readByte();
            baseDeleted = (flags & 1) != 0;
            pendingDeleted = (flags & 2) != 0;
            base = readBytes(in);
            pending = readBytes(in);
        }
    }

    @Override public DataType resultType() {
        DataType row = struct(1).apply(1).dataType();
        return type("o", row, "n", row, "s", struct(1).apply(0).dataType());
    }

    @Override Newest create() { return new Newest(); }

    @Override Newest update(Newest s, InternalRow in) {
        offer(s, bytes(in, 1, 2), !in.isNullAt(0) && in.getBoolean(0));
        return s;
    }

    @Override Newest merge(Newest a, Newest b) {
        if (a.base == null) {
            a.base = b.base;
            a.baseDeleted = b.baseDeleted;
        }
        if (b.pending != null) {
            offer(a, b.pending, b.pendingDeleted);
        }
        // a late change must not win over what was given out: it is dropped here, before the state is written
        if (a.pending != null && a.base != null && !order.replaces(version(a.pending), version(a.base), true)) {
            a.pending = null;
        }
        return a;
    }

    private void offer(Newest s, byte[] change, boolean deleted) {
        int c = s.pending == null ? 1 : order.compare(version(change), version(s.pending));
        if (c > 0 || c == 0 && (!order.unknown(version(change)) || Arrays.compareUnsigned(change, s.pending) >= 0)) {
            s.pending = change;
            s.pendingDeleted = deleted;
        }
    }

    private UnsafeRow version(byte[] change) { return view(change, 2).getStruct(0, orders); }

    private InternalRow payload(byte[] change, boolean deleted) {
        return change == null || deleted ? null : view(change, 2).getStruct(1, fields);
    }

    @Override Object produceResult(Newest s) {
        InternalRow old = payload(s.base, s.baseDeleted);
        InternalRow now = s.pending == null ? old : payload(s.pending, s.pendingDeleted);
        boolean same = old == null || now == null ? old == now : old.equals(now);
        return same ? null : row(old, now, version(s.pending));
    }
}
