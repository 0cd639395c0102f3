package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker$;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * State of groups that may be over before their batch is, and their timers: in micro-batches it is held in memory, and
 * written when the batch ends or it has become too much. A window that opens and closes in one batch leaves nothing in the
 * store. Spark tells of the batch's end by a timer of its own, which is always due: timers are looked at behind all rows.
 */
final class Overlay {
    private static final int NODE = 0xFFF9;
    private static final byte[] KEY = ByteBuffer.allocate(Rows.KEY).putLong(-1).putShort((short) NODE).array();
    private static final long DUE = -1; // ms, before any watermark
    private static final long MOST = Long.getLong("flinkddl.state.held", Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 48)); // bytes a task
    private static final int GROUP = 300; // bytes of a group, beside its own
    private static final int ENTRY = 100; // of an entry

    private final StatefulProcessorHandle handle;
    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]>[] maps;
    private final boolean[] nodes; // by their numbers, whether they are held
    private final Map<ByteBuffer, Group> groups = new HashMap<>();
    private Object turned; // whose turn it was when last asked
    private Group group;
    private long bytes;
    private boolean asked;

    Overlay(StatefulProcessorHandle handle, ValueState<byte[]> head, MapState<byte[], byte[]>[] maps, boolean[] nodes) {
        this.handle = handle;
        this.head = head;
        this.maps = maps;
        this.nodes = nodes;
    }

    /** What is held of a group. */
    private static final class Group {
        final byte[] key;
        boolean fresh; // nothing of it is in the store
        boolean known; // the head is what it is
        boolean changed;
        byte[] head;
        final List<TreeMap<byte[], byte[]>> entries = new ArrayList<>(); // null of what is taken out

        Group(byte[] key) { this.key = key; }

        TreeMap<byte[], byte[]> of(int map) {
            while (entries.size() <= map) {
                entries.add(new TreeMap<>(Arrays::compareUnsigned));
            }
            return entries.get(map);
        }

        /** Nothing of it is there, and so nothing in the store, but for what was taken out in this batch. */
        void fresh() {
            fresh |= !changed && entries.stream().allMatch(Map::isEmpty);
            known = true;
        }
    }

    /** Whether a timer is that of the batch's end. */
    static boolean ends(byte[] key) { return Rows.node(key) == NODE; }

    /** With the first row of a task: ask for the end of its batch. {@code key} has its turn. */
    void begin(byte[] key) {
        if (!asked) {
            asked = true;
            Clocks.turn(KEY);
            handle.registerTimer(DUE);
            Clocks.turn(key);
        }
    }

    /** Between two groups: write what is held, where it is too much. */
    void between() {
        if (bytes > MOST) {
            write();
        }
    }

    /** Write what is held; the turn is nobody's afterwards. */
    void write() {
        for (Group one : groups.values()) {
            Clocks.turn(one.key);
            if (one.changed && one.head != null) {
                head.update(one.head);
            } else if (one.changed && !one.fresh) {
                head.clear();
            }
            for (int i = 0; i < one.entries.size(); i++) {
                for (Map.Entry<byte[], byte[]> entry : one.entries.get(i).entrySet()) {
                    if (entry.getValue() == null) {
                        maps[i].removeKey(entry.getKey());
                    } else {
                        maps[i].updateValue(entry.getKey(), entry.getValue());
                    }
                }
            }
        }
        groups.clear();
        turned = null;
        bytes = 0;
    }

    /** Fail where something was not written. */
    void close() {
        if (!groups.isEmpty()) {
            throw new IllegalStateException("the end of a batch was not told: state of " + groups.size() + " groups was not kept");
        }
    }

    /** The store has nothing of the group at hand. */
    void fresh() {
        Group one = at();
        if (one != null) {
            one.fresh();
        }
    }

    /** The group at hand, null of one that is not held. */
    private Group at() {
        Object now = ImplicitGroupingKeyTracker$.MODULE$.getImplicitKeyOption().get();
        if (now != turned) {
            turned = now;
            byte[] key = (byte[]) now;
            int node = Rows.node(key);
            group = node == Timers.NODE || node < nodes.length && nodes[node] ? groups.computeIfAbsent(ByteBuffer.wrap(key), k -> made(key)) : null;
        }
        return group;
    }

    private Group made(byte[] key) {
        bytes += key.length + GROUP;
        return new Group(key);
    }

    private static int size(byte[] bytes) { return bytes == null ? 0 : bytes.length; }

    ValueState<byte[]> head() {
        return new ValueState<>() {
            @Override public boolean exists() { return get() != null; }

            @Override public byte[] get() {
                Group one = at();
                if (one == null) {
                    return head.get();
                }
                if (!one.known) {
                    hold(one, head.get());
                    if (one.head == null && Rows.node(one.key) != Timers.NODE) { // without a head a group has nothing
                        one.fresh();
                    }
                }
                return one.head;
            }

            @Override public void update(byte[] state) {
                Group one = at();
                if (one == null) {
                    head.update(state);
                } else {
                    set(one, state);
                }
            }

            @Override public void clear() {
                Group one = at();
                if (one == null) {
                    head.clear();
                } else {
                    set(one, null);
                }
            }

            private void set(Group one, byte[] state) {
                hold(one, state);
                one.changed = true;
            }

            private void hold(Group one, byte[] state) {
                bytes += size(state) - size(one.head);
                one.head = state;
                one.known = true;
            }
        };
    }

    MapState<byte[], byte[]> map(int n) {
        MapState<byte[], byte[]> map = maps[n];
        return new MapState<>() {
            @Override public boolean exists() {
                Group one = at();
                return one == null ? map.exists() : !all(one).isEmpty();
            }

            @Override public byte[] getValue(byte[] name) {
                Group one = at();
                return one == null ? map.getValue(name) : one.of(n).containsKey(name) ? one.of(n).get(name) : one.fresh ? null : map.getValue(name);
            }

            @Override public boolean containsKey(byte[] name) {
                Group one = at();
                return one == null ? map.containsKey(name) : one.of(n).containsKey(name) ? one.of(n).get(name) != null : !one.fresh && map.containsKey(name);
            }

            @Override public void updateValue(byte[] name, byte[] value) {
                Group one = at();
                if (one == null) {
                    map.updateValue(name, value);
                } else {
                    set(one, name, value);
                }
            }

            @Override public void removeKey(byte[] name) {
                Group one = at();
                if (one == null) {
                    map.removeKey(name);
                } else if (!one.fresh) {
                    set(one, name, null);
                } else if (one.of(n).containsKey(name)) {
                    bytes -= name.length + size(one.of(n).remove(name)) + ENTRY;
                }
            }

            private void set(Group one, byte[] name, byte[] value) {
                bytes += one.of(n).containsKey(name) ? 0 : name.length + ENTRY; // also what is taken out costs memory
                bytes += size(value) - size(one.of(n).put(name, value));
            }

            private TreeMap<byte[], byte[]> all(Group one) {
                if (one.fresh) {
                    return one.of(n);
                }
                TreeMap<byte[], byte[]> all = new TreeMap<>(Arrays::compareUnsigned);
                for (Iterator<Tuple2<byte[], byte[]>> kept = map.iterator(); kept.hasNext();) {
                    Tuple2<byte[], byte[]> entry = kept.next();
                    all.put(entry._1(), entry._2());
                }
                all.putAll(one.of(n));
                all.values().removeIf(value -> value == null);
                return all;
            }

            @Override public Iterator<Tuple2<byte[], byte[]>> iterator() {
                Group one = at();
                return one == null ? map.iterator()
                    : CollectionConverters.asScala(all(one).entrySet().stream().map(e -> new Tuple2<>(e.getKey(), e.getValue())).iterator());
            }

            @Override public Iterator<byte[]> keys() {
                Group one = at();
                return one == null ? map.keys() : CollectionConverters.asScala(all(one).keySet().iterator());
            }

            @Override public Iterator<byte[]> values() {
                Group one = at();
                return one == null ? map.values() : CollectionConverters.asScala(all(one).values().iterator());
            }

            @Override public void clear() {
                Group one = at();
                if (one == null) {
                    map.clear();
                } else {
                    new ArrayList<>(all(one).keySet()).forEach(this::removeKey);
                }
            }
        };
    }
}
