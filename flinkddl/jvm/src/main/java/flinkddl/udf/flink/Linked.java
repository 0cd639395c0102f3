package flinkddl.udf.flink;

import flinkddl.udf.Accumulating;
import flinkddl.udf.Flink;
import flinkddl.udf.JavaSpec;
import flinkddl.udf.Kernel;
import org.apache.spark.sql.types.DataType;

/** The way into what is linked against Flink. */
public final class Linked implements Flink {
    @Override public DataType carrier(String type) { return Carriers.of(Shape.type(type)); }

    @Override public boolean deterministic(JavaSpec spec, ClassLoader job) {
        return Opened.create(spec, job).isDeterministic();
    }

    @Override public Kernel kernel(JavaSpec spec, ClassLoader job) {
        return spec.kind.equals("table") ? new TableKernel(spec, job) : new ScalarKernel(spec, job);
    }

    @Override public Accumulating accumulating(JavaSpec spec, ClassLoader job) { return new AggregateKernel(spec, job); }
}
