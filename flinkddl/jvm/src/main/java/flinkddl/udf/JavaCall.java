package flinkddl.udf;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.StructType;

/**
 * A scalar, async or table function of Flink: {@code flinkddl.`{"class":..}`(struct(arguments))}, without arguments
 * {@code flinkddl.`{..}`()}. A task has an object of its own, which opens the function with the first row.
 */
public final class JavaCall extends JavaFunction implements ScalarFunction<Object> {
    private transient Kernel kernel;

    JavaCall(JavaSpec spec, StructType bound) { super(spec, bound); }

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
}
