package flinkddl.state;

import flinkddl.Retract;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The frame of OVER as of one place: what its calls have run up to, as the places come in their order. */
final class Frame {
    private final Over over;
    private final Places places;
    private final boolean before; // of the places as they were before this turn
    private final Running[] calls;
    private final boolean exact;
    private final boolean whole;
    long position; // rows up to here
    private long start; // rows before the peers of the last place
    private long dense; // which peers those are
    byte[] last; // the last place
    private boolean again; // it is another row of the last place that enters
    private byte[] low; // the place of the first row in the frame; null where none leaves, or none has come
    private long gone; // how many rows of that place have left
    private long size; // rows in the frame
    private Iterator<Places.Place> lows;
    private long copies; // of the place {@code low}

    Frame(Over over, Places places, boolean before) {
        this.over = over;
        this.places = places;
        this.before = before;
        calls = new Running[over.finish.length];
        for (int i = 0; i < calls.length; i++) {
            int call = i;
            calls[i] = Running.of(over.finish[i], over.preceding >= 0, value -> !again && over.first(call, value, last, before));
        }
        exact = Arrays.stream(calls).allMatch(call -> call == null || call.exact());
        whole = Arrays.stream(calls).allMatch(call -> call == null || call.whole());
    }

    /** The frame as of the same place, of the places before or after this turn. */
    Frame of(boolean before) {
        Frame copy = new Frame(over, places, before);
        Head.read(bytes(), 0, copy::read);
        return copy;
    }

    byte[] bytes() { return Head.written(this::write); }

    private void write(DataOutput out) throws IOException {
        for (long number : new long[] {position, start, dense, gone, size}) {
            Retract.writeLong(out, number);
        }
        Retract.writeBytes(out, last);
        Retract.writeBytes(out, low);
        writeCalls(out);
    }

    void read(DataInput in) throws IOException {
        position = Retract.readLong(in);
        start = Retract.readLong(in);
        dense = Retract.readLong(in);
        gone = Retract.readLong(in);
        size = Retract.readLong(in);
        last = Retract.readBytes(in);
        low = Retract.readBytes(in);
        for (Running call : calls) {
            if (call != null) {
                call.read(in);
            }
        }
    }

    private void writeCalls(DataOutput out) throws IOException {
        for (Running call : calls) {
            if (call != null) {
                call.write(out);
            }
        }
    }

    /** Go on to the next places: by rows to one, by range to all peers of one; {@code out} takes each row's place and values. */
    void step(List<Places.Place> next, BiConsumer<byte[], Object[]> out) {
        long first = position;
        Places.Place end = null;
        for (Places.Place place : next) {
            for (long copy = 0; copy < place.copies(before); copy++) {
                enter(place.key());
                if (over.byRows) {
                    leave(place.key());
                    if (out != null) {
                        out.accept(place.key(), ranked(values(place, copy), position));
                    }
                }
            }
            end = place.copies(before) > 0 ? place : end;
        }
        if (over.byRows || end == null) {
            return;
        }
        leave(end.key());
        if (out != null) {
            Object[] values = values(end, end.copies(before) - 1);
            for (Places.Place place : next) {
                for (long copy = 0; copy < place.copies(before); copy++) {
                    out.accept(place.key(), ranked(values.clone(), ++first));
                }
            }
        }
    }

    private void enter(byte[] key) {
        if (over.ranks && (last == null || !over.peers(last, key))) {
            start = position;
            dense++;
        }
        again = last == key;
        last = key;
        InternalRow args = over.args(key);
        for (int i = 0; i < calls.length; i++) {
            if (calls[i] != null) {
                calls[i].add(args, i, position);
            }
        }
        position++;
        if (over.preceding >= 0 && size++ == 0) {
            low = key;
        }
    }

    private void leave(byte[] current) {
        while (over.preceding >= 0 && (over.byRows ? size > over.preceding + 1 : over.behind(low, current))) {
            if (lows == null) {
                lows = places.from(low, false);
                copies = lows.next().copies(before);
            }
            InternalRow args = over.args(low);
            for (int i = 0; i < calls.length; i++) {
                if (calls[i] != null) {
                    calls[i].remove(args, i);
                }
            }
            size--;
            if (++gone == copies) {
                advance();
            }
        }
        for (Running call : calls) {
            if (call != null) {
                call.settle();
            }
        }
    }

    private void advance() {
        gone = 0;
        do {
            Places.Place next = lows.next();
            low = next.key();
            copies = next.copies(before);
        } while (copies == 0);
    }

    /** What all peers have in common by range, else what the row has that has just entered; ranks come with each row. */
    private Object[] values(Places.Place place, long copy) {
        Object[] values = new Object[calls.length];
        for (int i = 0; i < calls.length; i++) {
            values[i] = calls[i] != null ? calls[i].result() : over.finish[i].kind.equals("lag") ? lag(place, copy, i) : null;
        }
        return values;
    }

    private Object[] ranked(Object[] values, long number) {
        for (int i = 0; over.ranks && i < calls.length; i++) {
            switch (over.finish[i].kind) {
                case "row_number" -> values[i] = number;
                // peers within one firing of the watermark get the rank of the last of them
                case "rank" -> values[i] = over.byRows ? start + 1 : position;
                case "dense_rank" -> values[i] = dense;
                default -> { }
            }
        }
        return values;
    }

    private Object lag(Places.Place place, long copy, int call) {
        StructType type = (StructType) over.calls.apply(call).dataType();
        InternalRow own = over.args(place.key()).getStruct(call, type.length());
        byte[] key = behind(place, copy, own.getInt(1));
        InternalRow there = key == null ? null : over.args(key).getStruct(call, type.length());
        return there != null && !there.isNullAt(0) ? there.get(0, type.apply(0).dataType())
            : own.isNullAt(2) ? null : own.get(2, type.apply(2).dataType());
    }

    /** The place of the row so many rows before a copy at a place; null where there are not so many. */
    private byte[] behind(Places.Place place, long copy, long rows) {
        if (rows <= copy) {
            return place.key();
        }
        Iterator<Places.Place> back = places.from(place.key(), true);
        back.next();
        for (long left = rows - copy; back.hasNext();) {
            Places.Place next = back.next();
            left -= next.copies(before);
            if (left <= 0) {
                return next.key();
            }
        }
        return null;
    }

    /**
     * Whether all places from here on have the same values in both frames; {@code change} is the last place that changed.
     * Without {@code look} what costs as much as the frame is not looked at. Where rows leave, equal totals do not say
     * that equal rows are left to leave: both frames must have passed the change.
     */
    boolean same(Frame other, byte[] change, boolean look) {
        if (over.ranks && (position != other.position || start != other.start || dense != other.dense)) {
            return false;
        }
        boolean passed = over.preceding < 0 ? whole : over.compare(low, change) > 0 && over.compare(other.low, change) > 0;
        return passed && (exact && over.preceding >= 0 || look && Arrays.equals(low, other.low) && gone == other.gone
            && size == other.size && Arrays.equals(Head.written(this::writeCalls), Head.written(other::writeCalls)));
    }

    /** The first place that a later row may still ask for; null for none. */
    byte[] reach() { return low; }
}
