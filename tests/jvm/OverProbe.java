package flinkddl.state;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * OVER by key beside the aggregate {@code retract_over}, without Spark's engine: {@code random SEED CASES} feeds both the
 * same rows in batches and compares their tables after each; {@code touched ROWS} counts the pages that a batch touches.
 */
public final class OverProbe {
    private static final StructType VALUE = struct("v", DataTypes.IntegerType);
    private static final StructType LAG = struct("v", DataTypes.IntegerType, "n", DataTypes.IntegerType, "d", DataTypes.IntegerType);
    private static final StructType TEXT = struct("v", DataTypes.StringType, "s", DataTypes.StringType);
    private static final Map<String, DataType> CALLS = new TreeMap<>(Map.ofEntries(
        Map.entry("count", DataTypes.IntegerType), Map.entry("sum", DataTypes.LongType), Map.entry("min", VALUE),
        Map.entry("max", VALUE), Map.entry("first", VALUE), Map.entry("last", VALUE), Map.entry("dcount", VALUE),
        Map.entry("dsum", struct("v", DataTypes.LongType)), Map.entry("listagg", TEXT), Map.entry("dlistagg", TEXT),
        Map.entry("array", VALUE), Map.entry("collect", VALUE), Map.entry("dcollect", VALUE), Map.entry("lag", LAG),
        Map.entry("row_number", DataTypes.IntegerType), Map.entry("rank", DataTypes.IntegerType),
        Map.entry("dense_rank", DataTypes.IntegerType)));

    private OverProbe() { }

    static StructType struct(Object... namesAndTypes) {
        StructType made = new StructType();
        for (int i = 0; i < namesAndTypes.length; i += 2) {
            made = made.add((String) namesAndTypes[i], (DataType) namesAndTypes[i + 1], true);
        }
        return made;
    }

    /** What OVER is asked for, and what rows come. */
    private static final class Case {
        final Random random;
        final boolean byRows;
        final Long preceding;
        final boolean late;
        final boolean inTurn;
        final boolean takesBack;
        final boolean anyOrder; // of sequences from batch to batch
        final int lag;
        final List<String> kinds = new ArrayList<>();
        final StructType calls;
        final StructType arguments;
        final UnsafeProjection made;
        final List<Object[]> live = new ArrayList<>();
        long sequence;

        Case(long seed) {
            random = new Random(seed);
            byRows = random.nextBoolean();
            preceding = random.nextInt(3) == 0 ? null : (Long) (long) random.nextInt(byRows ? 6 : 12);
            late = preceding != null && random.nextInt(4) == 0;
            inTurn = !late && byRows && random.nextInt(3) == 0;
            takesBack = !late && !inTurn && random.nextBoolean();
            anyOrder = !inTurn && random.nextInt(3) == 0;
            lag = random.nextInt(4);
            List<String> names = new ArrayList<>(CALLS.keySet());
            Collections.shuffle(names, random);
            names = names.subList(0, 1 + random.nextInt(3));
            StructType typed = new StructType();
            for (String name : names) {
                boolean only = preceding == null && !takesBack && List.of("min", "max", "first", "last").contains(name);
                DataType type = name.equals("sum") ? List.of(DataTypes.LongType, DataTypes.DoubleType, new org.apache.spark.sql.types.DecimalType(10, 2)).get(random.nextInt(3)) : CALLS.get(name);
                typed = typed.add((only ? "only_" : "") + name + ":" + kinds.size(), type, true);
                kinds.add(name);
            }
            calls = typed;
            StructType row = struct(inTurn ? "p" : "o", struct("a0f", DataTypes.LongType), "r", struct("c0", DataTypes.IntegerType), "a", calls);
            row = late ? row.add("w", struct("m", DataTypes.LongType), true) : row;
            arguments = struct("c0", DataTypes.LongType, "c1", DataTypes.LongType, "c2", DataTypes.BooleanType, "c3", DataTypes.LongType, "c4", row);
            made = UnsafeProjection.create(arguments);
        }

        /** A change: weight, sequence, time, payload, value, watermark. */
        private Object[] moved;

