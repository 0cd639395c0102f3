package flinkddl.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoder;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.optimizer.CollapseProject$;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.catalyst.optimizer.SimplifyExtractValueOps$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitions;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * In streaming plans, {@code GROUP BY keys} of one {@link Stage} becomes Spark's TransformWithState with a
 * {@link KeyedStage}: rows travel as (bytes of the arguments, bytes of the key), grouped by the second; what comes out is
 * the function's result, a row for each that the node gives, and the key's columns where they are asked for.
 */
final class StageRule extends Rule<LogicalPlan> {
    private static final ObjectType OUT = new ObjectType(KeyedStage.Out.class);

    /** Make what a query would need, once: fails with a LinkageError where this Spark has other classes. */
    static void rehearse() {
        Rows row = new Rows(Rows.typeOf(List.of()));
        Alias key = alias(invoke(row, "key", new Literal(0, DataTypes.IntegerType), struct(List.of())), "key");
        Alias value = alias(invoke(row, "pack", struct(List.of())), "row");
        Attribute out = object(OUT);
        LogicalPlan below = new Project(seq(value, key), new LocalRelation(seq(), seq(), true, Option.empty()));
        combined(new Project(seq(alias(struct(List.of()), "given")), below), null);
        LogicalPlan state = transform(below, key.toAttribute(), value.toAttribute(), new KeyedStage(false), out);
        Alias group = alias(field("group", row.type, out), "group");
        new StageRule().apply(new SerializeFromObject(seq(group), state));
        Condition.rehearse();
    }

    @Override public LogicalPlan apply(LogicalPlan plan) {
        if (!plan.isStreaming()) {
            return plan;
        }
        boolean together = !plan.exists(StageRule::realTime);
        LogicalPlan staged = plan.transformUp(new AbstractPartialFunction<>() {
            @Override public boolean isDefinedAt(LogicalPlan node) { return node instanceof Aggregate a && staged(a, together) != null; }

            @SuppressWarnings("unchecked")
            @Override public <A extends LogicalPlan, B> B applyOrElse(A node, scala.Function1<A, B> otherwise) {
                LogicalPlan stage = node instanceof Aggregate a ? staged(a, together) : null;
                return stage == null ? otherwise.apply(node) : (B) stage;
            }
        });
        // the fields of a result are taken out of a struct that need not be made
        return staged == plan ? plan : widened(SimplifyExtractValueOps$.MODULE$.apply(CollapseProject$.MODULE$.apply(staged)));
    }

    /** Without casts to types that are the same but for what may be NULL: of a stage's columns all may, and Spark refuses those. */
    private static LogicalPlan widened(LogicalPlan plan) {
        return (LogicalPlan) (Object) plan.transformAllExpressions(new AbstractPartialFunction<Expression, Expression>() {
            @Override public boolean isDefinedAt(Expression e) {
                return e instanceof Cast c && c.dataType() instanceof StructType && DataTypeUtils.sameType(c.child().dataType(), c.dataType());
            }

            @SuppressWarnings("unchecked")
            @Override public <A extends Expression, B> B applyOrElse(A e, scala.Function1<A, B> otherwise) {
                return isDefinedAt(e) ? (B) ((Cast) e).child() : otherwise.apply(e);
            }
        });
    }

    /** The stage in the place of a GROUP BY; null where it stays an aggregate. */
    private static LogicalPlan staged(Aggregate a, boolean together) {
        List<AggregateExpression> found = new ArrayList<>();
        for (NamedExpression e : java(a.aggregateExpressions())) {
            ((Expression) e).foreach(x -> {
                if (x instanceof AggregateExpression call) {
                    found.add(call);
                }
                return BoxedUnit.UNIT;
            });
        }
        List<Expression> keys = java(a.groupingExpressions());
        if (!a.isStreaming() || keys.isEmpty() || found.size() != 1 || found.get(0).filter().isDefined()
            || !(found.get(0).aggregateFunction() instanceof V2Aggregator<?, ?> f)
            || !keys.stream().allMatch(k -> UnsafeRowUtils.isBinaryStable(k.dataType()))) {
            return null;
        }
        if (f.aggrFunc() instanceof Stages stages) {
            List<Expression> given = java(f.children());
            Edges edges = new Edges(stages.edges, given.subList(1, given.size()).iterator());
            return edges.covered(stages.edges) ? chained(new GroupBy(a, found.get(0), together), given.get(0), stages.edges, edges) : null;
        }
        Kind kind = f.aggrFunc() instanceof Stage stage ? stage.made() : null;
        return kind == null ? null : alone(new GroupBy(a, found.get(0), together), f, (Stage) f.aggrFunc(), kind);
    }

