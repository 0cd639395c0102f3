package flinkddl.state;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Top-N by key over state that an earlier version has left. {@code write FILE} makes such state, with the jar of that
 * version on the class path; {@code read FILE} goes on with it and compares each batch's places with a sorted list.
 */
public final class TopProbe {
    private static final int PLACES = 5;
    private static final byte[] KEY = new byte[18];
    private static final long NOW = 1_000_000;
    private static final String[] TTLS = {"", "_ttl_3600000"};
    private static final StructType ORDER = OverProbe.struct("a0f", DataTypes.IntegerType);
    private static final StructType ROW = OverProbe.struct("c0", DataTypes.IntegerType, "c1", DataTypes.StringType);
    private static final StructType ARGUMENTS = OverProbe.struct("c0", DataTypes.LongType, "c1", DataTypes.LongType, "c2", DataTypes.LongType,
        "c3", DataTypes.LongType, "c4", DataTypes.BooleanType, "c5", DataTypes.BooleanType, "c6", OverProbe.struct("o", ORDER, "r", ROW));
    private static final UnsafeProjection MADE = UnsafeProjection.create(ARGUMENTS);

    private TopProbe() { }

    private record Entry(int value, String text, long sequence) {
        static final Comparator<Entry> BEST = Comparator.comparingInt(Entry::value).thenComparingLong(Entry::sequence);

        String row() { return value + " " + text; }
    }

    /** State in this heap, of a group and of what the sweep has noted of it, by Spark's key in hexadecimal digits. */
    static final class State {
        final TreeMap<String, byte[]> heads = new TreeMap<>();
        final TreeMap<String, TreeMap<byte[], byte[]>> maps = new TreeMap<>();

        StatefulProcessorHandle handle() {
            return made(StatefulProcessorHandle.class, (name, args) ->
                name.equals("getValueState") ? made(ValueState.class, this::value) : args[0].equals("map0") ? made(MapState.class, this::map) : null);
        }

        private static <T> T made(Class<T> type, BiFunction<String, Object[], Object> does) {
            return type.cast(Proxy.newProxyInstance(TopProbe.class.getClassLoader(), new Class<?>[] {type}, (p, method, args) -> does.apply(method.getName(), args)));
        }

        private static String key() { return HexFormat.of().formatHex((byte[]) ImplicitGroupingKeyTracker$.MODULE$.getImplicitKeyOption().get()); }

        private Object value(String name, Object[] args) {
            return switch (name) {
                case "get" -> heads.get(key());
                case "update" -> heads.put(key(), ((byte[]) args[0]).clone());
                case "clear" -> heads.remove(key());
                default -> throw new IllegalStateException(name);
            };
        }

        private Object map(String name, Object[] args) {
            TreeMap<byte[], byte[]> map = maps.computeIfAbsent(key(), k -> new TreeMap<>(Tree.BYTES));
            return switch (name) {
                case "getValue" -> map.get((byte[]) args[0]);
                case "updateValue" -> map.put(((byte[]) args[0]).clone(), ((byte[]) args[1]).clone());
                case "removeKey" -> map.remove((byte[]) args[0]);
                default -> throw new IllegalStateException(name);
            };
        }
    }

    /** A partition: what {@code Top} keeps of it, and the same rows in a list. */
    private static final class Group {
        final State state = new State();
        final List<Entry> live = new ArrayList<>();
        final List<String> places = new ArrayList<>();
        final String ttl;
        final boolean grows;
        long sequence;

        Group(String ttl, boolean grows) {
            this.ttl = ttl;
            this.grows = grows;
        }

        /** Rows come, and where they may be taken back some of those that are there go. */
        String batch(Random random) throws Exception {
            List<UnsafeRow> rows = new ArrayList<>();
            for (int i = 1 + random.nextInt(12); i > 0; i--) {
                sequence++;
                if (!grows && !live.isEmpty() && random.nextInt(5) < 2) {
                    live.sort(Entry.BEST);
                    rows.add(row(-1, live.remove(random.nextInt(random.nextBoolean() ? Math.min(live.size(), PLACES) : live.size()))));
                } else {
                    Entry come = new Entry((random.nextInt(40) - 20) * 77, "row " + sequence, sequence);
                    live.add(come);
                    rows.add(row(1, come));
                }
            }
            Stage stage = stage(ttl);
            Kind top = stage.made();
            top.open();
            Store store = new Store(state.handle(), true, new Figures(1).ofTask());
            ImplicitGroupingKeyTracker$.MODULE$.setImplicitKey(KEY);
            store.turn(top, 0, KEY, NOW);
            for (Iterator<Object> out = top.change(store, rows.iterator()); out.hasNext();) {
                ArrayData changes = (ArrayData) out.next();
                for (int i = 0; i < changes.numElements(); i++) {
                    String wrong = moved(changes.getStruct(i, 3));
                    if (!wrong.isEmpty()) {
                        return wrong;
                    }
                }
            }
            live.sort(Entry.BEST);
            if (grows) { // what is behind the last place never comes forward
                live.subList(Math.min(PLACES, live.size()), live.size()).clear();
            }
            List<String> wanted = live.stream().limit(PLACES).map(Entry::row).toList();
            places.removeIf(p -> p == null);
            return wanted.equals(places) ? "" : "the places are " + places + " and not " + wanted;
        }

