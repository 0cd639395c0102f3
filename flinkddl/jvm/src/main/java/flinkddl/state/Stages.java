package flinkddl.state;

import flinkddl.scalar.Scalar;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * {@code stages(edges, conditions ..)}: several nodes of a plan as one operator, and rows that pass it. The argument is a STRUCT with a
 * field an edge, of which one is not NULL in each row; its name says what the edge is: {@code 7_inner}, with a TTL
 * {@code 7_inner_ttl_<ms>_<ms>}, takes STRUCT&lt;key: STRUCT, args: STRUCT&gt; to node 7; {@code pass} takes such a STRUCT too,
 * which comes out as it is, in the order of its key; {@code time} takes event time as {@link Tick} has it, and what comes out is for the next stage, of {@code last}
 * nothing comes out; {@code taken} takes entries of another operator's state as they are ({@link Store#take}), and gives nothing. Each edge of a kind that takes a {@link Condition} has it behind, in their order. The result is a STRUCT, by the places of the edges {@code k0}, the group's key, and {@code r0}, a
 * result of the node; {@code p1}, a row that passes. What is not of the row's edge is NULL.
 *
 * <p>{@link StageRule} puts an operator in its place; there is no aggregate that could stand in for it.
 */
public final class Stages implements AggregateFunction<Serializable, Object> {
    private static final String NAME = "stages";
    private static final Pattern EDGE = Pattern.compile("pass|time|last|taken|([0-9]+)_([a-z]+)" + Stage.MORE);

    final List<Edge> edges = new ArrayList<>();
    private final StructType arguments;
    private final StructType result;

    /** An edge by its place: {@code stage} is null of rows that pass and of time; the types of a group's key and of what is taken. */
    record Edge(int place, String name, Stage stage, StructType key, StructType row) implements Serializable { }

    private Stages(StructType arguments, Function<String, UnboundFunction> aggregates) {
        this.arguments = arguments;
        List<StructField> out = new ArrayList<>();
        for (StructField field : ((StructType) arguments.apply(0).dataType()).fields()) {
            Edge edge = edge(field, edges.size(), aggregates);
            edges.add(edge);
            if (edge.stage == null) {
                out.add(DataTypes.createStructField("p" + edge.place, edge.row, true));
            } else {
                out.add(DataTypes.createStructField("k" + edge.place, edge.key, true));
                out.add(DataTypes.createStructField("r" + edge.place, edge.stage.resultType(), true));
            }
        }
        result = DataTypes.createStructType(out);
    }

    private static Edge edge(StructField field, int place, Function<String, UnboundFunction> aggregates) {
        Matcher name = EDGE.matcher(field.name());
        if (!name.matches()) {
            throw new UnsupportedOperationException("an edge of a stage is called '" + field.name() + "'");
        }
        StructType type = (StructType) field.dataType();
        if (name.group(1) == null) {
            return new Edge(place, field.name(), null, null, type);
        }
        StructType row = (StructType) type.apply("args").dataType();
        Stage stage = Stage.of(Stage.Name.of(name, 2, 1), row, aggregates);
        return new Edge(place, field.name(), stage, (StructType) type.apply("key").dataType(), row);
    }

    /** The function of that name, null for another; {@code aggregates} finds those that say what a node's results are. */
    public static UnboundFunction find(String name, Function<String, UnboundFunction> aggregates) {
        return name.equals(NAME) ? Scalar.unbound(name, in -> new Stages(in, aggregates)) : null;
    }

    @Override public DataType[] inputTypes() { return Arrays.stream(arguments.fields()).map(StructField::dataType).toArray(DataType[]::new); }

    @Override public DataType resultType() { return result; }

    @Override public String name() { return NAME; }

    @Override public String canonicalName() { return "flinkddl." + NAME + arguments.catalogString(); }

    @Override public Serializable newAggregationState() { throw alone(); }

    @Override public Serializable update(Serializable state, InternalRow input) { throw alone(); }

    @Override public Serializable merge(Serializable a, Serializable b) { throw alone(); }

    @Override public Object produceResult(Serializable state) { throw alone(); }

    private static UnsupportedOperationException alone() {
        return new UnsupportedOperationException("FD893: this Spark has no operators by key, and a chain of them cannot run without");
    }
}
