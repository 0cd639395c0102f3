package flinkddl.state;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * State that is held beside the same that is not: {@code SEED CASES} takes any operations of several groups, in batches; what
 * they read is the same, and so is what is there after each batch and wherever nothing is held. Of 0xFFFD and node 1 state is held.
 */
public final class OverlayProbe {
    private static final int[] NODES = {0, 1, 1, 1, Timers.NODE, Timers.NODE}; // of the groups
    private static final int MAPS = 2;
    private static final int NAMES = 4;

    private OverlayProbe() { }

    private static byte[] turn() { return (byte[]) ImplicitGroupingKeyTracker$.MODULE$.getImplicitKeyOption().get(); }

    /** State in this heap as Spark has it: nobody else has its arrays. */
    private static final class Heap {
        final TreeMap<byte[], byte[]> all = new TreeMap<>(Tree.BYTES); // by part, group, name

        private static byte[] place(int part, int... name) {
            ByteBuffer place = ByteBuffer.allocate(1 + turn().length + name.length).put((byte) part).put(turn());
            Arrays.stream(name).forEach(n -> place.put((byte) n));
            return place.array();
        }

        private byte[] get(byte[] place) { return all.containsKey(place) ? all.get(place).clone() : null; }

        private Map<byte[], byte[]> of(int part) { return all.subMap(place(part), place(part, 0xFF)); }

        ValueState<byte[]> head() {
            return new ValueState<>() {
                @Override public boolean exists() { return get() != null; }

                @Override public byte[] get() { return Heap.this.get(place(MAPS)); }

                @Override public void update(byte[] state) { all.put(place(MAPS), state.clone()); }

                @Override public void clear() { all.remove(place(MAPS)); }
            };
        }

        MapState<byte[], byte[]> map(int n) {
            return new MapState<>() {
                @Override public boolean exists() { return !of(n).isEmpty(); }

                @Override public byte[] getValue(byte[] name) { return get(place(n, name[0])); }

                @Override public boolean containsKey(byte[] name) { return getValue(name) != null; }

                @Override public void updateValue(byte[] name, byte[] value) { all.put(place(n, name[0]), value.clone()); }

                @Override public Iterator<Tuple2<byte[], byte[]>> iterator() {
                    List<Tuple2<byte[], byte[]>> found = new ArrayList<>();
                    of(n).forEach((place, value) -> found.add(new Tuple2<>(new byte[] {place[place.length - 1]}, value.clone())));
                    return CollectionConverters.asScala(found.iterator());
                }

                @Override public Iterator<byte[]> keys() { return iterator().map(Tuple2::_1); }

                @Override public Iterator<byte[]> values() { return iterator().map(Tuple2::_2); }

                @Override public void removeKey(byte[] name) { all.remove(place(n, name[0])); }

                @Override public void clear() { of(n).clear(); }
            };
        }

        String text() {
            StringBuilder text = new StringBuilder();
            all.forEach((place, value) -> text.append(Arrays.toString(place)).append(Arrays.toString(value)));
            return text.toString();
        }
    }

    /** State in either way. */
    private record State(ValueState<byte[]> head, List<MapState<byte[], byte[]>> maps) {
        /** Do something with it; what it says is compared. */
        String asked(int what, MapState<byte[], byte[]> map, byte[] name, byte[] value) {
            switch (what) {
                case 0 -> head.update(value);
                case 1 -> head.clear();
                case 2 -> map.clear();
                case 3, 4, 5 -> map.updateValue(name, value);
                case 6, 7 -> map.removeKey(name);
                default -> { return what + said(what, map, name); }
            }
            return "";
        }

        private String said(int what, MapState<byte[], byte[]> map, byte[] name) {
            return switch (what) {
                case 8 -> Arrays.toString(head.get());
                case 9 -> "" + head.exists();
                case 10 -> Arrays.toString(map.getValue(name));
                case 11 -> "" + map.containsKey(name);
                case 12 -> "" + map.exists();
                case 13 -> map.keys().map(Arrays::toString).mkString();
                case 14 -> map.values().map(Arrays::toString).mkString();
                default -> map.iterator().map(e -> Arrays.toString(e._1()) + Arrays.toString(e._2())).mkString();
            };
        }
    }

    /** What goes on in one group: the same in all these states. */
    private static void group(Random random, int node, List<State> states) {
        for (int i = random.nextInt(12); i > 0; i--) {
            byte[] value = new byte[random.nextInt(30)];
            random.nextBytes(value);
            all(random.nextInt(16), random.nextInt(MAPS), (byte) random.nextInt(NAMES), value, states);
        }
        if (node != Timers.NODE && !states.get(0).head.exists()) { // without a head a group has nothing
            for (int n = 0; n < MAPS; n++) {
                all(2, n, (byte) 0, null, states);
            }
        }
    }

    private static void all(int what, int map, byte name, byte[] value, List<State> states) {
        List<String> said = new ArrayList<>();
        states.forEach(state -> said.add(state.asked(what, state.maps.get(map), new byte[] {name}, value)));
        same("what is read", said.get(0), said.get(1));
    }

    private static void same(String what, Object wanted, Object found) {
        if (!wanted.equals(found)) {
            throw new IllegalStateException(what + ": " + wanted + " against " + found);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void batch(Random random, Heap plain, Heap below) throws ReflectiveOperationException {
        List<String> timers = new ArrayList<>();
        StatefulProcessorHandle handle = (StatefulProcessorHandle) Proxy.newProxyInstance(OverlayProbe.class.getClassLoader(),
            new Class<?>[] {StatefulProcessorHandle.class}, (p, method, args) -> timers.add(method.getName() + args[0] + Overlay.ends(turn())) ? null : null);
        Overlay overlay = new Overlay(handle, below.head(), new MapState[] {below.map(0), below.map(1)}, new boolean[] {false, true});
        Field bytes = Overlay.class.getDeclaredField("bytes");
        bytes.setAccessible(true);
        List<State> states = List.of(new State(plain.head(), List.of(plain.map(0), plain.map(1))),
            new State(overlay.head(), List.of(overlay.map(0), overlay.map(1))));
        for (int i = random.nextInt(20); i > 0; i--) {
            int which = random.nextInt(NODES.length);
            byte[] key = ByteBuffer.allocate(Rows.KEY).putLong(which).putShort((short) NODES[which]).array();
            if (random.nextInt(3) == 0) {
                overlay.between();
            }
            Clocks.turn(key);
            overlay.begin(key);
            same("the turn", key, turn());
            if (NODES[which] == Timers.NODE && plain.of(0).isEmpty() && plain.of(1).isEmpty() && !plain.head().exists() && random.nextBoolean()) {
                overlay.fresh();
            }
            group(random, NODES[which], states);
            if (bytes.getLong(overlay) < 0) {
                throw new IllegalStateException("less than nothing is held");
            } else if (bytes.getLong(overlay) == 0) {
                same("what is there", plain.text(), below.text());
            }
            same("timers", List.of("registerTimer-1true"), timers);
        }
        overlay.write();
        overlay.close();
        same("bytes", 0L, bytes.getLong(overlay));
        same("what is there in the end", plain.text(), below.text());
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        for (long seed = Long.parseLong(args[0]), more = Long.parseLong(args[1]); more > 0; seed++, more--) {
            Random random = new Random(seed);
            Heap plain = new Heap();
            Heap below = new Heap();
            try {
                for (int i = 0; i < 12; i++) {
                    batch(random, plain, below);
                }
            } catch (RuntimeException e) {
                System.out.println(seed + ": " + e);
            }
        }
        System.out.println("done");
    }
}
