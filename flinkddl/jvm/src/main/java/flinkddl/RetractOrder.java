package flinkddl;

import java.io.Serializable;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.SQLOrderingUtil;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.ByteArray;

/**
 * Compares structs field by field. A field's name says how: it begins with {@code d} for descending and ends with
 * {@code l} for NULLs last; every other name is ascending, NULLs first.
 */
public final class RetractOrder implements Comparator<InternalRow>, Serializable {
    private final DataType[] types;
    private final boolean[] descending;
    private final boolean[] nullsLast;
    private final boolean[] longs; // held as a long, which need not be boxed to be compared

    public RetractOrder(StructType type) {
        int n = type.length();
        types = new DataType[n];
        descending = new boolean[n];
        nullsLast = new boolean[n];
        longs = new boolean[n];
        for (int i = 0; i < n; i++) {
            types[i] = type.apply(i).dataType();
            descending[i] = type.apply(i).name().startsWith("d");
            nullsLast[i] = type.apply(i).name().endsWith("l");
            longs[i] = types[i] instanceof LongType || types[i] instanceof TimestampType || types[i] instanceof TimestampNTZType;
        }
    }

    @Override public int compare(InternalRow a, InternalRow b) {
        for (int i = 0; i < types.length; i++) {
            boolean noA = a.isNullAt(i);
            boolean noB = b.isNullAt(i);
            int c;
            if (noA || noB) {
                c = noA == noB ? 0 : noA != nullsLast[i] ? -1 : 1;
            } else {
                c = values(a, b, i);
                c = descending[i] ? -c : c;
            }
            if (c != 0) {
                return c;
            }
        }
        return 0;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private int values(InternalRow a, InternalRow b, int i) {
        if (longs[i]) {
            return Long.compare(a.getLong(i), b.getLong(i));
        }
        DataType t = types[i];
        if (t instanceof BinaryType) {
            return ByteArray.compareBinary(a.getBinary(i), b.getBinary(i));
        }
        if (t instanceof BooleanType) {
            return Boolean.compare(a.getBoolean(i), b.getBoolean(i));
        }
        if (t instanceof DoubleType) { // 0.0 and -0.0 are alike, as in Flink: the earlier row is the first
            return SQLOrderingUtil.compareDoubles(a.getDouble(i), b.getDouble(i));
        }
        if (t instanceof FloatType) {
            return SQLOrderingUtil.compareFloats(a.getFloat(i), b.getFloat(i));
        }
        // a boxed number, UTF8String or Decimal is a Comparable, rows and arrays have Spark's order
        Object x = a.get(i, t);
        return x instanceof Comparable c ? c.compareTo(b.get(i, t)) : TypeUtils.getInterpretedOrdering(t).compare(x, b.get(i, t));
    }
}
