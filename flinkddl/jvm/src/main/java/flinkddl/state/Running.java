package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractAcc;
import flinkddl.RetractFinish;
import flinkddl.RetractOrder;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.StructType;

/**
 * One aggregate over a frame of OVER that moves on: rows enter at its end and leave at its beginning, or, without a lower
 * bound, only enter. It is small, or as large as its frame, so that it can be kept as of some places.
 */
abstract class Running {
    final RetractFinish finish;

    Running(RetractFinish finish) { this.finish = finish; }

    /**
     * The way that fits a call; {@code leave}: rows leave the frame; {@code fresh}: whether a DISTINCT value of the row that
     * enters has not been there. Null of ranks and LAG, which {@link Frame} knows.
     */
    static Running of(RetractFinish finish, boolean leave, Predicate<byte[]> fresh) {
        return switch (finish.kind) {
            case "row_number", "rank", "dense_rank", "lag" -> null;
            case "min", "max" -> new Extreme(finish, leave);
            case "first", "last" -> new Edge(finish, leave);
            case "dcount", "dsum" -> leave ? new Distinct(finish) : new Fresh(finish, fresh);
            case "collect", "dcollect" -> new Multiset(finish);
            default -> new Plain(finish);
        };
    }

    /** A row enters; {@code at} grows from row to row. */
    abstract void add(InternalRow args, int i, long at);

    abstract void remove(InternalRow args, int i);

    /** Rows have entered and left: what they make of it counts now. */
    void settle() { }

    abstract Object result();

    abstract void write(DataOutput out) throws IOException;

    abstract void read(DataInput in) throws IOException;

    /** Whether what has left leaves no trace, as rounding does. */
    boolean exact() { return true; }

    /** Whether all that later results hang on is in what it writes. */
    boolean whole() { return true; }

    /** The value of a call that has it in a struct, as bytes; null where it counts nothing. */
    static byte[] bytes(InternalRow args, int i) {
        return args.isNullAt(i) ? null : ((UnsafeRow) args.getStruct(i, 1)).getBytes(); // of any number of fields
    }

    Object value(byte[] bytes) {
        StructType type = (StructType) finish.argument;
        UnsafeRow row = bytes == null ? null : Retract.view(bytes, type.length());
        return row == null || row.isNullAt(0) ? null : row.get(0, type.apply(0).dataType());
    }

    /** COUNT, SUM, what comes out as a whole, and functions of the user: an accumulator as the aggregate functions have it. */
    private static final class Plain extends Running {
        private final boolean number;
        private final boolean folds; // a function of the user sees those that leave before those that enter
        private RetractAcc acc;

        Plain(RetractFinish finish) {
            super(finish);
            number = finish.kind.equals("count") || finish.kind.equals("sum");
            folds = finish.kind.startsWith("java_");
            acc = finish.create();
        }

        @Override void add(InternalRow args, int i, long at) { acc.add(args, i, 1, at); }

        @Override void remove(InternalRow args, int i) { acc.add(args, i, -1, 0); }

        @Override void settle() {
            if (folds) {
                acc.fold();
            }
        }

        @Override Object result() { return finish.result(acc, folds); }

        @Override void write(DataOutput out) throws IOException {
            if (!number) { // values that have left; a number is kept as it is, since folding rounds in another order
                acc.fold();
            }
            acc.write(out);
        }

        @Override void read(DataInput in) throws IOException { acc.read(in); }

        @Override boolean exact() { return !folds && !(finish.argument instanceof DoubleType); }
    }

    /** Values in an order, each with the number of its copies. */
    private abstract static class Counted extends Running {
        final TreeMap<byte[], Long> values;

        Counted(RetractFinish finish, Comparator<byte[]> order) {
            super(finish);
            values = new TreeMap<>(order);
        }

        @Override void add(InternalRow args, int i, long at) {
            byte[] value = bytes(args, i);
            if (value != null) {
                values.merge(value, 1L, Long::sum);
            }
        }

        @Override void remove(InternalRow args, int i) {
            byte[] value = bytes(args, i);
            if (value != null) {
                values.merge(value, -1L, (a, b) -> a + b == 0 ? null : a + b);
            }
        }

        @Override void write(DataOutput out) throws IOException {
            Retract.writeLong(out, values.size());
            for (Map.Entry<byte[], Long> e : values.entrySet()) {
                Retract.writeBytes(out, e.getKey());
                Retract.writeLong(out, e.getValue());
            }
        }

        @Override void read(DataInput in) throws IOException {
            for (long n = Retract.readLong(in); n > 0; n--) {
                values.put(Retract.readBytes(in), Retract.readLong(in));
            }
        }
    }

    /** MIN and MAX; where no row leaves, the value that counts is all that is kept. */
    private static final class Extreme extends Counted {
        private final boolean leave;
        private final boolean max;

