package flinkddl.state;

import flinkddl.Retract;
import flinkddl.scalar.Scalar;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code held_<kind>(key, head, pages, named_struct('key', CAST(NULL AS STRUCT), 'args', STRUCT))}: what a group of a node has given out
 * so far, what a TTL will forget with it, and not taken back, or will give out as it is now where it waits for event time, from its state as Spark's data source {@code statestore} reads it ({@code pages}: what lies in
 * map 0, an ARRAY of STRUCTs of two BINARY, NULL where nothing does; {@code args}: what of the arguments is the same for
 * all rows, the others NULL). The result is a STRUCT {@code k}, the group's key, and
 * {@code r}, a result of the node as if all had come at once, of sessions an ARRAY of them; NULL of a group without a row. So an operator that is new
 * above one that goes on can begin with the rows that are there.
 */
public final class Held implements ScalarFunction<Object>, Serializable {
    private static final Pattern NAME = Pattern.compile("held_([a-z]+)");

    private static final long CLOCK = 1; // any: what fires by event time is not made without one

    private final StructType arguments;
    private final Stage stage;
    private final Rows group;
    private transient Kind kind;

    private Held(String kind, StructType arguments, Function<String, UnboundFunction> aggregates) {
        this.arguments = arguments;
        StructType types = (StructType) arguments.apply(3).dataType();
        group = new Rows((StructType) types.apply("key").dataType());
        stage = Stage.of(new Stage.Name(kind, 0, "", CLOCK, null), (StructType) types.apply("args").dataType(), aggregates);
    }

    /** The function of that name, null for another. */
    public static UnboundFunction find(String name, Function<String, UnboundFunction> aggregates) {
        Matcher found = NAME.matcher(name);
        return found.matches() ? Scalar.unbound(name, in -> new Held(found.group(1), in, aggregates)) : null;
    }

    public InternalRow invoke(byte[] key, byte[] head, ArrayData pages, InternalRow types) {
        if (kind == null) {
            kind = stage.made();
            kind.open();
        }
        Object result = kind.held(Store.plain(kind, head), new Found(pages), types.getStruct(1, stage.arguments.length()));
        return result == null ? null : Retract.row(group.group(key), result);
    }

    @Override public DataType[] inputTypes() {
        DataType[] types = new DataType[arguments.length()];
        for (int i = 0; i < types.length; i++) {
            types[i] = arguments.apply(i).dataType();
        }
        return types;
    }

    @Override public DataType resultType() {
        DataType result = stage.resultType();
        return new StructType().add("k", group.type).add("r", Kinds.session(stage.kind) ? new ArrayType(result, true) : result);
    }

    @Override public String name() { return "held_" + stage.kind; }

    @Override public String canonicalName() { return "flinkddl.state." + name() + arguments.catalogString(); }

    /** Pages of trees that are read, and then forgotten: ages go where there is a TTL no more (Ages.java). */
    private static final class Found implements Pages {
        private final Map<ByteBuffer, byte[]> pages = new HashMap<>();

        Found(ArrayData entries) {
            for (int i = 0; entries != null && i < entries.numElements(); i++) {
                InternalRow entry = entries.getStruct(i, 2);
                pages.put(ByteBuffer.wrap(entry.getBinary(0)), entry.getBinary(1));
            }
        }

        @Override public byte[] get(byte[] name) { return pages.get(ByteBuffer.wrap(name)); }

        @Override public void put(byte[] name, byte[] page, int before) { pages.put(ByteBuffer.wrap(name), page); }

        @Override public void remove(byte[] name, int before) { pages.remove(ByteBuffer.wrap(name)); }
    }
}
