package flinkddl;

import flinkddl.udf.Accumulating;
import flinkddl.udf.JavaFunctions;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** What one accumulator's result is: its type, and its value from the accumulator before and after the batch. */
public final class RetractFinish implements Serializable {
    private static final Set<String> ORDERED = Set.of("first", "last", "listagg", "dlistagg", "array", "darray");

    private static final String JAVA = "java_";

    private static final String ONLY = "only_";

    public final String kind;
    /** Whether values only come, so that of MIN, MAX, FIRST_VALUE and LAST_VALUE the one that counts is all that is kept. */
    public final boolean only;
    public final DataType argument;
    private final RetractOrder order;
    private transient Accumulating function;

    /** {@code name} is {@code kind:number}, {@code only_kind:number} where no value is taken back. */
    public RetractFinish(String name, DataType argument) {
        this.only = name.startsWith(ONLY);
        this.kind = name.substring(only ? ONLY.length() : 0, name.indexOf(':'));
        this.argument = argument;
        this.order = kind.equals("min") || kind.equals("max") ? new RetractOrder((StructType) argument) : null;
    }

    static boolean ordered(String kind) { return ORDERED.contains(kind); }

    public RetractAcc create() {
        RetractAcc acc = isJava() ? new RetractJava(this) : RetractAcc.create(kind, argument);
        if (only) {
            ((RetractAcc.Values) acc).only = this;
        }
        return acc;
    }

    /** Whether what it makes of some rows can be brought into what it makes of others, whichever of them came first. */
    public boolean merges() { return !isJava() && !ordered(kind); }

    private boolean isJava() { return kind.startsWith(JAVA); }

    /** The spec of a user's Java function, which is its kind. */
    private String spec() { return new String(HexFormat.of().parseHex(kind.substring(JAVA.length())), StandardCharsets.UTF_8); }

    /** Whether of equal arguments the first alone counts. */
    boolean distinct() { return JavaFunctions.distinct(spec()); }

    /** That function, opened once a task. */
    Accumulating function() {
        function = function == null ? JavaFunctions.accumulating(spec(), this) : function;
        return function;
    }

    private DataType value() { return ((StructType) argument).apply(0).dataType(); }

    public DataType type() {
        if (isJava()) {
            return JavaFunctions.result(spec());
        }
        return switch (kind) {
            case "count", "dcount" -> DataTypes.LongType;
            case "sum" -> argument instanceof DecimalType d ? new DecimalType(38, d.scale()) : argument;
            case "dsum" -> value() instanceof DecimalType d ? new DecimalType(38, d.scale()) : value();
            case "min", "max", "first", "last" -> value();
            case "listagg", "dlistagg" -> DataTypes.StringType;
            case "collect", "dcollect" -> new MapType(value(), DataTypes.IntegerType, false);
            case "array", "darray" -> new ArrayType(value(), true);
            default -> throw new IllegalArgumentException("no aggregate " + kind);
        };
    }

    public Object result(RetractAcc acc, boolean old) {
        if (acc instanceof RetractAcc.Longs l) {
            return l.result(old);
        }
        if (acc instanceof RetractAcc.Doubles d) {
            return d.result(old);
        }
        if (acc instanceof RetractAcc.Decimals d) {
            return d.result(old, ((DecimalType) argument).scale());
        }
        if (acc instanceof RetractJava j) {
            return j.result(old);
        }
        RetractMultiset set = ((RetractAcc.Values) acc).set;
        return switch (kind) {
            case "dcount" -> set.distinct(old);
            case "dsum" -> distinctSum(set, old);
            case "min", "max", "first", "last" -> value(best(set, old));
            case "collect", "dcollect" -> multiset(set, old);
            case "listagg", "dlistagg" -> join(set, old);
            default -> array(set, old);
        };
    }

    private InternalRow view(byte[] bytes) { return Retract.view(bytes, ((StructType) argument).length()); }