    /** A GROUP BY and its call; {@code together}: rows are brought together before their exchange, which real-time mode has no use for. */
    private record GroupBy(Aggregate by, AggregateExpression call, boolean together) {
        /**
         * The operator over rows of two columns, bytes of the arguments and of the key; {@code whole} are the rows that
         * {@code given} makes the same of, where they are brought together before.
         */
        LogicalPlan over(Expression row, Expression key, Expression whole, Given given, Attribute out, KeyedStage.Node... nodes) {
            KeyedStage stage = new KeyedStage(together, nodes);
            Combine combine = together ? Combine.of(stage.figures(), given, nodes) : null;
            if (combine != null) {
                SerializeFromObject below = combined(new Project(seq(alias(whole, "given")), by.child()), combine);
                return transform(below, below.output().apply(1), below.output().apply(0), stage, out);
            }
            Alias value = alias(row, "row");
            Alias group = alias(key, "key");
            LogicalPlan below = new Project(seq(value, group), by.child()); // data attributes are bound by place
            return transform(below, group.toAttribute(), value.toAttribute(), stage, out);
        }
    }

    /** Rows of one column by way of objects, as Spark has it for functions over the rows of a task: it is the object. */
    private static SerializeFromObject combined(LogicalPlan below, Combine combine) {
        Attribute out = object(new ObjectType(Combine.Pair.class));
        LogicalPlan rows = new MapPartitions(combine, out, below);
        Alias value = alias(field(Combine.class, "row", DataTypes.BinaryType, out), "row");
        Alias group = alias(field(Combine.class, "key", DataTypes.BinaryType, out), "key");
        return new SerializeFromObject(seq(value, group), rows);
    }

    private static boolean realTime(LogicalPlan node) {
        return node instanceof StreamingDataSourceV2ScanRelation scan && scan.relation().realTimeModeDuration().isDefined();
    }

