package flinkddl.udf;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A scalar, async or table function of Flink: {@code flinkddl.`{"class":..}`(struct(arguments))}, without arguments
 * {@code flinkddl.`{..}`()}. A task has an object of its own, which opens the function with the first row.
 */
public final class JavaCall implements ScalarFunction<Object> {
    private final String text;
    private final String name;
    private final DataType[] inputs;
    private final DataType result;
    private final boolean deterministic;
    private transient Kernel kernel;

    JavaCall(JavaSpec spec, StructType bound) {
        text = spec.text;
        name = spec.className;
        Flink flink = Loaders.flink();
        inputs = JavaFunctions.inputs(spec, flink, bound);
        result = JavaFunctions.result(spec, flink);
        deterministic = spec.deterministic && flink.deterministic(spec, Loaders.job(spec));
    }

    public Object invoke(InternalRow arguments) {
        if (kernel == null) {
            open();
        }
        return kernel.call(arguments);
    }

    public Object invoke() { return invoke(InternalRow.empty()); }

    private void open() {
        JavaSpec spec = new JavaSpec(text);
        kernel = Opening.until(this, Loaders.flink().kernel(spec, Loaders.job(spec)));
    }

    @Override public DataType[] inputTypes() { return inputs.clone(); }

    @Override public DataType resultType() { return result; }

    @Override public boolean isDeterministic() { return deterministic; }

    @Override public String name() { return name; }

    @Override public String canonicalName() { return "flinkddl." + text; }

    @Override public String toString() { return name; }

    // equal plans: Spark then computes a common expression once
    @Override public boolean equals(Object o) { return o instanceof JavaCall other && other.text.equals(text); }

    @Override public int hashCode() { return text.hashCode(); }
}
