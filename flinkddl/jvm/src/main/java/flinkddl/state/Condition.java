package flinkddl.state;

import java.io.Serializable;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ArrayExists;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * What must hold of a left and a right row. SQL text hands it over as {@code exists(array(CAST(NULL AS STRUCT<l: STRUCT<..>,
 * r: STRUCT<..>>)), p -> ..)}: a lambda function's body is an expression over a variable of which Spark knows nothing but
 * the type, so whatever its optimizer has done to it holds for each pair of rows. The array is never looked at.
 */
final class Condition implements Serializable {
    private final Expression body;
    private transient BasePredicate compiled;
    private transient GenericInternalRow pair;
    private transient InternalRow variable;

    private Condition(Expression body) { this.body = body; }

    /** Make and test one: fails with a LinkageError where this Spark has other classes. */
    static void rehearse() {
        NamedLambdaVariable pair = new NamedLambdaVariable("p", DataTypes.createStructType(new StructField[0]), true, NamedExpression.newExprId(), new AtomicReference<>());
        List<NamedExpression> variables = List.of(pair);
        LambdaFunction lambda = new LambdaFunction(new IsNull(pair), CollectionConverters.asScala(variables).toList(), false);
        of(new ArrayExists(Literal.create(null, DataTypes.createArrayType(pair.dataType())), lambda, true)).holds(null, null);
    }

    static Condition of(Expression marked) {
        if (!(marked instanceof ArrayExists exists) || !(exists.function() instanceof LambdaFunction lambda)) {
            throw new IllegalStateException("the condition of a join has come as " + marked);
        }
        List<NamedExpression> variables = CollectionConverters.asJava(lambda.arguments());
        NamedLambdaVariable variable = (NamedLambdaVariable) variables.get(0);
        return new Condition((Expression) (Object) lambda.function().transform(new AbstractPartialFunction<Expression, Expression>() {
            @Override public boolean isDefinedAt(Expression e) {
                return e instanceof NamedLambdaVariable v && v.exprId().equals(variable.exprId());
            }

            @SuppressWarnings("unchecked")
            @Override public <A extends Expression, B> B applyOrElse(A e, scala.Function1<A, B> otherwise) {
                return isDefinedAt(e) ? (B) new BoundReference(0, e.dataType(), true) : otherwise.apply(e);
            }
        }));
    }

    /** Whether it is true; unknown is not. */
    boolean holds(UnsafeRow left, UnsafeRow right) {
        if (compiled == null) {
            compiled = Predicate$.MODULE$.create(body);
            compiled.initialize(0);
            pair = new GenericInternalRow(2);
            variable = new GenericInternalRow(new Object[] {pair});
        }
        pair.update(0, left);
        pair.update(1, right);
        return compiled.eval(variable);
    }
}
