package flinkddl;

import flinkddl.udf.Accumulating;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
    private Map<RetractMultiset.Key, Long> copies; // what is in it, of DISTINCT ones; null of others
    private List<Change> pending = new ArrayList<>();

    RetractJava(RetractFinish finish) {
        this.finish = finish;
        copies = finish.distinct() ? new LinkedHashMap<>() : null;
        code = 6;
    }

    @Override public void add(InternalRow args, int i, long weight, long sequence) {
        if (!args.isNullAt(i)) { // a FILTER leaves the row out
            UnsafeRow row = (UnsafeRow) args.getStruct(i, ((StructType) finish.argument).length());
            pending.add(new Change(weight, sequence, row.getBytes()));
        }
    }

    @Override public void merge(RetractAcc other) {
        RetractJava o = (RetractJava) other;
        pending.addAll(o.pending);
        if (accumulator == null) {
            accumulator = o.accumulator;
            copies = o.copies;
        } else if (o.accumulator != null && copies != null) {
            o.copies.forEach((key, n) -> change(finish.function(), accumulator, copies, new Change(n, 0, key.bytes)));
        } else if (o.accumulator != null) {
            finish.function().merge(accumulator, o.accumulator);
        }
    }

    @Override public void fold() {
        accumulator = with(accumulator, copies);
        pending = new ArrayList<>();
    }

    /** An accumulator, which is changed by what is pending; a row that is there twice comes twice. */
    private Object with(Object before, Map<RetractMultiset.Key, Long> held) {
        Accumulating function = finish.function();
        Object now = before == null && !pending.isEmpty() ? function.create() : before;
        pending.sort(ORDER);
        for (Change c : pending) {
            change(function, now, held, c);
        }
        return now;
    }

    private void change(Accumulating function, Object now, Map<RetractMultiset.Key, Long> held, Change c) {
        UnsafeRow row = Retract.view(c.row, ((StructType) finish.argument).length());
        long weight = held == null ? c.weight : counted(held, c);
        for (long n = Math.abs(weight); n > 0; n--) {
            if (weight > 0) {
                function.add(now, row);
            } else {
                function.retract(now, row);
            }
        }
    }

    /** Counts the copies of a DISTINCT row: 1 where it is new, -1 where it is gone, else 0. */
    private static long counted(Map<RetractMultiset.Key, Long> held, Change c) {
        RetractMultiset.Key key = new RetractMultiset.Key(c.row);
        long before = held.getOrDefault(key, 0L);
        long after = before + c.weight;
        if (after == 0) {
            held.remove(key);
        } else {
            held.put(key, after);
        }
        return Long.compare(after, 0) > 0 == before > 0 ? 0 : before > 0 ? -1 : 1;
    }

    Object result(boolean old) {
        Accumulating function = finish.function();
        Object now = accumulator;
        if (!old && !pending.isEmpty()) {
            Object copy = now == null ? null : function.read(function.write(now));
            now = with(copy, copies == null ? null : new LinkedHashMap<>(copies));
        }
        return function.result(now == null ? function.create() : now);
    }

    /** What is kept of it counts by the number of its group's rows alone, as in Flink. */
    @Override public boolean isEmpty() { return true; }

    @Override public void write(DataOutput out) throws IOException {
        Retract.writeBytes(out, accumulator == null ? null : finish.function().write(accumulator));
        if (copies != null) {
            Retract.writeLong(out, copies.size());
            for (Map.Entry<RetractMultiset.Key, Long> e : copies.entrySet()) {
                Retract.writeBytes(out, e.getKey().bytes);
                Retract.writeLong(out, e.getValue());
            }
        }
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
        for (long n = copies == null ? 0 : Retract.readLong(in); n > 0; n--) {
            copies.put(new RetractMultiset.Key(Retract.readBytes(in)), Retract.readLong(in));
        }
        for (long n = Retract.readLong(in); n > 0; n--) {
            pending.add(new Change(Retract.readLong(in), Retract.readLong(in), Retract.readBytes(in)));
        }
    }
}
