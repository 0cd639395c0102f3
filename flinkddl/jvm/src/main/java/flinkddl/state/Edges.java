package flinkddl.state;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** What a row of {@link Stages} is to the operator: the bytes of its group's key and of itself, by the edge that it is of. */
public final class Edges implements Given {
    private final KeyedStage.Node[] nodes; // by the place of the edge

    /** {@code conditions} of the edges whose kinds take one, in their order. */
    Edges(List<Stages.Edge> edges, Iterator<Expression> conditions) {
        nodes = new KeyedStage.Node[edges.size()];
        for (Stages.Edge edge : edges) {
            Kind kind = edge.stage() == null ? null : edge.stage().made();
            if (kind != null && edge.stage().conditional()) {
                kind.when(Condition.of(conditions.next()));
            }
            int number = edge.stage() == null ? number(edge) : edge.stage().node;
            nodes[edge.place()] = new KeyedStage.Node(number, kind, kind == null ? null : new Rows(edge.key()), new Rows(edge.row()), edge.place());
        }
    }

    private static int number(Stages.Edge edge) {
        return switch (edge.name()) {
            case "time" -> Rows.TIME;
            case "last" -> Rows.LAST;
            case "taken" -> Rows.TAKEN;
            default -> edge.place();
        };
    }

    KeyedStage.Node[] nodes() { return nodes.clone(); }

    /** Whether each node has a kind that keeps its state by key. */
    boolean covered(List<Stages.Edge> edges) {
        return edges.stream().allMatch(e -> e.stage() == null || nodes[e.place()].kind() != null);
    }

    @Override public KeyedStage.Node node(UnsafeRow edges) { return of(edges); }

    @Override public UnsafeRow key(KeyedStage.Node node, UnsafeRow edges) {
        return edges.getStruct(node.edge(), 2).getStruct(0, node.key().type.length());
    }

    @Override public UnsafeRow arguments(KeyedStage.Node node, UnsafeRow edges) {
        return edges.getStruct(node.edge(), 2).getStruct(1, node.arguments().type.length());
    }

    @Override public Combine.Pair pair(UnsafeRow edges) { return new Combine.Pair(row(edges), key(edges)); }

    // called from generated code

    public byte[] key(InternalRow edges) {
        KeyedStage.Node node = of(edges);
        InternalRow row = edges.getStruct(node.edge(), node.kind() == null ? node.arguments().type.length() : 2);
        if (node.timed() || node.number() == Rows.TAKEN) {
            return Tick.key(row.getInt(0), row.getInt(1));
        }
        return node.kind() == null ? node.arguments().pass(node.edge(), row)
            : node.key().key(node.number(), row.getStruct(0, node.key().type.length()));
    }

    public byte[] row(InternalRow edges) {
        KeyedStage.Node node = of(edges);
        int fields = node.arguments().type.length();
        InternalRow row = edges.getStruct(node.edge(), node.kind() == null ? fields : 2);
        return node.arguments().pack(node.kind() == null ? row : row.getStruct(1, fields));
    }

    private KeyedStage.Node of(InternalRow edges) {
        for (KeyedStage.Node node : nodes) {
            if (!edges.isNullAt(node.edge())) {
                return node;
            }
        }
        throw new IllegalStateException("a row of no edge has come to a stage");
    }
}
