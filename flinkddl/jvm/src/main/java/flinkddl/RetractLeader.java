package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_leader(sequence BIGINT, STRUCT<o: STRUCT<order...>, r: STRUCT<row...>>)}: the rows of this batch, in
 * order of arrival, that stood first in the order of all rows up to them, as {@code ARRAY<row>}. An equal row does not
 * take the lead.
 */
final class RetractLeader extends Retract<RetractLeader.Leaders> {
    private final RetractOrder order;
    private final int orders;
    private final int fields;

    RetractLeader(StructType inputs) {
        super("retract_leader", inputs);
        StructType o = (StructType) struct(1).apply(0).dataType();
        order = new RetractOrder(o);
        orders = o.length();
        fields = ((StructType) struct(1).apply(1).dataType()).length();
    }

    private record Item(long sequence, byte[] bytes) { }

    /** The leader of earlier batches, and the rows of this one that may take the lead. */
    public static final class Leaders extends State {
        byte[] base;
        final List<Item> pending = new ArrayList<>();

        @Override void fold() {
            // what is written is pruned: its last row leads
            base = pending.isEmpty() ? base : pending.get(pending.size() - 1).bytes();
            pending.clear();
        }

        @Override void clear() { base = null; }

        @Override void write(DataOutput out) throws IOException {
            writeBytes(out, base);
            writeLong(out, pending.size());
            for (Item item : pending) {
                writeLong(out, item.sequence());
                writeBytes(out, item.bytes());
            }
        }

        @Override void read(DataInput in) throws IOException {
            base = readBytes(in);
            for (long n = readLong(in); n > 0; n--) {
                long sequence = readLong(in);
                pending.add(new Item(sequence, readBytes(in)));
            }
        }
    }

    @Override public DataType resultType() { return new ArrayType(struct(1).apply(1).dataType(), false); }

    @Override Leaders create() { return new Leaders(); }

    @Override Leaders update(Leaders s, InternalRow in) {
        Item item = new Item(in.isNullAt(0) ? 0 : in.getLong(0), bytes(in, 1, 2));
        int n = s.pending.size();
        if (n > 0 && s.pending.get(n - 1).sequence() > item.sequence()) {
            s.pending.add(item);
            prune(s);
        } else if (n == 0 || leads(item.bytes(), s.pending.get(n - 1).bytes())) {
            s.pending.add(item);
        }
        return s;
    }

    @Override Leaders merge(Leaders a, Leaders b) {
        a.base = a.base == null ? b.base : a.base;
        a.pending.addAll(b.pending);
        prune(a);
        return a;
    }

    /** Sorts by arrival and keeps what leads; a row that does not lead among some rows does not lead among more. */
    private void prune(Leaders s) {
        s.pending.sort(Comparator.comparingLong(Item::sequence));
        List<Item> kept = new ArrayList<>();
        byte[] best = s.base;
        for (Item item : s.pending) {
            if (best == null || leads(item.bytes(), best)) {
                kept.add(item);
                best = item.bytes();
            }
        }
        s.pending.clear();
        s.pending.addAll(kept);
    }

    private boolean leads(byte[] a, byte[] b) {
        return order.compare(view(a, 2).getStruct(0, orders), view(b, 2).getStruct(0, orders)) < 0;
    }

    @Override Object produceResult(Leaders s) {
        prune(s);
        return new GenericArrayData(s.pending.stream().map(i -> view(i.bytes(), 2).getStruct(1, fields)).toArray());
    }
}
