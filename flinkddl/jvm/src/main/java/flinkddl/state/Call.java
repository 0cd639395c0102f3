package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractAcc;
import flinkddl.RetractFinish;
import flinkddl.RetractOrder;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** One aggregate call of the group at hand: what it keeps, and its result of that. */
abstract class Call {
    final RetractFinish finish;

    Call(RetractFinish finish) { this.finish = finish; }

    /** The way that fits a call; it may use trees {@code tree} and {@code tree + 1}. */
    static Call of(RetractFinish finish, int tree) {
        return finish.only ? new Plain(finish) : switch (finish.kind) {
            case "dcount", "dsum", "min", "max" -> new Values(finish, tree);
            case "first", "last" -> new Edge(finish, tree);
            default -> new Plain(finish); // a number, or a list of which all comes out with each change
        };
    }

    /** Whether it keeps values in its trees. */
    boolean paged() { return false; }

    abstract void reset(Pages pages);

    abstract void read(DataInput in, Pages pages) throws IOException;

    abstract void write(DataOutput out) throws IOException;

    abstract void add(InternalRow args, int i, long weight, long sequence);

    /** Bring what was added into what is kept of the group. */
    abstract void fold(Store group);

    abstract boolean isEmpty();

    abstract Object result();

    /** What this call makes of rows that are brought together before they come here; see {@link Partials}. */
    abstract Object part();

    abstract void add(Object part, InternalRow args, int i, long weight);

    abstract void give(Object part, DataOutput out) throws IOException;

    /** Bring a part in, as if its rows had been added. */
    abstract void take(DataInput in) throws IOException;

    Object value(byte[] bytes) {
        StructType type = (StructType) finish.argument;
        UnsafeRow row = Retract.view(bytes, type.length());
        return row.isNullAt(0) ? null : row.get(0, type.apply(0).dataType());
    }

    /** An accumulator as the aggregate functions have it. */
    private static final class Plain extends Call {
        private RetractAcc acc;

        Plain(RetractFinish finish) { super(finish); }

        @Override void reset(Pages pages) { acc = finish.create(); }

        @Override void read(DataInput in, Pages pages) throws IOException {
            acc = finish.create();
            acc.read(in);
        }

        @Override void write(DataOutput out) throws IOException { acc.write(out); }

        @Override void add(InternalRow args, int i, long weight, long sequence) { acc.add(args, i, weight, sequence); }

        @Override void fold(Store group) { acc.fold(); }

        @Override boolean isEmpty() { return acc.isEmpty(); }

        @Override Object result() { return finish.result(acc, true); }

        @Override Object part() { return finish.create(); }

        @Override void add(Object part, InternalRow args, int i, long weight) { ((RetractAcc) part).add(args, i, weight, 0); }

        @Override void give(Object part, DataOutput out) throws IOException { ((RetractAcc) part).write(out); }

        @Override void take(DataInput in) throws IOException {
            RetractAcc part = finish.create();
            part.read(in);
            acc.merge(part);
        }
    }

    /** A call over values, each with the number of its copies: a tree of them, and what this turn changes. */
    private abstract static class OfValues extends Call {
        final Tree tree;
        private final boolean ordered; // whether it counts when a copy came
        private final Map<byte[], Copies> changes; // in order: a batch that runs again leaves the same pages

        OfValues(RetractFinish finish, int tree, Comparator<byte[]> order, boolean ordered) {
            super(finish);
            this.ordered = ordered;
            this.tree = new Tree(tree, order);
            changes = new TreeMap<>(order);
        }

        @Override boolean paged() { return true; }

        @Override void reset(Pages pages) { tree.reset(pages); }

        @Override void read(DataInput in, Pages pages) throws IOException { tree.read(in, pages); }

        @Override void write(DataOutput out) throws IOException { tree.write(out); }

        @Override void add(InternalRow args, int i, long weight, long sequence) {
            if (args.isNullAt(i)) {
                return;
            }
            byte[] value = ((UnsafeRow) args.getStruct(i, 1)).getBytes(); // of any number of fields
            Copies change = changes.computeIfAbsent(value, k -> new Copies());
            if (ordered) {
                change.add(weight, sequence);
            } else {
                change.weight += weight;
            }
        }

        @Override void fold(Store group) {
            if (ordered) {
                Copies.number(changes.values(), group);
            }
            changes.forEach(this::fold);
            changes.clear();
        }

        abstract void fold(byte[] value, Copies change);

        @Override boolean isEmpty() { return tree.isEmpty(); }

        @Override Object part() { return new Table<long[]>(4); } // small: each group has one

        @SuppressWarnings("unchecked")
        private static Table<long[]> weights(Object part) { return (Table<long[]>) part; }

        @Override void add(Object part, InternalRow args, int i, long weight) {
            if (args.isNullAt(i)) {
                return;
            }
            UnsafeRow value = (UnsafeRow) args.getStruct(i, 1);
            long hash = Rows.hash(0, value);
            Table<long[]> weights = weights(part);
            int at = weights.place(hash, value, 0);
            if (weights.key(at) == null) {
                weights.put(at, hash, Rows.bytes(value));
                weights.set(at, new long[1]);
            }
            weights.value(at)[0] += weight;
        }

