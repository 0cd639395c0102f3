package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractVersion;
import java.util.Arrays;
import java.util.Iterator;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * The newest row of a key ({@code retract_latest}): the head is its version and row, then a byte that says whether it is
 * a deletion. Of rows with one version the one with the larger bytes counts, in whatever order they come.
 */
final class Latest extends Kind {
    private final RetractVersion order;
    private final int versions;
    private final int fields;

    /** {@code arguments}: deleted BOOLEAN, STRUCT of the version and the row. */
    Latest(StructType arguments) {
        StructType change = (StructType) arguments.apply(1).dataType();
        StructType version = (StructType) change.apply(0).dataType();
        order = new RetractVersion(version);
        versions = version.length();
        fields = ((StructType) change.apply(1).dataType()).length();
    }

    @Override int maps() { return 0; }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        byte[] best = null;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            UnsafeRow change = row.getStruct(1, 2);
            if (best == null || order.compare(change.getStruct(0, versions), version(best)) >= 0) {
                best = later(best, kept(row));
            }
        }
        byte[] old = group.head();
        if (best == null || old != null && !replaces(best, old)) {
            return nothing();
        }
        // what comes later is newer: nobody asks for the version of a deletion again
        group.keep(order.arrived() && deleted(best) ? null : best);
        InternalRow before = payload(old);
        InternalRow after = payload(best);
        boolean same = before == null || after == null ? before == after : before.equals(after);
        return same ? nothing() : one(Retract.row(before, after, version(best)));
    }

    @Override Combiner combiner() {
        return new Combiner() {
            @Override public Object add(Object held, UnsafeRow row) {
                return held == null || newer(row, Retract.view((byte[]) held, 2)) ? Rows.bytes(row, (byte[]) held) : held;
            }

            @Override public void give(Object held, Consumer<byte[]> rows) { rows.accept((byte[]) held); }

            @Override public boolean piles() { return false; }
        };
    }

    /** Whether one row of arguments counts, and not the other. */
    private boolean newer(UnsafeRow left, UnsafeRow right) {
        int c = order.compare(left.getStruct(1, 2).getStruct(0, versions), right.getStruct(1, 2).getStruct(0, versions));
        return c > 0 || c == 0 && compare(kept(left), kept(right)) > 0;
    }

    private static byte[] kept(UnsafeRow row) { return kept(row.getStruct(1, 2), !row.isNullAt(0) && row.getBoolean(0)); }

    @Override Object held(byte[] head, Pages pages, InternalRow arguments) {
        InternalRow row = payload(head);
        return row == null ? null : Retract.row(null, row, version(head));
    }

    private static byte[] kept(UnsafeRow change, boolean deleted) {
        int size = change.getSizeInBytes();
        byte[] bytes = new byte[Store.BODY + size + 1];
        change.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + Store.BODY);
        bytes[Store.BODY + size] = (byte) (deleted ? 1 : 0);
        return bytes;
    }

    private byte[] later(byte[] a, byte[] b) { return a != null && compare(a, b) > 0 ? a : b; }

    private int compare(byte[] a, byte[] b) {
        int c = order.compare(version(a), version(b));
        return c != 0 ? c : Arrays.compareUnsigned(a, Store.BODY, a.length, b, Store.BODY, b.length);
    }

    private boolean replaces(byte[] best, byte[] old) {
        return order.replaces(version(best), version(old), Arrays.compareUnsigned(best, Store.BODY, best.length, old, Store.BODY, old.length) > 0);
    }

    private UnsafeRow change(byte[] head) { return Rows.view(head, Store.BODY, head.length - 1 - Store.BODY, 2); }

    private UnsafeRow version(byte[] head) { return change(head).getStruct(0, versions); }

    private static boolean deleted(byte[] head) { return head[head.length - 1] == 1; }

    private InternalRow payload(byte[] head) { return head == null || deleted(head) ? null : change(head).getStruct(1, fields); }
}