    /** One node: a group's key are the keys of the GROUP BY. */
    private static LogicalPlan alone(GroupBy of, V2Aggregator<?, ?> function, Stage stage, Kind kind) {
        List<Expression> keys = new ArrayList<>();
        java(of.by.groupingExpressions()).forEach(k -> keys.add(NormalizeFloatingNumbers$.MODULE$.normalize(k)));
        List<Expression> arguments = java(function.children());
        if (stage.conditional()) {
            kind.when(Condition.of(arguments.get(Stage.ROWS)));
            arguments = arguments.subList(0, Stage.ROWS);
        }
        Rows group = new Rows(Rows.typeOf(keys));
        Rows row = new Rows(Rows.typeOf(arguments));
        Expression grouped = struct(keys);
        Expression given = struct(arguments);
        Expression key = invoke(group, "key", new Literal(stage.node, DataTypes.IntegerType), grouped);
        Attribute out = object(OUT);
        KeyedStage.Node node = new KeyedStage.Node(stage.node, kind, group, row, 0);
        LogicalPlan state = of.over(invoke(row, "pack", given), key, struct(List.of(given, grouped)), new Given.Alone(node), out, node);
        DataType type = function.dataType();
        Alias result = alias(field(type instanceof ArrayType ? "array" : "row", type, out), "result");
        Alias ofGroup = alias(field("group", group.type, out), "group");
        List<Expression> columns = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            columns.add(new GetStructField(ofGroup.toAttribute(), i, Option.empty()));
        }
        Replacing replacing = new Replacing(of, result.toAttribute(), columns);
        List<NamedExpression> above = replacing.columns();
        return new Project(CollectionConverters.asScala(above).toList(),
            new SerializeFromObject(replacing.usesKeys ? seq(result, ofGroup) : seq(result), state));
    }

    /** Several nodes and rows that pass: the key of a node's group is in its edge, what the GROUP BY says is the same. */
    private static LogicalPlan chained(GroupBy of, Expression argument, List<Stages.Edge> edges, Edges made) {
        List<Expression> given = new ArrayList<>();
        for (Stages.Edge edge : edges) {
            given.add(normal(new GetStructField(argument, edge.place(), Option.empty()), edge));
        }
        Attribute out = object(OUT);
        Expression rows = struct(given);
        LogicalPlan state = of.over(invoke(made, "row", rows), invoke(made, "key", rows), rows, made, out, made.nodes());
        List<NamedExpression> serialized = new ArrayList<>();
        List<Expression> result = new ArrayList<>();
        List<Expression> keys = new ArrayList<>();
        for (Stages.Edge edge : edges) {
            Literal place = new Literal(edge.place(), DataTypes.IntegerType);
            List<Alias> columns = new ArrayList<>();
            if (edge.stage() == null) {
                columns.add(alias(field("rowOf", edge.row(), out, place), "p" + edge.place()));
            } else {
                DataType type = edge.stage().resultType();
                columns.add(alias(field("groupOf", edge.key(), out, place), "k" + edge.place()));
                columns.add(alias(field(type instanceof ArrayType ? "arrayOf" : "rowOf", type, out, place), "r" + edge.place()));
                keys.add(columns.get(0).toAttribute());
            }
            for (Alias column : columns) {
                serialized.add(column);
                result.add(new Literal(UTF8String.fromString(column.name()), DataTypes.StringType));
                result.add(column.toAttribute());
            }
        }
        Expression whole = new CreateNamedStruct(CollectionConverters.asScala(result).toList());
        return new Project(CollectionConverters.asScala(new Replacing(of, whole, keys).columns()).toList(),
            new SerializeFromObject(CollectionConverters.asScala(serialized).toList(), state));
    }

    /** An edge whose key has one NaN and one zero. */
    private static Expression normal(Expression edge, Stages.Edge of) {
        if (of.stage() == null) {
            return edge;
        }
        Expression key = new GetStructField(edge, 0, Option.empty());
        Expression normal = NormalizeFloatingNumbers$.MODULE$.normalize(key);
        if (normal == key) {
            return edge;
        }
        Expression row = new GetStructField(edge, 1, Option.empty());
        Expression whole = struct(List.of(normal, row));
        return new If(new IsNull(edge), Literal.create(null, whole.dataType()), whole);
    }

    /** Puts a stage's result and its keys in the place of the call and of the grouping expressions. */
    private static final class Replacing extends AbstractPartialFunction<Expression, Expression> {
        private final GroupBy of;
        private final List<Expression> grouped;
        private final Expression result;
        private final List<Expression> keys;
        private boolean usesKeys;

        Replacing(GroupBy of, Expression result, List<Expression> keys) {
            this.of = of;
            grouped = java(of.by.groupingExpressions());
            this.result = result;
            this.keys = keys;
        }

        @Override public boolean isDefinedAt(Expression e) { return replacement(e) != null; }

        @SuppressWarnings("unchecked")
        @Override public <A extends Expression, B> B applyOrElse(A e, scala.Function1<A, B> otherwise) {
            Expression r = replacement(e);
            return r == null ? otherwise.apply(e) : (B) r;
        }

        private Expression replacement(Expression e) {
            if (e instanceof AggregateExpression x && x.resultId().equals(of.call.resultId())) {
                return result;
            }
            for (int i = 0; i < grouped.size(); i++) {
                if (e.semanticEquals(grouped.get(i))) {
                    usesKeys = true;
                    return keys.get(i);
                }
            }
            return null;
        }

        /** The columns of the GROUP BY, from results and groups. */
        List<NamedExpression> columns() {
            List<NamedExpression> columns = new ArrayList<>();
            for (NamedExpression e : java(of.by.aggregateExpressions())) {
                Expression done = ((Expression) e).transformDown(this);
                columns.add(done instanceof NamedExpression n && n.exprId().equals(e.exprId()) ? n : alias(done, e.name(), e.exprId()));
            }
            return columns;
        }
    }

    /** TransformWithState over rows (row, key); time is event time in every stage, and pinned: Spark notes it with the state. */
    @SuppressWarnings("unchecked")
    private static LogicalPlan transform(LogicalPlan below, Attribute key, Attribute row, KeyedStage stage, Attribute out) {
        StatefulProcessor<Object, Object, Object> processor = (StatefulProcessor<Object, Object, Object>) (Object) stage;
        ExpressionEncoder<Object> binary = ExpressionEncoder.apply((AgnosticEncoder<Object>) (Object) Encoders.BINARY());
        LocalRelation nothing = new LocalRelation(seq(key.newInstance()), seq(), false, Option.empty());
        return observed(stage, new TransformWithState(key, row, seq(key), seq(row), processor, TimeMode.EventTime(),
            OutputMode.Update(), binary, out, below, false, seq(key), seq(row), key, nothing));
    }

    /**
     * The stage with its figures as observed metrics, a column a number, called {@code <node>_<name>}, and the rows of each
     * edge that pass it, {@code <first node>_passed<edge>}. They are read once a batch, on the driver; where they stand no code is generated anyway, and nothing is done with a row.
     */
    private static LogicalPlan observed(KeyedStage stage, LogicalPlan state) {
        Figures figures = stage.figures();
        long id = figures.register();
        if (!Figures.observable() || Arrays.stream(stage.nodes()).allMatch(n -> n.kind() == null)) {
            return state;
        }
        List<NamedExpression> metrics = new ArrayList<>();
        for (KeyedStage.Node node : stage.nodes()) {
            for (int i = 0; node.kind() != null && i < Figures.NAMES.length; i++) {
                if (i < Figures.OUT ? i < node.kind().inputs() : i < Figures.LATE || node.kind().clocks != 0) {
                    metrics.add(counted(figures, node, i, node.number() + "_" + Figures.NAMES[i]));
                }
            }
            if (node.kind() == null && !node.timed()) { // edges that pass come behind the nodes
                metrics.add(counted(figures, node, Figures.IN, stage.nodes()[0].number() + "_" + Figures.PASSED + node.edge()));
            }
        }
        return new CollectMetrics("flinkddl.stage" + id, CollectionConverters.asScala(metrics).toList(), state, id);
    }

    private static Alias counted(Figures figures, KeyedStage.Node node, int number, String name) {
        Literal at = new Literal(Figures.at(node.edge()) + number, DataTypes.IntegerType);
        // not deterministic: an optimizer would take what it is now for what it is
        return alias(new Invoke(Literal.fromObject(figures), "count", DataTypes.LongType, seq(at), seq(), true, false, false), name);
    }

    private static Attribute object(ObjectType type) {
        return new AttributeReference("out", type, false, Metadata.empty(),
            NamedExpression.newExprId(), seq());
    }

    /** Bound by place, as Spark's own serializers are: without whole-stage code nothing binds them by name. */
    private static Expression field(String method, DataType type, Attribute out, Expression... more) {
        return field(KeyedStage.class, method, type, out, more);
    }

    private static Expression field(Class<?> of, String method, DataType type, Attribute out, Expression... more) {
        List<Expression> arguments = new ArrayList<>(List.of(new BoundReference(0, out.dataType(), false)));
        arguments.addAll(List.of(more));
        Seq<Expression> given = CollectionConverters.asScala(arguments).toList();
        return new StaticInvoke(of, type, method, given, seq(), true, true, true, Option.empty());
    }

    private static Expression invoke(Object rows, String method, Expression... arguments) {
        return new Invoke(Literal.fromObject(rows), method, DataTypes.BinaryType, seq(arguments), seq(), true, false, true);
    }

    private static Expression struct(List<? extends Expression> values) {
        List<Expression> items = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            items.add(new Literal(UTF8String.fromString("c" + i), DataTypes.StringType));
            items.add(values.get(i));
        }
        return new CreateNamedStruct(CollectionConverters.asScala(items).toList());
    }

    private static Alias alias(Expression e, String name) { return alias(e, name, NamedExpression.newExprId()); }

    private static Alias alias(Expression e, String name, ExprId id) { return new Alias(e, name, id, seq(), Option.empty(), seq()); }

    @SafeVarargs
    @SuppressWarnings("varargs")
    private static <T> Seq<T> seq(T... items) { return CollectionConverters.asScala(List.of(items)).toList(); }

    private static <T> List<T> java(Seq<T> items) { return CollectionConverters.asJava(items); }
}
