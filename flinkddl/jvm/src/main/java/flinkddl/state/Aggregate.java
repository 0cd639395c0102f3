package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractAggregate;
import flinkddl.RetractFinish;
import flinkddl.RetractMultiset;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * The aggregates of a group ({@code retract_aggregate}): the head holds the number of rows, the newest sequence and what
 * each {@link Call} keeps; values of which one may have to come forward lie in a {@link Tree}, whose pages are in map 0.
 */
class Aggregate extends Kind {
    private final StructType calls;
    private final RetractFinish[] finish;
    private final int fields;
    private final boolean paged;
    private transient UnsafeProjection projection;
    private transient Call[] state;

    /** {@code arguments}: weight BIGINT, sequence BIGINT, NULL of a row that is later than those of earlier turns, a struct with an argument a call. */
    Aggregate(StructType arguments) {
        calls = (StructType) arguments.apply(2).dataType();
        fields = arguments.length();
        finish = RetractAggregate.finishers(calls);
        paged = Arrays.stream(finish).anyMatch(f -> Call.of(f, 0).paged());
    }

    @Override int maps() { return paged ? 1 : 0; }

    @Override void open() {
        projection = UnsafeProjection.create(RetractAggregate.results(calls, finish));
        state = new Call[finish.length];
        for (int i = 0; i < state.length; i++) {
            state[i] = Call.of(finish[i], 2 * i);
        }
    }

    @Override Combiner combiner() { return Partials.of(finish, fields); }

    @Override Iterator<Object> change(Store group, Iterator<UnsafeRow> rows) {
        long[] rest = {0, Long.MIN_VALUE};
        read(group, rest);
        UnsafeRow before = rest[0] > 0 ? results() : null;
        boolean empty = add(group, rows, rest);
        UnsafeRow after = rest[0] > 0 ? results() : null;
        keep(group, rest, empty);
        boolean same = before == null || after == null ? before == after : before.equals(after);
        return same ? nothing() : one(Retract.row(before, after, newest(rest)));
    }

    /** Bring in rows; returns whether nothing is left. {@code rest}: the number of rows, the newest sequence. */
    final boolean add(Store group, Iterator<UnsafeRow> rows, long[] rest) {
        while (rows.hasNext()) {
            UnsafeRow row = rows.next();
            long weight = row.getLong(0);
            long sequence = Retract.sequence(row);
            rest[0] += weight;
            rest[1] = Math.max(rest[1], sequence);
            if (Partials.taken(row, state)) {
                continue;
            }
            InternalRow args = row.getStruct(2, state.length);
            for (int i = 0; i < state.length; i++) {
                state[i].add(args, i, weight, sequence);
            }
        }
        boolean empty = rest[0] == 0;
        for (Call call : state) {
            call.fold(group);
            empty &= call.isEmpty();
        }
        return empty;
    }

    @Override Object held(byte[] head, Pages pages, InternalRow arguments) {
        long[] rest = {0, Long.MIN_VALUE};
        read(head, Store.BODY, pages, rest);
        return rest[0] > 0 ? Retract.row(null, results(), newest(rest)) : null;
    }

    /** The newest sequence, where all rows know theirs. */
    static Long newest(long[] rest) {
        return rest[1] == Long.MIN_VALUE || rest[1] == RetractMultiset.UNKNOWN ? null : (Long) rest[1];
    }

    /** Begin with what {@link #body} gave of rows, null of none; returns their number and newest sequence. */
    final long[] begin(byte[] body, Pages pages) {
        long[] rest = {0, Long.MIN_VALUE};
        read(body, 0, pages, rest);
        return rest;
    }

    /** Bring in what {@link #body} gave of other rows, of calls that need no trees: these are read as they are merged. */
    final void merge(byte[] body, long[] rest) {
        Head.read(body, 0, in -> {
            rest[0] += Retract.readLong(in);
            rest[1] = Math.max(rest[1], Retract.readLong(in));
            for (Call call : state) {
                call.take(in);
            }
        });
    }

    /** The results of what was merged. */
    final UnsafeRow merged() {
        for (Call call : state) {
            call.fold(null);
        }
        return results();
    }

    /** Rows, as {@link #begin} reads them. */
    final byte[] body(long[] rest) { return Head.written(out -> write(out, rest)); }

    private void write(DataOutput out, long[] rest) throws IOException {
        Retract.writeLong(out, rest[0]);
        Retract.writeLong(out, rest[1]);
        for (Call call : state) {
            call.write(out);
        }
    }

    private void read(DataInput in, Pages pages, long[] rest) throws IOException {
        rest[0] = Retract.readLong(in);
        rest[1] = Retract.readLong(in);
        for (Call call : state) {
            call.read(in, pages);
        }
    }

    /** Read what is kept of the group; returns whether it is there. */
    final boolean read(Store group, long[] rest) {
        return read(group.head(), Store.BODY, group.map(0), rest);
    }

    private boolean read(byte[] bytes, int from, Pages pages, long[] rest) {
        if (bytes == null) {
            for (Call call : state) {
                call.reset(pages);
            }
            return false;
        }
        Head.read(bytes, from, in -> read(in, pages, rest));
        return true;
    }

    final void keep(Store group, long[] rest, boolean empty) {
        byte[] head = Head.written(out -> {
            out.writeLong(0); // the store's own word
            write(out, rest);
        });
        group.keep(empty ? null : head);
    }

    final UnsafeRow results() {
        Object[] values = new Object[state.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = state[i].result();
        }
        return projection.apply(Retract.row(values)).copy();
    }
}
