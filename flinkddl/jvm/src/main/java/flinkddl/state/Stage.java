package flinkddl.state;

import flinkddl.scalar.Scalar;
import java.io.Serializable;
import java.util.Arrays;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * {@code stage_<kind>_<node>(arguments)}, with a TTL {@code .._ttl_<ms>} or {@code .._ttl_<ms>_<ms>}: node number {@code node} of a plan, which keeps its state by key. In a streaming
 * plan {@link StageRule} puts Spark's TransformWithState in the place of its GROUP BY; where that cannot be, it is the
 * aggregate {@code retract_<kind>}, with the same arguments and result. Nothing can stand in for a kind that takes a
 * {@link Condition}, its last argument.
 */
public final class Stage implements AggregateFunction<Serializable, Object> {
    private static final Pattern NAME = Pattern.compile("stage_([a-z]+)_([0-9]+)((?:_ttl(?:_[0-9]+){1,2})?)");

    static final int ROWS = 4;

    final String kind;
    final int node;
    private final String ttl;
    final StructType arguments;
    private final AggregateFunction<Serializable, Object> aggregate;

    private Stage(String kind, int node, String ttl, StructType arguments, AggregateFunction<Serializable, Object> aggregate) {
        this.kind = kind;
        this.node = node;
        this.ttl = ttl;
        this.arguments = arguments;
        this.aggregate = aggregate;
    }

    /** The function of that name, null for another; {@code aggregates} finds those that stand in for it. */
    public static UnboundFunction find(String name, Function<String, UnboundFunction> aggregates) {
        Matcher found = NAME.matcher(name);
        if (!found.matches() || aggregate(found.group(1), found.group(3), aggregates) == null) {
            return null;
        }
        int node = Integer.parseInt(found.group(2));
        return Scalar.unbound(name, in -> of(found.group(1), node, found.group(3), in, aggregates));
    }

    private static UnboundFunction aggregate(String kind, String ttl, Function<String, UnboundFunction> aggregates) {
        String plain = Kinds.conditional(kind);
        return aggregates.apply("retract_" + (plain == null ? kind : plain) + ttl);
    }

    /** A node of a kind with arguments of these types; {@code ttl} as it stands in the name. */
    @SuppressWarnings("unchecked")
    static Stage of(String kind, int node, String ttl, StructType arguments, Function<String, UnboundFunction> aggregates) {
        Object bound = aggregate(kind, ttl, aggregates).bind(arguments.length() > ROWS && Kinds.conditional(kind) != null ? rows(arguments) : arguments);
        return new Stage(kind, node, ttl, arguments, (AggregateFunction<Serializable, Object>) bound);
    }

    /** The arguments of a call that takes a condition, without that: weight, matchable, left row, right row. */
    private static StructType rows(StructType arguments) { return new StructType(Arrays.copyOf(arguments.fields(), ROWS)); }

    /** What it does; null for a kind that stays an aggregate. */
    Kind made() { return Kinds.of(kind, arguments, lives()); }

    boolean conditional() { return Kinds.conditional(kind) != null; }

    /** As {@link Kind#lives}. */
    long[] lives() {
        String[] parts = ttl.split("_"); // "", "ttl", ms, or "" alone
        return ttl.isEmpty() ? new long[] {0, 0} : new long[] {Long.parseLong(parts[2]), Long.parseLong(parts[parts.length - 1])};
    }

    @Override public DataType[] inputTypes() { return Arrays.stream(arguments.fields()).map(StructField::dataType).toArray(DataType[]::new); }

    @Override public DataType resultType() { return aggregate.resultType(); }

    @Override public String name() { return "stage_" + kind + "_" + node + ttl; }

    @Override public String canonicalName() { return "flinkddl." + name() + arguments.catalogString(); }

    @Override public Serializable newAggregationState() {
        if (conditional()) {
            throw new UnsupportedOperationException("FD893: this Spark has no operators by key, and a join that tests a condition cannot run without");
        }
        return aggregate.newAggregationState();
    }

    @Override public Serializable update(Serializable state, InternalRow input) { return aggregate.update(state, input); }

    @Override public Serializable merge(Serializable a, Serializable b) { return aggregate.merge(a, b); }

    @Override public Object produceResult(Serializable state) { return aggregate.produceResult(state); }
}
