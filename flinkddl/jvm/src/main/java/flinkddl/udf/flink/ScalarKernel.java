package flinkddl.udf.flink;

import flinkddl.udf.JavaSpec;
import flinkddl.udf.Kernel;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;

/** A scalar function; of an async one each call is waited for in its turn, so that rows keep their order. */
final class ScalarKernel implements Kernel {
    private static final long PATIENCE_MINUTES = 3; // Flink's table.exec.async-scalar.timeout

    private final Opened opened;
    private final Arguments arguments;
    private final MethodHandle eval;
    private final Conv result;
    private final boolean async;

    ScalarKernel(JavaSpec spec, ClassLoader job) {
        opened = new Opened(spec, job);
        async = spec.kind.equals("async");
        arguments = new Arguments(spec, job, async ? 1 : 0);
        eval = opened.method(spec.method, spec.descriptor, arguments.count());
        result = Conv.of(Shape.of(spec.result, spec.resultBridge, job));
    }

    @Override public Object call(InternalRow row) {
        if (async && row.anyNull()) { // Flink does not call an async function then, nor one with several arguments
            return null;
        }
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(opened.job);
        try {
            Object[] values = arguments.of(row);
            return result.back(async ? awaited(values) : (Object) eval.invokeExact(values));
        } catch (Throwable e) {
            throw Opened.failure(opened.spec, opened.signature(), e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private Object awaited(Object[] values) throws Throwable {
        CompletableFuture<Object> future = new CompletableFuture<>();
        values[0] = future;
        Object nothing = (Object) eval.invokeExact(values);
        return nothing == null ? future.get(PATIENCE_MINUTES, TimeUnit.MINUTES) : nothing;
    }

    @Override public void close() { opened.close(); }
}