        private UnsafeRow row(long weight, Entry entry) {
            InternalRow order = InternalRow.fromSeq(OverProbe.seq(entry.value));
            InternalRow row = InternalRow.fromSeq(OverProbe.seq(entry.value, UTF8String.fromString(entry.text)));
            InternalRow both = InternalRow.fromSeq(OverProbe.seq(order, row));
            return MADE.apply(InternalRow.fromSeq(OverProbe.seq(weight, entry.sequence, 1L, (long) PLACES, true, grows, both))).copy();
        }

        private String moved(InternalRow change) {
            int at = (int) change.getLong(0) - 1;
            while (places.size() <= at) {
                places.add(null);
            }
            String old = change.isNullAt(1) ? null : text(change.getStruct(1, 2));
            if (!java.util.Objects.equals(old, places.get(at))) {
                return "takes back " + old + " from place " + at + " of " + places;
            }
            places.set(at, change.isNullAt(2) ? null : text(change.getStruct(2, 2)));
            return "";
        }
    }

    private static String text(InternalRow row) { return row.getInt(0) + " " + row.getUTF8String(1); }

    private static Stage stage(String ttl) throws Exception {
        Method find = Class.forName("flinkddl.Retract").getDeclaredMethod("find", String.class);
        find.setAccessible(true);
        return Stage.of(new Stage.Name("top", 1, ttl, 0L, null), ARGUMENTS, name -> {
            try {
                return (UnboundFunction) find.invoke(null, name);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static void write(Path file) throws Exception {
        HexFormat hex = HexFormat.of();
        List<String> lines = new ArrayList<>();
        for (int n = 0; n < 4; n++) {
            Group group = new Group(TTLS[n % 2], n % 4 >= 2);
            Random random = new Random(n);
            for (int i = 0; i < 26 - 4 * n; i++) {
                check(group.batch(random));
            }
            lines.add("group " + group.ttl + " " + group.grows + " " + group.sequence);
            group.live.forEach(e -> lines.add("live " + e.value + " " + e.sequence + " " + e.text));
            group.state.heads.forEach((key, head) -> lines.add("head " + key + " " + hex.formatHex(head)));
            group.state.maps.forEach((key, map) -> map.forEach((at, page) ->
                lines.add("page " + key + " " + hex.formatHex(at) + " " + hex.formatHex(page))));
        }
        Files.write(file, lines);
    }

    private static List<Group> read(Path file) throws Exception {
        HexFormat hex = HexFormat.of();
        List<Group> groups = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            String[] said = line.split(" ", 4);
            Group last = groups.isEmpty() ? null : groups.get(groups.size() - 1);
            switch (said[0]) {
                case "group" -> {
                    groups.add(new Group(said[1], Boolean.parseBoolean(said[2])));
                    groups.get(groups.size() - 1).sequence = Long.parseLong(said[3]);
                }
                case "live" -> last.live.add(new Entry(Integer.parseInt(said[1]), said[3], Long.parseLong(said[2])));
                case "head" -> last.state.heads.put(said[1], hex.parseHex(said[2]));
                default -> last.state.maps.computeIfAbsent(said[1], k -> new TreeMap<>(Tree.BYTES)).put(hex.parseHex(said[2]), hex.parseHex(said[3]));
            }
        }
        for (Group group : groups) {
            group.live.sort(Entry.BEST);
            group.live.stream().limit(PLACES).forEach(e -> group.places.add(e.row()));
        }
        return groups;
    }

    private static int layout(Group group) {
        byte[] head = group.state.heads.get(HexFormat.of().formatHex(KEY));
        return head == null ? 0 : head[0] & 0x7F;
    }

    private static void check(String wrong) {
        if (!wrong.isEmpty()) {
            throw new IllegalStateException(wrong);
        }
    }

    /** Says of each group in which layout it was and is, how many rows it had, and in which layout a new one is. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("write")) {
            write(Path.of(args[1]));
            return;
        }
        for (Group group : read(Path.of(args[1]))) {
            int before = layout(group);
            int rows = group.live.size();
            Random random = new Random(group.sequence);
            for (int i = 0; i < 60; i++) {
                check(group.batch(random));
            }
            Group beside = new Group(group.ttl, group.grows);
            for (int i = 0; i < 10; i++) {
                check(beside.batch(random));
            }
            System.out.println(before + " " + layout(group) + " " + layout(beside) + " " + group.grows + " " + rows);
        }
    }
}
