package flinkddl.udf.flink;

import flinkddl.udf.JavaSpec;
import org.apache.spark.sql.catalyst.InternalRow;

/** A call's arguments out of Spark's struct, as the function's method takes them; the first places may be left free. */
final class Arguments {
    private final Conv[] convs;
    private final boolean[] primitive;
    private final int free;

    Arguments(JavaSpec spec, ClassLoader job, int free) {
        this.free = free;
        convs = new Conv[spec.arguments.size()];
        primitive = new boolean[convs.length];
        for (int i = 0; i < convs.length; i++) {
            Shape shape = Shape.of(spec.arguments.get(i), spec.bridges.get(i), job);
            convs[i] = Conv.of(shape);
            primitive[i] = shape.bridge().isPrimitive();
        }
    }

    int count() { return free + convs.length; }

    Object[] of(InternalRow row) {
        Object[] values = new Object[free + convs.length];
        for (int i = 0; i < convs.length; i++) {
            Object v = convs[i].at(row, i);
            if (v == null && primitive[i]) {
                throw new IllegalArgumentException("argument " + (i + 1) + " is NULL, and the method takes a primitive");
            }
            values[free + i] = v;
        }
        return values;
    }
}
