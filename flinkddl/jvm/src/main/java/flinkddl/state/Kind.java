package flinkddl.state;

import flinkddl.Retract;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * What a node does with the rows of one group. One object serves all groups of a task, one after the other: what it
 * keeps of a group belongs into the {@link Store}, all else into transient fields.
 */
abstract class Kind implements Serializable {
    /** After how many ms without a change state is taken for empty, one a side of a join; 0 is never. */
    final long[] lives = {0, 0};

    /** Which clocks its time is of, a bit each ({@link Clocks}); 0 of a kind that waits for none. */
    long clocks;

    /** The windows of a row that is of several, {@link Slices} alone; else null. */
    Windows windows;

    /** The TTL of a whole group, 0 for ever: once its last change is that old, none of its rows is younger. */
    final long life() { return Math.min(lives[0], lives[1]) == 0 ? 0 : Math.max(lives[0], lives[1]); }

    /** How many of the store's maps it uses. */
    int maps() { return 1; }

    /** Which of a join's inputs a row is of: 0, or 1 for the right one. */
    int input(UnsafeRow row) { return 0; }

    /** How many inputs it has. */
    int inputs() { return 1; }

    /** How many ms of timers it has in one bucket: 1 where many groups fire at one time. */
    long bucket() { return 1; }

    /** Once a task, before any group. */
    void open() { }

    /** What brings rows of a group together before they are exchanged; null where each has to come by itself. */
    Combiner combiner() { return null; }

    /** What decides of two rows whether they match, for the kinds that {@link Kinds#conditional} names; before {@link #open}. */
    void when(Condition condition) { throw new UnsupportedOperationException(getClass().getSimpleName() + " takes no condition"); }

    /** The version of what {@link Store#keep} is given for a new group. */
    int layout() { return 1; }

    /** Whether it goes on with groups of that version, which they keep; state of others is refused (see {@link Store}). */
    boolean reads(int layout) { return layout == layout(); }

    /**
     * Rows of a group that came together (a micro-batch; in real-time mode one), in any order; each is good until the
     * next. Gives results of the type of the SQL function, which are read before the next group's turn.
     */
    abstract Iterator<Object> change(Store group, Iterator<UnsafeRow> rows);

    /**
     * What a group has given out and not taken back, or will give out as it is now, as one result; null of one without a
     * row. Its head is as {@link Store#plain} gives it, map 0 is only read, of the arguments there is what is the same for all
     * rows. For the kinds that a new operator above may begin with, and whose results a person can read ({@link Held}).
     */
    Object held(byte[] head, Pages pages, InternalRow arguments) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " does not tell its rows");
    }

    /** What a timer of the group gives. */
    Iterator<Object> fire(Store group, long time) { return Collections.emptyIterator(); }

    /** How many rows a result is: an update is two, what was and what is; of several each is one, with its weight. */
    int rows(Object result) { return result instanceof ArrayData several ? several.numElements() : there((InternalRow) result, 0); }

    /** How many are there of what was and what is, which lie side by side in a result. */
    static int there(InternalRow result, int at) { return (result.isNullAt(at) ? 0 : 1) + (result.isNullAt(at + 1) ? 0 : 1); }

    /** Rows of a batch in the order in which they came, whatever the shuffle made of it; then as told, then by their bytes. */
    static List<UnsafeRow> arrived(Iterator<UnsafeRow> rows, Comparator<UnsafeRow> then) {
        List<UnsafeRow> all = new ArrayList<>();
        rows.forEachRemaining(row -> all.add(row.copy()));
        all.sort(Comparator.<UnsafeRow>comparingLong(Retract::sequence).thenComparing(then)
            .thenComparing(UnsafeRow::getBytes, Arrays::compareUnsigned));
        return all;
    }

    /** What a group gives whose rows, one that was read and these, are all late: they are counted, and dropped. */
    static Iterator<Object> late(Store group, Iterator<UnsafeRow> others) {
        int dropped = 1;
        for (; others.hasNext(); dropped++) {
            others.next();
        }
        group.dropped(dropped);
        return nothing();
    }

    static Iterator<Object> nothing() { return Collections.emptyIterator(); }

    static Iterator<Object> one(Object result) { return Collections.singleton(result).iterator(); }
}
