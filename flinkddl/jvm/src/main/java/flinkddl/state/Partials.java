package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractFinish;
import flinkddl.RetractMultiset;
import java.io.DataInput;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Rows of an {@link Aggregate} brought together: weight and sequence as a row has them, no arguments, and behind them what
 * each call has made of those. For calls that do not ask when a row came. What a row says of its group (the end of a
 * {@link Window}, a BIGINT) stands between them.
 */
final class Partials implements Combiner {
    private static final int ARGUMENTS = 2;

    private final Call[] calls;
    private final StructType type;
    private UnsafeProjection projection; // made when rows are given: who asks what can be brought together needs none
    private final int fields;

    private Partials(Call[] calls, int fields) {
        this.calls = calls;
        this.fields = fields;
        StructType made = new StructType().add("weight", DataTypes.LongType).add("sequence", DataTypes.LongType).add("arguments", DataTypes.BinaryType);
        for (int i = made.length(); i < fields; i++) {
            made = made.add("of group " + i, DataTypes.LongType);
        }
        type = made.add("calls", DataTypes.BinaryType);
    }

    /** Null where one of the calls asks for rows in their order; {@code fields}: how many arguments a row is. */
    static Partials of(RetractFinish[] finish, int fields) {
        return Arrays.stream(finish).allMatch(RetractFinish::merges)
            ? new Partials(Arrays.stream(finish).map(f -> Call.of(f, 0)).toArray(Call[]::new), fields) : null;
    }

    private static final class Held {
        long weight;
        long sequence = Long.MIN_VALUE;
        Object[] parts;
        long[] group;
    }

    @Override public Object add(Object held, UnsafeRow row) {
        Held sum = held == null ? first(row) : (Held) held;
        long weight = row.getLong(0);
        sum.weight += weight;
        sum.sequence = Math.max(sum.sequence, Retract.sequence(row));
        UnsafeRow arguments = row.getStruct(ARGUMENTS, calls.length);
        for (int i = 0; i < calls.length; i++) {
            calls[i].add(sum.parts[i], arguments, i, weight);
        }
        return sum;
    }

    private Held first(UnsafeRow row) {
        Held sum = new Held();
        sum.parts = Arrays.stream(calls).map(Call::part).toArray();
        sum.group = new long[fields - ARGUMENTS - 1];
        Arrays.setAll(sum.group, i -> row.getLong(ARGUMENTS + 1 + i));
        return sum;
    }

    @Override public void give(Object held, Consumer<byte[]> rows) {
        Held sum = (Held) held;
        byte[] parts = Head.written(out -> {
            for (int i = 0; i < calls.length; i++) {
                calls[i].give(sum.parts[i], out);
            }
        });
        Object[] row = new Object[fields + 1];
        row[0] = sum.weight;
        row[1] = sum.sequence == RetractMultiset.UNKNOWN ? null : (Long) sum.sequence;
        for (int i = 0; i < sum.group.length; i++) {
            row[ARGUMENTS + 1 + i] = sum.group[i];
        }
        row[row.length - 1] = parts;
        projection = projection == null ? UnsafeProjection.create(type) : projection;
        rows.accept(Rows.bytes(projection.apply(Retract.row(row))));
    }

    @Override public boolean piles() { return true; }

    /** Bring what {@link #give} gave into the calls of a group, if a row is such. */
    static boolean taken(UnsafeRow row, Call[] calls) {
        if (!row.isNullAt(ARGUMENTS)) {
            return false;
        }
        int fields = row.numFields();
        UnsafeRow whole = Rows.view((byte[]) row.getBaseObject(), 0, row.getSizeInBytes(), fields + 1);
        Head.read(whole.getBinary(fields), 0, in -> take(in, calls));
        return true;
    }

    private static void take(DataInput in, Call[] calls) throws IOException {
        for (Call call : calls) {
            call.take(in);
        }
    }
}
