package flinkddl.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoder;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
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
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
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
    /** Make what a query would need, once: fails with a LinkageError where this Spark has other classes. */
    static void rehearse() {
        Rows row = new Rows(Rows.typeOf(List.of()));
        Alias key = alias(invoke(row, "key", new Literal(0, DataTypes.IntegerType), struct(List.of())), "key");
        Alias value = alias(invoke(row, "pack", struct(List.of())), "row");
        Attribute out = object();
        LogicalPlan below = new Project(seq(value, key), new LocalRelation(seq(), seq(), true, Option.empty()));
        LogicalPlan state = transform(below, key.toAttribute(), value.toAttribute(), new KeyedStage(), out);
        Alias group = alias(field("group", row.type, out), "group");
        new StageRule().apply(new SerializeFromObject(seq(group), state));
    }

    @Override public LogicalPlan apply(LogicalPlan plan) {
        if (!plan.isStreaming()) {
            return plan;
        }
        LogicalPlan staged = plan.transformUp(new AbstractPartialFunction<>() {
            @Override public boolean isDefinedAt(LogicalPlan node) { return node instanceof Aggregate a && Grouped.of(a) != null; }

            @SuppressWarnings("unchecked")
            @Override public <A extends LogicalPlan, B> B applyOrElse(A node, scala.Function1<A, B> otherwise) {
                Grouped call = node instanceof Aggregate a ? Grouped.of(a) : null;
                return call == null ? otherwise.apply(node) : (B) call.staged();
            }
        });
        // the fields of a result are taken out of a struct that need not be made
        return staged == plan ? plan : SimplifyExtractValueOps$.MODULE$.apply(CollapseProject$.MODULE$.apply(staged));
    }

    /** A GROUP BY that can be a stage. */
    private record Grouped(Aggregate aggregate, AggregateExpression expression, V2Aggregator<?, ?> function, Stage stage, Kind kind) {
        /** Null where it stays an aggregate. */
        static Grouped of(Aggregate a) {
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
                || !(found.get(0).aggregateFunction() instanceof V2Aggregator<?, ?> f) || !(f.aggrFunc() instanceof Stage stage)
                || !keys.stream().allMatch(k -> UnsafeRowUtils.isBinaryStable(k.dataType()))) {
                return null;
            }
            Kind kind = Kinds.of(stage.kind, stage.arguments, stage.lives());
            return kind == null ? null : new Grouped(a, found.get(0), f, stage, kind);
        }

        LogicalPlan staged() {
            List<Expression> keys = new ArrayList<>();
            java(aggregate.groupingExpressions()).forEach(k -> keys.add(NormalizeFloatingNumbers$.MODULE$.normalize(k)));
            List<Expression> arguments = java(function.children());
            Rows group = new Rows(Rows.typeOf(keys));
            Rows row = new Rows(Rows.typeOf(arguments));
            Alias key = alias(invoke(group, "key", new Literal(stage.node, DataTypes.IntegerType), struct(keys)), "key");
            Alias value = alias(invoke(row, "pack", struct(arguments)), "row");
            LogicalPlan below = new Project(seq(value, key), aggregate.child()); // data attributes are bound by place
            KeyedStage.Node node = new KeyedStage.Node(stage.node, kind, group, row);
            Attribute out = object();
            return above(transform(below, key.toAttribute(), value.toAttribute(), new KeyedStage(node), out), out, group);
        }

        /** The columns of the GROUP BY, from results and groups. */
        private LogicalPlan above(LogicalPlan state, Attribute out, Rows group) {
            DataType type = function.dataType();
            Alias result = alias(field(type instanceof ArrayType ? "array" : "row", type, out), "result");
            Alias key = alias(field("group", group.type, out), "group");
            Replacing replacing = new Replacing(this, result.toAttribute(), key.toAttribute());
            List<NamedExpression> columns = new ArrayList<>();
            for (NamedExpression e : java(aggregate.aggregateExpressions())) {
                columns.add(replacing.named(e));
            }
            return new Project(CollectionConverters.asScala(columns).toList(),
                new SerializeFromObject(replacing.usesGroup ? seq(result, key) : seq(result), state));
        }
    }

    /** Puts a stage's result and its key's fields in the place of the call and of the grouping expressions. */
    private static final class Replacing extends AbstractPartialFunction<Expression, Expression> {
        private final Grouped call;
        private final List<Expression> keys;
        private final Expression result;
        private final Attribute group;
        private boolean usesGroup;

        Replacing(Grouped call, Expression result, Attribute group) {
            this.call = call;
            keys = java(call.aggregate.groupingExpressions());
            this.result = result;
            this.group = group;
        }

        @Override public boolean isDefinedAt(Expression e) { return replacement(e) != null; }

        @SuppressWarnings("unchecked")
        @Override public <A extends Expression, B> B applyOrElse(A e, scala.Function1<A, B> otherwise) {
            Expression r = replacement(e);
            return r == null ? otherwise.apply(e) : (B) r;
        }

        private Expression replacement(Expression e) {
            if (e instanceof AggregateExpression x && x.resultId().equals(call.expression.resultId())) {
                return result;
            }
            for (int i = 0; i < keys.size(); i++) {
                if (e.semanticEquals(keys.get(i))) {
                    usesGroup = true;
                    return new GetStructField(group, i, Option.empty());
                }
            }
            return null;
        }

        NamedExpression named(NamedExpression e) {
            Expression done = ((Expression) e).transformDown(this);
            return done instanceof NamedExpression n && n.exprId().equals(e.exprId()) ? n : alias(done, e.name(), e.exprId());
        }
    }

    /** TransformWithState over rows (row, key); time is event time in every stage, and pinned: Spark notes it with the state. */
    @SuppressWarnings("unchecked")
    private static LogicalPlan transform(LogicalPlan below, Attribute key, Attribute row, KeyedStage stage, Attribute out) {
        StatefulProcessor<Object, Object, Object> processor = (StatefulProcessor<Object, Object, Object>) (Object) stage;
        ExpressionEncoder<Object> binary = ExpressionEncoder.apply((AgnosticEncoder<Object>) (Object) Encoders.BINARY());
        LocalRelation nothing = new LocalRelation(seq(key.newInstance()), seq(), false, Option.empty());
        return new TransformWithState(key, row, seq(key), seq(row), processor, TimeMode.EventTime(), OutputMode.Update(),
            binary, out, below, false, seq(key), seq(row), key, nothing);
    }

    private static Attribute object() {
        return new AttributeReference("out", new ObjectType(KeyedStage.Out.class), false, Metadata.empty(),
            NamedExpression.newExprId(), seq());
    }

    /** Bound by place, as Spark's own serializers are: without whole-stage code nothing binds them by name. */
    private static Expression field(String method, DataType type, Attribute out) {
        Expression object = new BoundReference(0, out.dataType(), false);
        return new StaticInvoke(KeyedStage.class, type, method, seq(object), seq(), true, true, true, Option.empty());
    }

    private static Expression invoke(Rows rows, String method, Expression... arguments) {
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