        Object[] next() {
            sequence++;
            if (moved != null) {
                Object[] made = moved;
                moved = null;
                made[1] = sequence;
                live.add(made);
                return made;
            }
            if (takesBack && !live.isEmpty() && random.nextInt(3) == 0) {
                Object[] gone = live.remove(random.nextInt(random.nextBoolean() ? live.size() : 1 + live.size() / 2)).clone();
                gone[0] = -1L;
                gone[1] = sequence;
                if (random.nextBoolean()) { // an update: it comes again, at another time or with another value
                    moved = gone.clone();
                    moved[0] = 1L;
                    if (random.nextInt(4) > 0) {
                        moved[2] = inTurn ? 0L : Math.max(0, (long) moved[2] + random.nextInt(7) - 3);
                    } else {
                        moved[4] = random.nextInt(3);
                    }
                }
                return gone;
            }
            long spread = random.nextInt(5) == 0 ? 40 : 6;
            long time = inTurn ? 0 : Math.max(0, sequence / 2 - random.nextInt((int) spread));
            Integer value = random.nextInt(6) == 0 ? null : (Integer) random.nextInt(8);
            Long met = random.nextInt(6) == 0 ? null : (Long) (sequence / 2 - random.nextInt(6));
            Object[] made = {1L, sequence, time, random.nextInt(3), value, met};
            live.add(made);
            return made;
        }

        UnsafeRow row(Object[] change) {
            Integer v = (Integer) change[4];
            Object[] args = new Object[kinds.size()];
            for (int i = 0; i < args.length; i++) {
                DataType type = calls.apply(i).dataType();
                args[i] = switch (kinds.get(i)) {
                    case "row_number", "rank", "dense_rank" -> (Object) 1;
                    case "count" -> v;
                    case "sum" -> v == null ? null : type.equals(DataTypes.LongType) ? (Object) (long) v : type.equals(DataTypes.DoubleType) ? (Object) (v / 10.0)
                        : Decimal.apply(BigDecimal.valueOf(v).setScale(2), 10, 2);
                    case "lag" -> InternalRow.fromSeq(seq(v, lag, v == null ? null : (Object) (v + 100)));
                    case "listagg", "dlistagg" -> v == null ? null : InternalRow.fromSeq(seq(UTF8String.fromString("t" + v), UTF8String.fromString(",")));
                    case "dsum" -> v == null ? null : InternalRow.fromSeq(seq((long) v));
                    default -> v == null ? null : InternalRow.fromSeq(seq(v));
                };
            }
            List<Object> parts = new ArrayList<>(List.of(InternalRow.fromSeq(seq(change[2])), InternalRow.fromSeq(seq(change[3])), InternalRow.fromSeq(seq(args))));
            if (late) {
                parts.add(InternalRow.fromSeq(seq(change[5])));
            }
            return made.apply(InternalRow.fromSeq(seq(change[0], change[1], byRows, preceding, InternalRow.fromSeq(seq(parts.toArray()))))).copy();
        }

        @Override public String toString() {
            return "byRows " + byRows + ", preceding " + preceding + ", late " + late + ", inTurn " + inTurn + ", takesBack " + takesBack
                + ", anyOrder " + anyOrder + ", lag " + lag + ", " + calls.simpleString();
        }
    }

    static scala.collection.immutable.Seq<Object> seq(Object... values) {
        return CollectionConverters.asScala(java.util.Arrays.asList(values)).toList();
    }

    static Stage stage(StructType arguments) throws Exception { return stage("over", arguments); }

