package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;

/** One accumulator of a group: what earlier batches brought and what this one brings. A NULL argument counts nothing. */
public abstract class RetractAcc {
    public abstract void add(InternalRow args, int i, long weight, long sequence);

    public abstract void merge(RetractAcc other);

    public abstract void fold();

    /** Whether nothing is kept, apart from what this batch brings. */
    public abstract boolean isEmpty();

    public abstract void write(DataOutput out) throws IOException;

    public abstract void read(DataInput in) throws IOException;

    /** An empty accumulator for {@code kind} (see {@link RetractAggregate}) over values of a type. */
    static RetractAcc create(String kind, DataType type) {
        RetractAcc acc = of(code(kind, type));
        if (acc instanceof Decimals d) {
            d.type = (DecimalType) type;
        }
        return acc;
    }

    static byte code(String kind, DataType type) {
        if (kind.equals("count")) {
            return 0;
        }
        if (kind.equals("sum")) {
            return (byte) (type instanceof LongType ? 1 : type instanceof DoubleType ? 2 : 3);
        }
        return (byte) (RetractFinish.ordered(kind) ? 5 : 4);
    }

    static RetractAcc of(byte code) {
        RetractAcc acc = switch (code) {
            case 0, 1 -> new Longs(code == 1);
            case 2 -> new Doubles();
            case 3 -> new Decimals();
            default -> new Values(code == 5);
        };
        acc.code = code;
        return acc;
    }

    byte code;

    /** COUNT, and SUM of whole numbers, which wraps around as Flink's does. */
    static final class Longs extends RetractAcc {
        private final boolean sum;
        private long base;
        private long pending;
        private long baseCount;
        private long pendingCount;

        Longs(boolean sum) { this.sum = sum; }

        @Override public void add(InternalRow args, int i, long weight, long sequence) {
            if (!args.isNullAt(i)) {
                pendingCount += weight;
                pending += sum ? weight * args.getLong(i) : 0;
            }
        }

        @Override public void merge(RetractAcc other) {
            Longs o = (Longs) other;
            base += o.base;
            pending += o.pending;
            baseCount += o.baseCount;
            pendingCount += o.pendingCount;
        }

        @Override public void fold() {
            base += pending;
            baseCount += pendingCount;
            pending = 0;
            pendingCount = 0;
        }

        @Override public void write(DataOutput out) throws IOException {
            for (long v : new long[] {base, pending, baseCount, pendingCount}) {
                Retract.writeLong(out, v);
            }
        }

        @Override public void read(DataInput in) throws IOException {
            base = Retract.readLong(in);
            pending = Retract.readLong(in);
            baseCount = Retract.readLong(in);
            pendingCount = Retract.readLong(in);
        }

        @Override public boolean isEmpty() { return baseCount == 0 && base == 0; }

        Object result(boolean old) {
            long count = old ? baseCount : baseCount + pendingCount;
            return !sum ? (Object) count : count == 0 ? null : old ? base : base + pending;
        }
    }

    /** SUM of floating point numbers. */
    static final class Doubles extends RetractAcc {
        private double base;
        private double pending;
        private long baseCount;
        private long pendingCount;

        @Override public void add(InternalRow args, int i, long weight, long sequence) {
            if (!args.isNullAt(i)) {
                pendingCount += weight;
                pending += weight * args.getDouble(i);
            }
        }

        @Override public void merge(RetractAcc other) {
            Doubles o = (Doubles) other;
            base += o.base;
            pending += o.pending;
            baseCount += o.baseCount;
            pendingCount += o.pendingCount;
        }

        @Override public void fold() {
            base += pending;
            baseCount += pendingCount;
            base = baseCount == 0 ? 0 : base; // nothing left: no rounding residue either
            pending = 0;
            pendingCount = 0;
        }

        @Override public void write(DataOutput out) throws IOException {
            out.writeDouble(base);
            out.writeDouble(pending);
            Retract.writeLong(out, baseCount);
            Retract.writeLong(out, pendingCount);
        }

        @Override public void read(DataInput in) throws IOException {
            base = in.readDouble();
            pending = in.readDouble();
            baseCount = Retract.readLong(in);
            pendingCount = Retract.readLong(in);
        }

        @Override public boolean isEmpty() { return baseCount == 0; }

        Object result(boolean old) {
            long count = old ? baseCount : baseCount + pendingCount;
            return count == 0 ? null : (Object) (old ? base : base + pending);
        }
    }

    /** SUM of DECIMAL(p, s), as DECIMAL(38, s); NULL beyond 38 digits. */
    static final class Decimals extends RetractAcc {
        DecimalType type; // of the argument; set by whoever adds
        private BigDecimal base = BigDecimal.ZERO;
        private BigDecimal pending = BigDecimal.ZERO;
        private long baseCount;
        private long pendingCount;

        @Override public void add(InternalRow args, int i, long weight, long sequence) {
            if (!args.isNullAt(i)) {
                pendingCount += weight;
                Decimal d = args.getDecimal(i, type.precision(), type.scale());
                pending = pending.add(d.toJavaBigDecimal().multiply(BigDecimal.valueOf(weight)));
            }
        }

        @Override public void merge(RetractAcc other) {
            Decimals o = (Decimals) other;
            base = base.add(o.base);
            pending = pending.add(o.pending);
            baseCount += o.baseCount;
            pendingCount += o.pendingCount;
        }

        @Override public void fold() {
            base = base.add(pending);
            baseCount += pendingCount;
            pending = BigDecimal.ZERO;
            pendingCount = 0;
        }

        @Override public void write(DataOutput out) throws IOException {
            for (BigDecimal d : new BigDecimal[] {base, pending}) {
                Retract.writeBytes(out, d.unscaledValue().toByteArray());
                Retract.writeLong(out, d.scale());
            }
            Retract.writeLong(out, baseCount);
            Retract.writeLong(out, pendingCount);
        }

        @Override public void read(DataInput in) throws IOException {
            base = new BigDecimal(new BigInteger(Retract.readBytes(in)), (int) Retract.readLong(in));
            pending = new BigDecimal(new BigInteger(Retract.readBytes(in)), (int) Retract.readLong(in));
            baseCount = Retract.readLong(in);
            pendingCount = Retract.readLong(in);
        }

        @Override public boolean isEmpty() { return baseCount == 0 && base.signum() == 0; }

        Object result(boolean old, int scale) {
            if ((old ? baseCount : baseCount + pendingCount) == 0) {
                return null;
            }
            BigDecimal sum = (old ? base : base.add(pending)).setScale(scale);
            return sum.precision() > 38 ? null : Decimal.apply(sum, 38, scale);
        }
    }

    /** A multiset of values, each wrapped in a struct; the finisher makes the result of it. */
    static final class Values extends RetractAcc {
        final RetractMultiset set;
        RetractFinish only; // where values only come: it says which one stays

        Values(boolean ordered) { set = new RetractMultiset(ordered); }

        @Override public void add(InternalRow args, int i, long weight, long sequence) {
            if (!args.isNullAt(i)) {
                // the number of fields does not matter for the bytes
                set.add(((UnsafeRow) args.getStruct(i, 1)).getBytes(), weight, sequence);
            }
        }

        @Override public boolean isEmpty() { return set.entries.isEmpty(); }

        @Override public void merge(RetractAcc other) { set.merge(((Values) other).set); }

        @Override public void fold() { set.fold(); }

        @Override public void write(DataOutput out) throws IOException {
            if (only != null) {
                only.keep(set);
            }
            set.write(out);
        }

        @Override public void read(DataInput in) throws IOException { set.read(in); }
    }
}
