package flinkddl.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** How a row is read that is on its way to a stage and not yet bytes: views of a row are good as long as it is. */
interface Given extends Serializable {
    /** The node that it is of; one without a kind where it goes by. */
    KeyedStage.Node node(UnsafeRow row);

    /** The key of its group, of a node with a kind. */
    UnsafeRow key(KeyedStage.Node node, UnsafeRow row);

    /** What that node is given. */
    UnsafeRow arguments(KeyedStage.Node node, UnsafeRow row);

    /** The row as the stage has it. */
    Combine.Pair pair(UnsafeRow row);

    /** Rows of one node: STRUCT of its arguments, STRUCT of the key. */
    record Alone(KeyedStage.Node node) implements Given {
        @Override public KeyedStage.Node node(UnsafeRow row) { return node; }

        @Override public UnsafeRow key(KeyedStage.Node of, UnsafeRow row) { return row.getStruct(1, node.key().type.length()); }

        @Override public UnsafeRow arguments(KeyedStage.Node of, UnsafeRow row) { return row.getStruct(0, node.arguments().type.length()); }

        @Override public Combine.Pair pair(UnsafeRow row) {
            return new Combine.Pair(Rows.bytes(arguments(node, row)), node.key().key(node.number(), key(node, row)));
        }
    }
}
