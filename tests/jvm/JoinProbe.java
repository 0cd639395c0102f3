package flinkddl.state;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code ROWS} rows a side of one key come in one batch of an inner join: how many pairs go out. */
public final class JoinProbe {
    private static final byte[] KEY = new byte[18];
    private static final StructType ROW = OverProbe.struct("v", DataTypes.LongType);
    private static final StructType ARGUMENTS = OverProbe.struct("c0", DataTypes.LongType, "c1", DataTypes.BooleanType, "c2", ROW, "c3", ROW);

    private JoinProbe() { }

    public static void main(String[] given) {
        int rows = Integer.parseInt(given[0]);
        UnsafeProjection made = UnsafeProjection.create(ARGUMENTS);
        List<UnsafeRow> in = new ArrayList<>();
        for (long n = 0; n < rows; n++) {
            InternalRow row = flinkddl.Retract.row(n);
            in.add(made.apply(flinkddl.Retract.row(1L, true, row, null)).copy());
            in.add(made.apply(flinkddl.Retract.row(1L, true, null, row)).copy());
        }
        Join join = new Join("inner", ARGUMENTS);
        join.open();
        Store store = new Store(new TopProbe.State().handle(), true, new Figures(1).ofTask());
        ImplicitGroupingKeyTracker$.MODULE$.setImplicitKey(KEY);
        store.turn(join, 0, KEY, 0);
        long pairs = 0;
        for (Iterator<Object> out = join.change(store, in.iterator()); out.hasNext();) {
            pairs += ((ArrayData) out.next()).numElements();
        }
        System.out.println(pairs);
    }
}