    private Object value(byte[] bytes) {
        InternalRow row = bytes == null ? null : view(bytes);
        return row == null || row.isNullAt(0) ? null : row.get(0, value());
    }

    /** Forget all but the value that counted before the batch and the one that counts now. */
    void keep(RetractMultiset set) { set.keep(best(set, true), best(set, false), kind.equals("last")); }

    private byte[] best(RetractMultiset set, boolean old) {
        return ordered(kind) ? edge(set, old, kind.equals("last")) : extreme(set, old, kind.equals("min") ? -1 : 1);
    }

    private Object distinctSum(RetractMultiset set, boolean old) {
        String sum = "sum:0";
        RetractFinish finish = new RetractFinish(sum, value());
        RetractAcc acc = finish.create();
        set.entries.forEach((key, e) -> {
            if (e.weight(old) > 0) {
                acc.add(view(key.bytes), 0, 1, 0);
            }
        });
        return finish.result(acc, false);
    }

    private byte[] extreme(RetractMultiset set, boolean old, int sign) {
        byte[] best = null;
        for (Map.Entry<RetractMultiset.Key, RetractMultiset.Entry> e : set.entries.entrySet()) {
            if (e.getValue().weight(old) > 0) {
                byte[] row = e.getKey().bytes;
                best = best == null || sign * order.compare(view(row), view(best)) > 0 ? row : best;
            }
        }
        return best;
    }

    private byte[] edge(RetractMultiset set, boolean old, boolean last) {
        byte[] best = null;
        long at = 0;
        Function<RetractMultiset.Entry, long[]> sequences = set.sequences(old);
        for (Map.Entry<RetractMultiset.Key, RetractMultiset.Entry> e : set.entries.entrySet()) {
            long[] s = sequences.apply(e.getValue());
            if (s.length > 0) {
                long mine = last ? s[s.length - 1] : s[0];
                byte[] value = e.getKey().bytes;
                int c = best == null ? 0 : mine != at ? Long.compare(mine, at) : Arrays.compareUnsigned(value, best);
                if (best == null || (last ? c > 0 : c < 0)) {
                    best = value;
                    at = mine;
                }
            }
        }
        return best;
    }

    private Object multiset(RetractMultiset set, boolean old) {
        Map<Object, Object> counts = new LinkedHashMap<>();
        set.entries.forEach((key, e) -> {
            if (e.weight(old) > 0) {
                counts.put(value(key.bytes), kind.equals("collect") ? (int) e.weight(old) : 1);
            }
        });
        return new ArrayBasedMapData(
            new GenericArrayData(counts.keySet().toArray()), new GenericArrayData(counts.values().toArray()));
    }

    private record Item(long sequence, byte[] bytes) { }

    /** Live values in the order they came; a DISTINCT one where its first copy stands. */
    private List<Item> items(RetractMultiset set, boolean old) {
        List<Item> items = new ArrayList<>();
        Function<RetractMultiset.Entry, long[]> sequences = set.sequences(old);
        set.entries.forEach((key, e) -> {
            long[] s = sequences.apply(e);
            for (int i = 0; i < (kind.startsWith("d") ? Math.min(1, s.length) : s.length); i++) {
                items.add(new Item(s[i], key.bytes));
            }
        });
        items.sort(Comparator.comparingLong(Item::sequence).thenComparing(Item::bytes, Arrays::compare));
        return items;
    }

    private Object array(RetractMultiset set, boolean old) {
        List<Item> items = items(set, old);
        return items.isEmpty() ? null : new GenericArrayData(items.stream().map(i -> value(i.bytes())).toArray());
    }

    /** The argument is (text, separator). */
    private Object join(RetractMultiset set, boolean old) {
        List<Item> items = items(set, old);
        if (items.isEmpty()) {
            return null;
        }
        UTF8String separator = view(items.get(0).bytes()).getUTF8String(1);
        UTF8String[] parts = items.stream().map(i -> view(i.bytes()).getUTF8String(0)).toArray(UTF8String[]::new);
        return UTF8String.concatWs(separator, parts);
    }
}
