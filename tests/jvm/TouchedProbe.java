package flinkddl.state;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What a batch of ten changes touches in a group that holds many rows: {@code KIND,.. ROWS,..}, of {@code max},
 * {@code min}, {@code dcount} and {@code top}. Each change takes back the row that is first, so that the next one comes forward;
 * every other one brings a row anywhere. Says of each kind and size
 * how many pages were read and written, and how many there are.
 */
public final class TouchedProbe {
    private static final int CHANGES = 10;
    private static final StructType VALUE = OverProbe.struct("v", DataTypes.IntegerType);
    private static final StructType ROW = OverProbe.struct("o", OverProbe.struct("a0f", DataTypes.IntegerType), "r", OverProbe.struct("c0", DataTypes.IntegerType));

    private TouchedProbe() { }

    /** How a kind is asked: the types of its arguments, and the arguments of a row that comes (1) or goes (-1). */
    private record Asked(String kind, StructType arguments, boolean last, Arguments made) { }

    private interface Arguments {
        InternalRow of(long weight, int value);
    }

    private static Asked asked(String name) {
        if (name.equals("top")) {
            StructType types = OverProbe.struct("c0", DataTypes.LongType, "c1", DataTypes.LongType, "c2", DataTypes.LongType,
                "c3", DataTypes.LongType, "c4", DataTypes.BooleanType, "c5", DataTypes.BooleanType, "c6", ROW);
            return new Asked("top", types, false, (weight, v) -> row(weight, (long) v, 1L, 10L, false, false, row(row(v), row(v))));
        }
        StructType types = OverProbe.struct("c0", DataTypes.LongType, "c1", DataTypes.LongType, "c2", OverProbe.struct(name + ":0", VALUE));
        return new Asked("aggregate", types, name.equals("max"), (weight, v) -> row(weight, (long) v, row(row(v))));
    }

    private static InternalRow row(Object... values) { return InternalRow.fromSeq(OverProbe.seq(values)); }

    private static int turn(Asked asked, OverProbe.Heap heap, List<UnsafeRow> rows) throws Exception {
        Kind kind = OverProbe.stage(asked.kind, asked.arguments).made();
        kind.open();
        Store store = new Store(heap.handle(), true, new Figures(1).ofTask());
        store.turn(kind, 0, new byte[18], 0);
        int results = 0;
        for (Iterator<Object> out = kind.change(store, rows.iterator()); out.hasNext(); out.next()) {
            results++;
        }
        rows.clear();
        return results;
    }

    private static String touched(Asked asked, int size) throws Exception {
        OverProbe.Heap heap = new OverProbe.Heap();
        UnsafeProjection made = UnsafeProjection.create(asked.arguments);
        PriorityQueue<Integer> live = new PriorityQueue<>(asked.last ? Comparator.<Integer>reverseOrder() : Comparator.<Integer>naturalOrder());
        List<UnsafeRow> batch = new ArrayList<>();
        for (int i = 0; i < size + CHANGES; i++) {
            int value = (int) (i * 2_654_435_761L % 1_000_003); // all different
            if (i >= size) {
                batch.add(made.apply(asked.made.of(-1, live.remove())).copy());
            }
            if (i < size || i % 2 == 0) {
                live.add(value);
                batch.add(made.apply(asked.made.of(1, value)).copy());
            }
            if (i + 1 == size) {
                turn(asked, heap, batch);
                heap.touched = 0;
            }
        }
        if (turn(asked, heap, batch) != 1) {
            throw new IllegalStateException("nothing has changed");
        }
        return heap.touched + " " + heap.map.size();
    }

    public static void main(String[] args) throws Exception {
        for (String kind : args[0].split(",")) {
            for (String size : args[1].split(",")) {
                System.out.println(kind + " " + touched(asked(kind), Integer.parseInt(size)));
            }
        }
    }
}