    static Stage stage(String kind, StructType arguments) throws Exception {
        Method find = Class.forName("flinkddl.Retract").getDeclaredMethod("find", String.class);
        find.setAccessible(true);
        Function<String, UnboundFunction> aggregates = name -> {
            try {
                return (UnboundFunction) find.invoke(null, name);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        };
        return Stage.of(new Stage.Name(kind, 1, "", 0L, null), arguments, aggregates);
    }

    /** State in this heap, which counts what is touched. */
    static final class Heap {
        byte[] head;
        TreeMap<byte[], byte[]> map = new TreeMap<>(Tree.BYTES);
        int touched;

        StatefulProcessorHandle handle() {
            return (StatefulProcessorHandle) Proxy.newProxyInstance(OverProbe.class.getClassLoader(), new Class<?>[] {StatefulProcessorHandle.class}, (p, method, args) ->
                method.getName().equals("getValueState") ? value() : args[0].equals("map0") ? map() : null);
        }

        private Object value() {
            return Proxy.newProxyInstance(OverProbe.class.getClassLoader(), new Class<?>[] {ValueState.class}, (p, method, args) -> {
                switch (method.getName()) {
                    case "get" -> { return head; }
                    case "update" -> head = (byte[]) args[0];
                    default -> head = null;
                }
                return null;
            });
        }

        private Object map() {
            return Proxy.newProxyInstance(OverProbe.class.getClassLoader(), new Class<?>[] {MapState.class}, (p, method, args) -> {
                touched++;
                switch (method.getName()) {
                    case "getValue" -> { return map.get((byte[]) args[0]); }
                    case "updateValue" -> map.put(((byte[]) args[0]).clone(), (byte[]) args[1]);
                    case "removeKey" -> map.remove((byte[]) args[0]);
                    default -> throw new IllegalStateException(method.getName());
                }
                return null;
            });
        }

        Heap copy() {
            Heap copy = new Heap();
            copy.head = head;
            copy.map.putAll(map);
            return copy;
        }

        String text() {
            StringBuilder text = new StringBuilder(java.util.Arrays.toString(head));
            map.forEach((k, v) -> text.append(java.util.Arrays.toString(k)).append(java.util.Arrays.toString(v)));
            return text.toString();
        }
    }

    private static Map<String, Long> turn(Stage stage, Heap heap, List<UnsafeRow> rows) {
        Over over = (Over) stage.made();
        over.open();
        Store store = new Store(heap.handle(), true, new Figures(1).ofTask());
        store.turn(over, 0, new byte[18], 0);
        Map<String, Long> out = new TreeMap<>();
        DataType type = ((ArrayType) stage.resultType()).elementType();
        over.change(store, rows.iterator()).forEachRemaining(result -> note((ArrayData) result, (StructType) type, out));
        return out;
    }

    private static void note(ArrayData changes, StructType type, Map<String, Long> out) {
        for (int i = 0; i < changes.numElements(); i++) {
            InternalRow change = changes.getStruct(i, 3);
            String text = text(change.getStruct(0, 1), type.apply(0).dataType()) + text(change.get(1, type.apply(1).dataType()), type.apply(1).dataType());
            out.merge(text, change.getLong(2), (a, b) -> a + b == 0 ? null : a + b);
        }
    }

    private static String text(Object value, DataType type) {
        if (value instanceof InternalRow row && type instanceof StructType s) {
            StringBuilder text = new StringBuilder("(");
            for (int i = 0; i < s.length(); i++) {
                text.append(row.isNullAt(i) ? "null" : text(row.get(i, s.apply(i).dataType()), s.apply(i).dataType())).append(", ");
            }
            return text.append(")").toString();
        }
        if (value instanceof MapData map && type instanceof MapType m) {
            Map<String, String> sorted = new TreeMap<>();
            for (int i = 0; i < map.numElements(); i++) {
                sorted.put(text(map.keyArray().get(i, m.keyType()), m.keyType()), text(map.valueArray().get(i, m.valueType()), m.valueType()));
            }
            return sorted.toString();
        }
        if (value instanceof ArrayData array && type instanceof ArrayType a) {
            List<String> items = new ArrayList<>();
            for (int i = 0; i < array.numElements(); i++) {
                items.add(array.isNullAt(i) ? "null" : text(array.get(i, a.elementType()), a.elementType()));
            }
            return items.toString();
        }
        return String.valueOf(value);
    }

    /** As Spark's state does between two batches. */
    private static void fold(Object state) throws Exception {
        Method fold = state.getClass().getDeclaredMethod("fold");
        fold.setAccessible(true);
        fold.invoke(state);
    }

    private static String random(long seed) throws Exception {
        Case asked = new Case(seed);
        Stage stage = stage(asked.arguments);
        Heap heap = new Heap();
        Map<String, Long> table = new TreeMap<>();
        Map<String, Long> wanted = new TreeMap<>();
        List<UnsafeRow> waiting = new ArrayList<>();
        for (int i = asked.random.nextInt(90) + 10; i > 0; i--) {
            waiting.add(asked.row(asked.next()));
        }
        if (asked.anyOrder) {
            Collections.shuffle(waiting, asked.random); // also what is taken back before it came
        }
        Object aggregate = stage.newAggregationState();
        while (!waiting.isEmpty()) {
            List<UnsafeRow> batch = new ArrayList<>(waiting.subList(0, Math.min(waiting.size(), 1 + asked.random.nextInt(20))));
            waiting = waiting.subList(batch.size(), waiting.size());
            fold(aggregate);
            for (UnsafeRow row : batch) {
                aggregate = stage.update((java.io.Serializable) aggregate, row);
            }
            Heap before = heap.copy();
            Collections.shuffle(batch, asked.random);
            Map<String, Long> given = turn(stage, heap, batch);
            Collections.shuffle(batch, asked.random);
            if (!turn(stage, before, batch).equals(given) || !before.text().equals(heap.text())) {
                return "another time it is something else";
            }
            given.forEach((row, n) -> table.merge(row, n, (a, b) -> a + b == 0 ? null : a + b));
            if (table.values().stream().anyMatch(n -> n < 0)) {
                return "taken back, never given: " + given;
            }
            note((ArrayData) stage.produceResult((java.io.Serializable) aggregate), (StructType) ((ArrayType) stage.resultType()).elementType(), wanted);
            if (!wanted.equals(table)) {
                Map<String, Long> missing = new HashMap<>(wanted);
                missing.entrySet().removeAll(table.entrySet());
                Map<String, Long> wrong = new HashMap<>(table);
                wrong.entrySet().removeAll(wanted.entrySet());
                return "missing " + missing + ", wrong " + wrong;
            }
        }
        return "";
    }

    /** Pages that a batch of ten rows touches at the end of a partition of so many rows, and in its middle. */
    private static String touched(int rows, long preceding, String kind) throws Exception {
        StructType calls = struct(kind + ":0", CALLS.get(kind));
        StructType row = struct("o", struct("a0f", DataTypes.LongType), "r", struct("c0", DataTypes.IntegerType), "a", calls);
        StructType arguments = struct("c0", DataTypes.LongType, "c1", DataTypes.LongType, "c2", DataTypes.BooleanType, "c3", DataTypes.LongType, "c4", row);
        Stage stage = stage(arguments);
        Heap heap = new Heap();
        List<UnsafeRow> batch = new ArrayList<>();
        UnsafeProjection made = UnsafeProjection.create(arguments);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < rows + 20; i++) {
            int v = i * 7919 % 1009;
            Object arg = CALLS.get(kind) instanceof StructType ? InternalRow.fromSeq(seq(v)) : kind.equals("sum") ? (Object) (long) v : (Object) v;
            long time = 10L * (i < rows + 10 ? i : rows / 2 + i % 3);
            InternalRow parts = InternalRow.fromSeq(seq(InternalRow.fromSeq(seq(time)), InternalRow.fromSeq(seq(i)), InternalRow.fromSeq(seq(arg))));
            batch.add(made.apply(InternalRow.fromSeq(seq(1L, (long) i, false, preceding < 0 ? null : (Object) preceding, parts))).copy());
            if (i + 1 == rows || i + 11 - rows == 20 || i + 1 - rows == 20) {
                heap.touched = 0;
                int changes = turn(stage, heap, batch).size();
                out.append(heap.touched).append(' ').append(changes).append(' ');
                batch.clear();
            }
        }
        return out.toString().strip();
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("touched")) {
            System.out.println(touched(Integer.parseInt(args[1]), Long.parseLong(args[2]), args[3]));
            return;
        }
        long seed = Long.parseLong(args[1]);
        int wrong = 0;
        for (long n = seed; n < seed + Integer.parseInt(args[2]); n++) {
            String said;
            try {
                said = random(n);
            } catch (RuntimeException e) {
                java.io.StringWriter trace = new java.io.StringWriter();
                e.printStackTrace(new java.io.PrintWriter(trace));
                said = trace.toString();
            }
            if (!said.isEmpty()) {
                wrong++;
                System.out.println(n + ": " + new Case(n) + ": " + said);
            }
        }
        System.out.println(wrong + " wrong");
    }
}