        @Override void give(Object part, DataOutput out) throws IOException {
            Table<long[]> weights = weights(part);
            Retract.writeLong(out, weights.size());
            for (int at = 0; at < weights.places(); at++) {
                if (weights.key(at) != null) {
                    Retract.writeBytes(out, weights.key(at));
                    Retract.writeLong(out, weights.value(at)[0]);
                }
            }
        }

        @Override void take(DataInput in) throws IOException {
            for (long n = Retract.readLong(in); n > 0; n--) {
                Copies change = changes.computeIfAbsent(Retract.readBytes(in), k -> new Copies());
                change.weight += Retract.readLong(in);
            }
        }
    }

    /** COUNT and SUM of DISTINCT values, MIN and MAX: what is there, how often. */
    private static final class Values extends OfValues {
        private final RetractFinish sum;
        private final boolean extreme;
        private RetractAcc total;
        private long distinct;

        Values(RetractFinish finish, int tree) {
            super(finish, tree, finish.kind.startsWith("d") ? Tree.BYTES : byValue((StructType) finish.argument), false);
            extreme = !finish.kind.startsWith("d");
            boolean sums = finish.kind.equals("dsum");
            sum = sums ? new RetractFinish("sum:0", ((StructType) finish.argument).apply(0).dataType()) : null;
        }

        private static Comparator<byte[]> byValue(StructType type) {
            RetractOrder order = new RetractOrder(type);
            int fields = type.length();
            Comparator<byte[]> values = (a, b) -> order.compare(Retract.view(a, fields), Retract.view(b, fields));
            return values.thenComparing(Tree.BYTES);
        }

        @Override void reset(Pages pages) {
            super.reset(pages);
            distinct = 0;
            total = sum == null ? null : sum.create();
        }

        @Override void read(DataInput in, Pages pages) throws IOException {
            reset(pages);
            super.read(in, pages);
            distinct = Retract.readLong(in);
            if (sum != null) {
                total.read(in);
            }
        }

        @Override void write(DataOutput out) throws IOException {
            super.write(out);
            Retract.writeLong(out, distinct);
            if (sum != null) {
                total.write(out);
            }
        }

        @Override void fold(byte[] value, Copies change) {
            if (change.weight == 0) {
                return;
            }
            long old = Copies.weight(tree.get(value));
            long now = old + change.weight;
            tree.put(value, now == 0 ? null : Copies.of(now));
            int more = (now > 0 ? 1 : 0) - (old > 0 ? 1 : 0);
            distinct += more;
            if (sum != null && more != 0) {
                total.add(Retract.view(value, 1), 0, more, 0);
                total.fold();
            }
        }

        @Override Object result() {
            if (!extreme) {
                return sum == null ? (Object) distinct : sum.result(total, true);
            }
            Iterator<Map.Entry<byte[], byte[]>> all = tree.scan(finish.kind.equals("max"));
            while (all.hasNext()) {
                Map.Entry<byte[], byte[]> e = all.next();
                if (Copies.weight(e.getValue()) > 0) { // less: a change came before the one that it takes back
                    return value(e.getKey());
                }
            }
            return null;
        }
    }

    /** FIRST_VALUE and LAST_VALUE: when each copy of a value came, and the values by their first or last copy. */
    private static final class Edge extends OfValues {
        private final Tree places;
        private final boolean last;

        Edge(RetractFinish finish, int tree) {
            super(finish, tree, Tree.BYTES, true);
            places = new Tree(tree + 1, Tree.BYTES);
            last = finish.kind.equals("last");
        }

        @Override void reset(Pages pages) {
            super.reset(pages);
            places.reset(pages);
        }

        @Override void read(DataInput in, Pages pages) throws IOException {
            super.read(in, pages);
            places.read(in, pages);
        }

        @Override void write(DataOutput out) throws IOException {
            super.write(out);
            places.write(out);
        }

        @Override void fold(byte[] value, Copies change) {
            Copies before = Copies.read(tree.get(value));
            Copies after = before.and(change);
            tree.put(value, after.weight == 0 ? null : after.bytes());
            move(value, before.sequences, after.sequences);
        }

        private void move(byte[] value, long[] before, long[] after) {
            if (before.length > 0) {
                places.put(place(value, before), null);
            }
            if (after.length > 0) {
                places.put(place(value, after), new byte[0]);
            }
        }

        private byte[] place(byte[] value, long[] sequences) {
            long at = sequences[last ? sequences.length - 1 : 0];
            return ByteBuffer.allocate(Long.BYTES + value.length).putLong(at ^ Long.MIN_VALUE).put(value).array();
        }

        @Override Object result() {
            Iterator<Map.Entry<byte[], byte[]>> edge = places.scan(last);
            if (!edge.hasNext()) {
                return null;
            }
            byte[] place = edge.next().getKey();
            return value(Arrays.copyOfRange(place, Long.BYTES, place.length));
        }
    }
}
