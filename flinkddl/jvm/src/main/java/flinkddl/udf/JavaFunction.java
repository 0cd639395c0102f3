package flinkddl.udf;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** What a call of a Java function is bound to: its spec, and the types of it. */
abstract class JavaFunction implements BoundFunction {
    final String text;
    private final String name;
    private final DataType[] inputs;
    private final DataType result;
    private final boolean deterministic;

    JavaFunction(JavaSpec spec, StructType bound) {
        text = spec.text;
        name = spec.className;
        Flink flink = Loaders.flink();
        inputs = JavaFunctions.inputs(spec, flink, bound);
        result = JavaFunctions.result(spec, flink);
        deterministic = spec.deterministic && flink.deterministic(spec, Loaders.job(spec));
    }

    /** The struct of all arguments; null for a call without any. */
    final StructType arguments() { return inputs.length == 0 ? null : (StructType) inputs[0]; }

    @Override public final DataType[] inputTypes() { return inputs.clone(); }

    @Override public final DataType resultType() { return result; }

    @Override public final boolean isDeterministic() { return deterministic; }

    @Override public final String name() { return name; }

    @Override public final String canonicalName() { return "flinkddl." + text; }

    @Override public final String toString() { return name; }

    // equal plans: Spark then computes a common expression once
    @Override public final boolean equals(Object o) {
        return o instanceof JavaFunction other && other.getClass() == getClass() && other.text.equals(text);
    }

    @Override public final int hashCode() { return text.hashCode(); }
}
