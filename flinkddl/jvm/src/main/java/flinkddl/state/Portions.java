package flinkddl.state;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** What a turn changes, some results after the other: those of a large group need not lie all in memory. */
abstract class Portions implements Iterator<Object> {
    private static final int SIZE = 256;

    private List<Object> portion = new ArrayList<>();

    /** Do a little more; false when all is done. */
    abstract boolean step();

    final void add(Object change) { portion.add(change); }

    @Override public final boolean hasNext() {
        while (portion.size() < SIZE && step()) { }
        return !portion.isEmpty();
    }

    @Override public final Object next() {
        hasNext();
        Object out = new GenericArrayData(portion.toArray());
        portion = new ArrayList<>();
        return out;
    }
}
