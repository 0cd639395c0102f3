package flinkddl.state;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Iterator$;

/**
 * The operator: a group's key says which node it is of; state is alike for all nodes and parted by their numbers. Rows
 * of an edge that leads to a deeper stage pass it, and touch no state.
 */
public final class KeyedStage extends StatefulProcessor<byte[], byte[], KeyedStage.Out> {
    private final boolean batches;
    private final Node[] spec;
    private final Figures figures;
    private transient Node[] nodes;
    private transient Node[] passes;
    private transient Node time;
    private transient Node taken;
    private transient Store store;
    private transient long[] counts; // of the task
    private transient boolean swept;

    /** {@code batches}: rows come in micro-batches, those of a group at once. */
    KeyedStage(boolean batches, Node... spec) {
        this.batches = batches;
        this.spec = spec;
        figures = new Figures(spec.length);
    }

    Node[] nodes() { return spec.clone(); }

    Figures figures() { return figures; }

    /**
     * A node of the plan: its number, what it does, the types of its key and of its arguments, the place of its edge.
     * Without a kind it is the edge of rows that pass, whose number is its place, or of time.
     */
    record Node(int number, Kind kind, Rows key, Rows arguments, int edge) implements Serializable {
        /** Whether event time comes in by it. */
        boolean timed() { return kind == null && (number == Rows.TIME || number == Rows.LAST); }
    }

    /** A result on its way out, and the key of its group; of a row that passes, that row. */
    public static final class Out {
        final Node node;
        final byte[] key;
        final Object result;

        Out(Node node, byte[] key, Object result) {
            this.node = node;
            this.key = key;
            this.result = result;
        }
    }

    // called from generated code, which wants these very return types

    public static InternalRow row(Out out) { return (InternalRow) out.result; }

    public static ArrayData array(Out out) { return (ArrayData) out.result; }

    public static InternalRow group(Out out) { return out.node.key.group(out.key); }

    public static InternalRow rowOf(Out out, int edge) { return out.node.edge == edge ? (InternalRow) out.result : null; }

    public static ArrayData arrayOf(Out out, int edge) { return out.node.edge == edge ? (ArrayData) out.result : null; }

    public static InternalRow groupOf(Out out, int edge) { return out.node.edge == edge ? group(out) : null; }

    @Override public void init(OutputMode outputMode, TimeMode timeMode) {
        counts = figures.ofTask();
        int most = 0;
        int keeping = 0;
        for (Node node : spec) {
            most = node.kind == null ? most : Math.max(most, node.number);
            keeping += node.kind == null ? 0 : 1;
        }
        boolean[] held = new boolean[most + 1];
        boolean any = false;
        for (Node node : spec) {
            if (node.kind != null && node.kind.clocks != 0) {
                held[node.number] = true;
                any = true;
            }
        }
        store = new Store(getHandle(), spec.length == 1, keeping == 1, counts, batches && any ? held : null);
        nodes = new Node[most + 1];
        passes = new Node[spec.length];
        for (Node node : spec) {
            if (node.timed()) {
                time = node;
            } else if (node.number == Rows.TAKEN) {
                taken = node;
            } else if (node.kind == null) {
                passes[node.edge] = node;
            } else {
                nodes[node.number] = node;
                node.kind.open();
            }
        }
    }

    @Override public Iterator<Out> handleInputRows(byte[] key, Iterator<byte[]> rows, TimerValues times) {
        long now = times.getCurrentProcessingTimeInMs();
        if (store.overlay() != null) {
            store.between();
            Clocks.turn(key);
            store.overlay().begin(key);
        }
        if (!swept && taken == null) {
            sweep(key, now);
        }
        if (Rows.node(key) == Rows.PASS) {
            Node edge = passes[Rows.edge(key)];
            return outs(edge, key, viewed(edge, rows));
        }
        if (taken != null) {
            store.take(viewed(taken, rows), key);
            return Iterator$.MODULE$.empty();
        }
        if (Rows.node(key) == Rows.TIME) {
            return new Fired(key, store.clocks().hear(viewed(time, rows), key), now);
        }
        Node node = turn(key, now);
        return outs(node, key, node.kind.change(store, viewed(node, rows)));
    }

