package flinkddl.udf.flink;

import flinkddl.udf.JavaSpec;
import flinkddl.udf.Kernel;
import java.lang.invoke.MethodHandle;
import org.apache.flink.table.functions.TableFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** A table function: what one row collects is an array of structs. */
final class TableKernel implements Kernel {
    private final Opened opened;
    private final Arguments arguments;
    private final MethodHandle eval;
    private final Collected rows;

    @SuppressWarnings("unchecked")
    TableKernel(JavaSpec spec, ClassLoader job) {
        opened = new Opened(spec, job);
        arguments = new Arguments(spec, job, 0);
        eval = opened.method(spec.method, spec.descriptor, arguments.count());
        rows = new Collected(Shape.of(spec.result, spec.resultBridge, job));
        ((TableFunction<Object>) opened.function).setCollector(rows);
    }

    @Override public Object call(InternalRow row) {
        return opened.run(opened.signature(), () -> {
            Object nothing = (Object) eval.invokeExact(arguments.of(row));
            return nothing == null ? new GenericArrayData(rows.take()) : nothing;
        });
    }

    @Override public void close() {
        opened.run("finish", () -> {
            ((TableFunction<?>) opened.function).finish();
            if (rows.take().length > 0) {
                throw new UnsupportedOperationException("a row collected in finish() has no place to go on Spark");
            }
            return null;
        });
        opened.close();
    }
}
