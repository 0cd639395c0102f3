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
 * {@code stage_<kind>_<node>(arguments)}, with a TTL {@code .._ttl_<ms>} or {@code .._ttl_<ms>_<ms>}, of one that fires by event time {@code .._by_<clocks>}, with {@link Windows} behind it: node number {@code node} of a plan, which keeps its state by key. In a streaming
 * plan {@link StageRule} puts Spark's TransformWithState in the place of its GROUP BY; where that cannot be, it is the
 * aggregate {@code retract_<kind>}, with the same arguments and result. Nothing can stand in for a kind that takes a
 * {@link Condition}, its last argument, and for one that fires by event time.
 */
public final class Stage implements AggregateFunction<Serializable, Object> {
    /** Behind a kind and its number: a TTL, the clocks that its time is of, the other windows of a row. */
    static final String MORE = "((?:_ttl(?:_[0-9]+){1,2})?)(?:_by_([0-9]+))?((?:_(?:hop|cumulate)_[0-9]+_[0-9]+)?)";
    private static final Pattern NAME = Pattern.compile("stage_([a-z]+)_([0-9]+)" + MORE);

    static final int ROWS = 4;

    final String kind;
    final int node;
    private final String ttl;
    private final long clocks;
    private final Windows windows;
    final StructType arguments;
    private final AggregateFunction<Serializable, Object> aggregate;

    private Stage(Name name, StructType arguments, AggregateFunction<Serializable, Object> aggregate) {
        kind = name.kind;
        node = name.node;
        ttl = name.ttl;
        clocks = name.clocks;
        windows = name.windows;
        this.arguments = arguments;
        this.aggregate = aggregate;
    }

    /** What a name says. */
    record Name(String kind, int node, String ttl, long clocks, Windows windows) {
        /** Of what was found: the kind and its number have these places, what is {@link #MORE} follows. */
        static Name of(Matcher found, int kind, int node) {
            String clocks = found.group(4);
            return new Name(found.group(kind), Integer.parseInt(found.group(node)), found.group(3), clocks == null ? 0 : Long.parseLong(clocks), Windows.of(found.group(5)));
        }
    }

    /** The function of that name, null for another; {@code aggregates} finds those that stand in for it. */
    public static UnboundFunction find(String name, Function<String, UnboundFunction> aggregates) {
        Matcher found = NAME.matcher(name);
        if (!found.matches() || aggregate(found.group(1), found.group(3), aggregates) == null) {
            return null;
        }
        Name parts = Name.of(found, 1, 2);
        return Scalar.unbound(name, in -> of(parts, in, aggregates));
    }

    private static UnboundFunction aggregate(String kind, String ttl, Function<String, UnboundFunction> aggregates) {
        String plain = Kinds.timed(kind) == null ? Kinds.conditional(kind) : Kinds.timed(kind);
        return aggregates.apply("retract_" + (plain == null ? kind : plain) + ttl);
    }

    /** A node with arguments of these types. */
    @SuppressWarnings("unchecked")
    static Stage of(Name name, StructType arguments, Function<String, UnboundFunction> aggregates) {
        int plain = Kinds.timed(name.kind) != null ? arguments.length() - Kinds.times(name.kind) : Kinds.conditional(name.kind) != null ? ROWS : arguments.length();
        StructType known = new StructType(Arrays.copyOf(arguments.fields(), Math.min(plain, arguments.length())));
        Object bound = aggregate(name.kind, name.ttl, aggregates).bind(known);
        return new Stage(name, arguments, (AggregateFunction<Serializable, Object>) bound);
    }

    /** What it does; null for a kind that stays an aggregate. */
    Kind made() {
        Kind made = Kinds.of(kind, arguments, lives());
        if (made != null) {
            made.clocks = clocks;
            made.windows = windows;
        }
        return Kinds.timed(kind) != null && clocks == 0 ? null : made;
    }

    boolean conditional() { return Kinds.conditional(kind) != null; }

    /** As {@link Kind#lives}. */
    long[] lives() {
        String[] parts = ttl.split("_"); // "", "ttl", ms, or "" alone
        return ttl.isEmpty() ? new long[] {0, 0} : new long[] {Long.parseLong(parts[2]), Long.parseLong(parts[parts.length - 1])};
    }

    @Override public DataType[] inputTypes() { return Arrays.stream(arguments.fields()).map(StructField::dataType).toArray(DataType[]::new); }

    @Override public DataType resultType() {
        return Kinds.bounded(kind) ? Session.type(aggregate.resultType()) : aggregate.resultType();
    }

    @Override public String name() { return "stage_" + kind + "_" + node + ttl + (clocks == 0 ? "" : "_by_" + clocks) + (windows == null ? "" : windows); }

    @Override public String canonicalName() { return "flinkddl." + name() + arguments.catalogString(); }

    @Override public Serializable newAggregationState() {
        if (conditional() || Kinds.timed(kind) != null) {
            throw new UnsupportedOperationException("FD893: this Spark has no operators by key, and a " + kind + " cannot run without");
        }
        return aggregate.newAggregationState();
    }

    @Override public Serializable update(Serializable state, InternalRow input) { return aggregate.update(state, input); }

    @Override public Serializable merge(Serializable a, Serializable b) { return aggregate.merge(a, b); }

    @Override public Object produceResult(Serializable state) { return aggregate.produceResult(state); }
}
