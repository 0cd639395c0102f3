package flinkddl.udf.flink;

import flinkddl.udf.Accumulating;
import flinkddl.udf.JavaSpec;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.functions.ImperativeAggregateFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** An aggregate function, or a table aggregate function, of which what {@code emitValue} collects is the result. */
final class AggregateKernel implements Accumulating {
    private static final String RETRACT = "retract";

    private final Opened opened;
    private final ImperativeAggregateFunction<?, ?> function;
    private final Arguments arguments;
    private final MethodHandle accumulate;
    private final MethodHandle retract;
    private final MethodHandle merge;
    private final MethodHandle emit;
    private final Conv result;
    private final Collected rows;
    private final Pack pack;

    AggregateKernel(JavaSpec spec, ClassLoader job) {
        opened = new Opened(spec, job);
        function = (ImperativeAggregateFunction<?, ?>) opened.function;
        arguments = new Arguments(spec, job, 1);
        accumulate = opened.method(spec.method, spec.descriptor, arguments.count());
        retract = opened.optional(RETRACT, spec.descriptor, arguments.count());
        merge = named("merge");
        Shape shape = Shape.of(spec.result, spec.resultBridge, job);
        boolean table = spec.kind.startsWith("table");
        result = Conv.of(shape);
        rows = table ? new Collected(shape) : null;
        MethodHandle whole = table ? named("emitValue") : null;
        emit = table && whole == null ? named("emitUpdateWithRetract") : whole;
        pack = new Pack(job);
    }

    /** A method of two parameters by its name alone; null without one. */
    private MethodHandle named(String name) {
        for (Method m : function.getClass().getMethods()) {
            if (m.getName().equals(name) && m.getParameterCount() == 2 && !m.isBridge()) {
                try {
                    m.setAccessible(true);
                    return MethodHandles.lookup().unreflect(m).bindTo(function).asType(MethodType.genericMethodType(2));
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        return null;
    }

    @Override public Object create() { return opened.run("createAccumulator", function::createAccumulator); }

    @Override public void add(Object accumulator, InternalRow row) { change(accumulate, accumulator, row, opened.spec.method); }

    @Override public void retract(Object accumulator, InternalRow row) {
        if (retract == null) {
            throw new UnsupportedOperationException(
                "FD890: rows are taken back, and the class '" + opened.spec.className + "' has no method 'retract'");
        }
        change(retract, accumulator, row, RETRACT);
    }

    private void change(MethodHandle method, Object accumulator, InternalRow row, String what) {
        opened.run(what, () -> {
            Object[] values = arguments.of(row);
            values[0] = accumulator;
            return (Object) method.invokeExact(values);
        });
    }

    @Override public boolean merges() { return merge != null; }

    @Override public void merge(Object accumulator, Object other) {
        if (merge == null) {
            throw new UnsupportedOperationException(
                "FD890: two accumulators come together, and the class '" + opened.spec.className + "' has no method 'merge'");
        }
        opened.run("merge", () -> (Object) merge.invokeExact(accumulator, (Object) List.of(other)));
    }

    @SuppressWarnings("unchecked")
    @Override public Object result(Object accumulator) {
        if (rows == null) {
            return opened.run("getValue", () -> result.back(((AggregateFunction<Object, Object>) function).getValue(accumulator)));
        }
        return opened.run("emitValue", () -> {
            Object nothing = (Object) emit.invokeExact(accumulator, (Object) rows);
            return nothing == null ? new GenericArrayData(rows.take()) : nothing;
        });
    }

    @Override public byte[] write(Object accumulator) { return pack.write(accumulator); }

    @Override public Object read(byte[] bytes) { return pack.read(bytes); }

    @Override public void close() { opened.close(); }
}