        Extreme(RetractFinish finish, boolean leave) {
            super(finish, byValue((StructType) finish.argument));
            this.leave = leave;
            max = finish.kind.equals("max");
        }

        private static Comparator<byte[]> byValue(StructType type) {
            RetractOrder order = new RetractOrder(type);
            int fields = type.length();
            Comparator<byte[]> values = (a, b) -> order.compare(Retract.view(a, fields), Retract.view(b, fields));
            return values.thenComparing(Tree.BYTES);
        }

        private byte[] best() { return values.isEmpty() ? null : max ? values.lastKey() : values.firstKey(); }

        @Override void add(InternalRow args, int i, long at) {
            super.add(args, i, at);
            if (!leave && !values.isEmpty()) {
                byte[] best = best();
                values.clear();
                values.put(best, 1L);
            }
        }

        @Override Object result() { return value(best()); }
    }

    /** COUNT and SUM of DISTINCT values. */
    private static final class Distinct extends Counted {
        private final RetractFinish sum;

        Distinct(RetractFinish finish) {
            super(finish, Tree.BYTES);
            boolean sums = finish.kind.equals("dsum");
            sum = sums ? new RetractFinish("sum:0", ((StructType) finish.argument).apply(0).dataType()) : null;
        }

        @Override Object result() {
            if (sum == null) {
                return (long) values.size();
            }
            RetractAcc total = sum.create(); // in the order of the values, whatever the order in which they came
            values.keySet().forEach(value -> total.add(Retract.view(value, 1), 0, 1, 0));
            return sum.result(total, false);
        }
    }

    /** The same where no row leaves: what was there before is known elsewhere. */
    private static final class Fresh extends Running {
        private final Predicate<byte[]> fresh;
        private final RetractAcc total;
        private final RetractFinish sum;
        private long count;

        Fresh(RetractFinish finish, Predicate<byte[]> fresh) {
            super(finish);
            this.fresh = fresh;
            boolean sums = finish.kind.equals("dsum");
            sum = sums ? new RetractFinish("sum:0", ((StructType) finish.argument).apply(0).dataType()) : null;
            total = sums ? sum.create() : null;
        }

        @Override void add(InternalRow args, int i, long at) {
            byte[] value = bytes(args, i);
            if (value == null || !fresh.test(value)) {
                return;
            }
            count++;
            if (total != null) {
                total.add(Retract.view(value, 1), 0, 1, 0);
            }
        }

        @Override void remove(InternalRow args, int i) { throw new IllegalStateException("no row leaves this frame"); }

        /** As many values may be others. */
        @Override boolean whole() { return false; }

        @Override Object result() { return total == null ? (Object) count : sum.result(total, false); }

        @Override void write(DataOutput out) throws IOException {
            Retract.writeLong(out, count);
            if (total != null) {
                total.write(out);
            }
        }

        @Override void read(DataInput in) throws IOException {
            count = Retract.readLong(in);
            if (total != null) {
                total.read(in);
            }
        }
    }

    /** COLLECT, in the order of the values: a map that is given again has the same bytes. */
    private static final class Multiset extends Counted {
        Multiset(RetractFinish finish) { super(finish, Tree.BYTES); }

        @Override Object result() {
            boolean once = finish.kind.startsWith("d");
            Object[] keys = values.keySet().stream().map(this::value).toArray();
            Object[] counts = values.values().stream().map(n -> once ? 1 : n.intValue()).toArray();
            return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(counts));
        }
    }

    /** FIRST_VALUE and LAST_VALUE; where no row leaves, the value that counts is all that is kept. */
    private static final class Edge extends Running {
        private final boolean leave;
        private final boolean last;
        private final ArrayDeque<byte[]> values = new ArrayDeque<>();

        Edge(RetractFinish finish, boolean leave) {
            super(finish);
            this.leave = leave;
            last = finish.kind.equals("last");
        }

        @Override void add(InternalRow args, int i, long at) {
            byte[] value = bytes(args, i);
            if (value == null || !leave && !last && !values.isEmpty()) {
                return;
            }
            if (!leave) {
                values.clear();
            }
            values.add(value);
        }

        @Override void remove(InternalRow args, int i) {
            if (!args.isNullAt(i)) {
                values.poll();
            }
        }

        @Override Object result() { return value(last ? values.peekLast() : values.peekFirst()); }

        @Override void write(DataOutput out) throws IOException {
            Retract.writeLong(out, values.size());
            for (byte[] value : values) {
                Retract.writeBytes(out, value);
            }
        }

        @Override void read(DataInput in) throws IOException {
            for (long n = Retract.readLong(in); n > 0; n--) {
                values.add(Retract.readBytes(in));
            }
        }
    }
}
