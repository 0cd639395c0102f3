package flinkddl;

import flinkddl.udf.Accumulating;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * An accumulator of a user's Java function. What earlier batches brought is in it; what this one brings waits as rows,
 * since it has to come in the order of its sequence, and is brought in by {@link #fold}.
 */
final class RetractJava extends RetractAcc {
    private record Change(long weight, long sequence, byte[] row) { }

    /** As they came, where a sequence says so; of one sequence no row is taken back before it was there. */
    private static final Comparator<Change> ORDER =
        Comparator.comparingLong(Change::sequence).thenComparing(c -> c.weight < 0);

    private final RetractFinish finish;
    private Object accumulator; // null before the first row
    private List<Change> pending = new ArrayList<>();

    RetractJava(RetractFinish finish) {
        this.finish = finish;
        code = 6;
    }

    @Override public void add(InternalRow args, int i, long weight, long sequence) {
        if (!args.isNullAt(i)) { // a FILTER leaves the row out
            UnsafeRow row = (UnsafeRow) args.getStruct(i, ((StructType) finish.argument).length());
            pending.add(new Change(weight, sequence, row.getBytes()));
        }
    }

    @Override void merge(RetractAcc other) {
        RetractJava o = (RetractJava) other;
        pending.addAll(o.pending);
        if (accumulator == null) {
            accumulator = o.accumulator;
        } else if (o.accumulator != null) {
            finish.function().merge(accumulator, o.accumulator);
        }
    }

    @Override public void fold() {
        accumulator = with(accumulator);
        pending = new ArrayList<>();
    }

    /** An accumulator, which is changed by what is pending; a row that is there twice comes twice. */
    private Object with(Object before) {
        Accumulating function = finish.function();
        Object now = before == null && !pending.isEmpty() ? function.create() : before;
        pending.sort(ORDER);
        for (Change c : pending) {
            UnsafeRow row = Retract.view(c.row, ((StructType) finish.argument).length());
            for (long n = Math.abs(c.weight); n > 0; n--) {
                if (c.weight > 0) {
                    function.add(now, row);
                } else {
                    function.retract(now, row);
                }
            }
        }
        return now;
    }

    Object result(boolean old) {
        Accumulating function = finish.function();
        Object now = accumulator;
        if (!old && !pending.isEmpty()) {
            now = with(now == null ? null : function.read(function.write(now)));
        }
        return function.result(now == null ? function.create() : now);
    }

    /** What is kept of it counts by the number of its group's rows alone, as in Flink. */
    @Override public boolean isEmpty() { return true; }

    @Override public void write(DataOutput out) throws IOException {
        Retract.writeBytes(out, accumulator == null ? null : finish.function().write(accumulator));
        Retract.writeLong(out, pending.size());
        for (Change c : pending) {
            Retract.writeLong(out, c.weight);
            Retract.writeLong(out, c.sequence);
            Retract.writeBytes(out, c.row);
        }
    }

    @Override public void read(DataInput in) throws IOException {
        byte[] kept = Retract.readBytes(in);
        accumulator = kept == null ? null : finish.function().read(kept);
        for (long n = Retract.readLong(in); n > 0; n--) {
            pending.add(new Change(Retract.readLong(in), Retract.readLong(in), Retract.readBytes(in)));
        }
    }
}
