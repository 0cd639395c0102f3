package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_aggregate(weight, sequence, STRUCT<`kind:0`: argument, ...>)}: the aggregates of a group before and
 * after this batch as {@code STRUCT<o, n, s>}; {@code o} or {@code n} is NULL where the group had no rows, {@code s} is
 * the sequence of the newest change, where all know theirs; NULL as a whole when nothing changed.
 *
 * <p>Kinds: count, sum over plain values (BIGINT, DOUBLE or DECIMAL); dcount, dsum, min, max, first, last, collect,
 * dcollect, array, darray, listagg, dlistagg over a value wrapped in a struct, where a NULL struct is no value (so
 * arrays can hold NULLs); listagg's struct is (text, separator). only_min, only_max, only_first and only_last keep one
 * value, as Flink does where no row is taken back.
 */
public final class RetractAggregate extends Retract<RetractAggregate.Group> {
    private final RetractFinish[] finish;
    private transient UnsafeProjection projection;

    RetractAggregate(StructType inputs) {
        super("retract_aggregate", inputs);
        finish = finishers(struct(2));
    }

    public static RetractFinish[] finishers(StructType calls) {
        RetractFinish[] finish = new RetractFinish[calls.length()];
        for (int i = 0; i < finish.length; i++) {
            finish[i] = new RetractFinish(calls.apply(i).name(), calls.apply(i).dataType());
        }
        return finish;
    }

    /** The result struct: one field a call, named as the call. */
    public static StructType results(StructType calls, RetractFinish[] finish) {
        Object[] fields = new Object[2 * finish.length];
        for (int i = 0; i < finish.length; i++) {
            fields[2 * i] = calls.apply(i).name();
            fields[2 * i + 1] = finish[i].type();
        }
        return type(fields);
    }

    /** Number of rows and accumulators of one group. */
    public static final class Group extends State {
        private final transient RetractFinish[] finish;
        long base;
        long pending;
        long sequence = Long.MIN_VALUE;
        RetractAcc[] accs = {};

        Group(RetractFinish[] finish) { this.finish = finish; }

        @Override void fold() {
            base += pending;
            pending = 0;
            for (RetractAcc acc : accs) {
                acc.fold();
            }
        }

        @Override void clear() {
            base = 0;
            sequence = Long.MIN_VALUE;
            accs = new RetractAcc[0];
        }

        @Override void write(DataOutput out) throws IOException {
            writeLong(out, base);
            writeLong(out, pending);
            writeLong(out, sequence);
            writeLong(out, accs.length);
            for (RetractAcc acc : accs) {
                out.writeByte(acc.code);
                acc.write(out);
            }
        }

        @Override void read(DataInput in) throws IOException {
            base = readLong(in);
            pending = readLong(in);
            sequence = readLong(in);
            accs = new RetractAcc[(int) readLong(in)];
            for (int i = 0; i < accs.length; i++) {
                in.readByte(); // its code, as the finisher knows it
                accs[i] = finish[i].create();
                accs[i].read(in);
            }
        }
    }

    @Override public DataType resultType() {
        StructType values = results(struct(2), finish);
        return type("o", values, "n", values, "s", DataTypes.LongType);
    }

    @Override Group create() { return new Group(finish); }

    @Override Group update(Group s, InternalRow in) {
        if (s.accs.length == 0) {
            s.accs = create(finish);
        }
        long weight = in.getLong(0);
        long sequence = came(in);
        InternalRow args = in.getStruct(2, finish.length);
        s.pending += weight;
        s.sequence = Math.max(s.sequence, sequence);
        for (int i = 0; i < finish.length; i++) {
            s.accs[i].add(args, i, weight, sequence);
        }
        return s;
    }

    static RetractAcc[] create(RetractFinish[] finish) {
        RetractAcc[] accs = new RetractAcc[finish.length];
        for (int i = 0; i < accs.length; i++) {
            accs[i] = finish[i].create();
        }
        return accs;
    }

    @Override Group merge(Group a, Group b) {
        if (a.accs.length == 0) {
            b.base += a.base;
            b.pending += a.pending;
            return b;
        }
        a.base += b.base;
        a.pending += b.pending;
        a.sequence = Math.max(a.sequence, b.sequence);
        for (int i = 0; i < b.accs.length; i++) {
            a.accs[i].merge(b.accs[i]);
        }
        return a;
    }

    @Override Object produceResult(Group s) {
        UnsafeRow old = s.base > 0 ? values(s, true).copy() : null;
        UnsafeRow now = s.base + s.pending > 0 ? values(s, false).copy() : null;
        boolean same = old == null || now == null ? old == now : old.equals(now);
        return same ? null : row(old, now, s.sequence >= RetractMultiset.NUMBERED ? null : s.sequence);
    }

    private UnsafeRow values(Group s, boolean old) {
        if (projection == null) {
            projection = UnsafeProjection.create(results(struct(2), finish));
        }
        Object[] values = new Object[finish.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = finish[i].result(s.accs[i], old);
        }
        return projection.apply(row(values));
    }
}