    /** With the first row of a task, whosever it is: of all nodes what nobody has touched for its time goes. */
    private void sweep(byte[] key, long now) {
        swept = true;
        for (Node node : spec) {
            if (node.kind != null) {
                store.forget(node.kind, node.number, Figures.at(node.edge), now);
            }
        }
        Clocks.turn(key);
    }

    private java.util.Iterator<UnsafeRow> viewed(Node node, Iterator<byte[]> rows) {
        UnsafeRow view = new UnsafeRow(node.arguments.type.length());
        int in = Figures.at(node.edge) + Figures.IN;
        return new java.util.Iterator<>() {
            @Override public boolean hasNext() { return rows.hasNext(); }

            @Override public UnsafeRow next() {
                byte[] bytes = rows.next();
                view.pointTo(bytes, bytes.length);
                counts[node.kind == null ? in : in + node.kind.input(view)]++;
                return view;
            }
        };
    }

    @Override public Iterator<Out> handleExpiredTimer(byte[] key, TimerValues times, ExpiredTimerInfo info) {
        if (!Overlay.ends(key)) { // no kind asks Spark for a timer
            throw new IllegalStateException("a timer of node " + Rows.node(key));
        }
        store.overlay().write();
        return Iterator$.MODULE$.empty();
    }

    @Override public void close() {
        if (store != null && store.overlay() != null) {
            store.overlay().close();
        }
    }

    private Node turn(byte[] key, long now) {
        Node node = nodes[Rows.node(key)];
        store.turn(node.kind, Figures.at(node.edge), key, now);
        return node;
    }

    /**
     * What words of time bring: what is due of each node, in order of time, then the words for each partition of the next
     * stage. What a sender gives stands before the time that it tells: so what has just fired here is not late there.
     */
    private final class Fired extends AbstractIterator<Out> {
        private final byte[] key;
        private final long now;
        private final List<Out> ticks = new ArrayList<>();
        private final java.util.Iterator<Node> waiting;
        private java.util.Iterator<Timers.Due> due = Collections.emptyIterator();
        private Iterator<Out> outs = Iterator$.MODULE$.empty();
        private int told;

        Fired(byte[] key, List<Tick.Word> words, long now) {
            this.key = key;
            this.now = now;
            List<Node> timed = new ArrayList<>();
            for (Node node : nodes) {
                if (node != null && node.kind.clocks != 0) {
                    timed.add(node);
                    if (node.kind.clocks != Tick.WALL) { // nobody asks how far the clock has come
                        counts[Figures.at(node.edge) + Figures.TIME] = store.clocks().time(node.kind.clocks, key);
                    }
                }
            }
            waiting = words.isEmpty() ? Collections.emptyIterator() : timed.iterator();
            int parts = time.number == Rows.TIME ? TaskContext.get().numPartitions() : 0;
            for (Tick.Word word : words) {
                for (int to = 0; to < parts; to++) {
                    ticks.add(new Out(time, key, word.row(to, parts)));
                }
            }
        }

        @Override public boolean hasNext() {
            while (!outs.hasNext() && (due.hasNext() || waiting.hasNext())) {
                if (due.hasNext()) {
                    Timers.Due one = due.next();
                    store.between();
                    Clocks.turn(one.group());
                    Node node = turn(one.group(), now);
                    outs = outs(node, one.group(), node.kind.fire(store, one.time()));
                } else {
                    Node node = waiting.next();
                    due = store.timers(node.number, node.kind).due(store.clocks().time(node.kind.clocks, key));
                }
            }
            return outs.hasNext() || told < ticks.size();
        }

        @Override public Out next() { return hasNext() && outs.hasNext() ? outs.next() : ticks.get(told++); }
    }

    private Iterator<Out> outs(Node node, byte[] key, java.util.Iterator<?> results) {
        int out = Figures.at(node.edge) + Figures.OUT;
        return new AbstractIterator<>() {
            @Override public boolean hasNext() { return results.hasNext(); }

            @Override public Out next() {
                Object result = results.next();
                counts[out] += node.kind == null ? 0 : node.kind.rows(result);
                return new Out(node, key, result);
            }
        };
    }
}
