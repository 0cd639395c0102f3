package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractFinish;
import java.io.DataInput;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Rows of an {@link Aggregate} brought together: weight and sequence as a row has them, no arguments, and behind them what
 * each call has made of those. For calls that do not ask when a row came.
 */
final class Partials implements Combiner {
    private static final int FIELDS = 4;
    private static final int ARGUMENTS = 2;
    private static final StructType TYPE = new StructType(new StructField[] {
        DataTypes.createStructField("weight", DataTypes.LongType, false),
        DataTypes.createStructField("sequence", DataTypes.LongType, true),
        DataTypes.createStructField("arguments", DataTypes.BinaryType, true),
        DataTypes.createStructField("calls", DataTypes.BinaryType, false),
    });

    private final Call[] calls;
    private final UnsafeProjection projection = UnsafeProjection.create(TYPE);
    private final UnsafeRow view = new UnsafeRow(FIELDS - 1);

    private Partials(Call[] calls) { this.calls = calls; }

    /** Null where one of the calls asks for rows in their order. */
    static Partials of(RetractFinish[] finish) {
        return Arrays.stream(finish).allMatch(RetractFinish::merges)
            ? new Partials(Arrays.stream(finish).map(f -> Call.of(f, 0)).toArray(Call[]::new)) : null;
    }

    private static final class Held {
        long weight;
        Long sequence;
        Object[] parts;
    }

    @Override public Object add(Object held, byte[] row) {
        Held sum = held == null ? new Held() : (Held) held;
        if (held == null) {
            sum.parts = Arrays.stream(calls).map(Call::part).toArray();
        }
        view.pointTo(row, row.length);
        long weight = view.getLong(0);
        sum.weight += weight;
        if (!view.isNullAt(1) && (sum.sequence == null || view.getLong(1) > sum.sequence)) {
            sum.sequence = view.getLong(1);
        }
        UnsafeRow arguments = view.getStruct(ARGUMENTS, calls.length);
        for (int i = 0; i < calls.length; i++) {
            calls[i].add(sum.parts[i], arguments, i, weight);
        }
        return sum;
    }

    @Override public void give(Object held, Consumer<byte[]> rows) {
        Held sum = (Held) held;
        byte[] parts = Head.written(out -> {
            for (int i = 0; i < calls.length; i++) {
                calls[i].give(sum.parts[i], out);
            }
        });
        rows.accept(Rows.bytes(projection.apply(Retract.row(sum.weight, sum.sequence, null, parts))));
    }

    @Override public boolean piles() { return true; }

    /** Bring what {@link #give} gave into the calls of a group, if a row is such. */
    static boolean taken(UnsafeRow row, Call[] calls) {
        if (!row.isNullAt(ARGUMENTS)) {
            return false;
        }
        UnsafeRow whole = Rows.view((byte[]) row.getBaseObject(), 0, row.getSizeInBytes(), FIELDS);
        Head.read(whole.getBinary(FIELDS - 1), 0, in -> take(in, calls));
        return true;
    }

    private static void take(DataInput in, Call[] calls) throws IOException {
        for (Call call : calls) {
            call.take(in);
        }
    }
}
