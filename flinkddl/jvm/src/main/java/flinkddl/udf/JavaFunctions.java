package flinkddl.udf;

import flinkddl.scalar.Scalar;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Java functions of Flink in the catalog: the name is the spec, so that all is known where a call is bound. */
public final class JavaFunctions {
    private JavaFunctions() { }

    /** The function of a name that is a spec; null for another name. */
    public static UnboundFunction find(String name) {
        if (!name.startsWith(JavaSpec.BEGIN)) {
            return null;
        }
        JavaSpec spec = new JavaSpec(name);
        return Scalar.unbound(name, in -> spec.aggregates() ? new JavaAggregate(spec, in) : new JavaCall(spec, in));
    }

    /** The aggregate function of a spec, opened. */
    static Accumulating accumulating(String text) {
        JavaSpec spec = new JavaSpec(text);
        return Loaders.flink().accumulating(spec, Loaders.job(spec));
    }

    /** The same, closed with the task, or when nobody holds {@code owner} any more. */
    public static Accumulating accumulating(String text, Object owner) { return Opening.until(owner, accumulating(text)); }

    /** Whether a spec's aggregate takes the first of equal arguments alone. */
    public static boolean distinct(String text) { return new JavaSpec(text).distinct; }

    /** The Spark type of a spec's result. */
    public static DataType result(String text) { return result(new JavaSpec(text), Loaders.flink()); }

    /** What Spark has to give: one struct of all arguments, or nothing. */
    static DataType[] inputs(JavaSpec spec, Flink flink, StructType bound) {
        if (spec.arguments.isEmpty() && bound.isEmpty()) {
            return new DataType[0];
        }
        boolean fits = bound.length() == 1 && bound.apply(0).dataType() instanceof StructType given
            && given.length() == spec.arguments.size();
        for (int i = 0; fits && i < spec.arguments.size(); i++) {
            DataType given = ((StructType) bound.apply(0).dataType()).apply(i).dataType();
            fits = shape(flink.carrier(spec.arguments.get(i))).equals(shape(given));
        }
        if (!fits) {
            String given = bound.isEmpty() ? "nothing" : bound.apply(0).dataType().sql();
            throw new UnsupportedOperationException(spec.className + " takes " + spec.arguments + ", not " + given);
        }
        return new DataType[] {bound.apply(0).dataType()};
    }

    /** A type by what its values are made of: a rowtime column is TIMESTAMP where a plain one is TIMESTAMP_NTZ. */
    private static String shape(DataType type) {
        return type.catalogString().replace("timestamp_ntz", "timestamp").replaceAll("[^:<>,]+:", "");
    }

    /** The type of a result as Spark has it. */
    static DataType result(JavaSpec spec, Flink flink) {
        return flink.carrier(spec.kind.startsWith("table") ? rows(spec.result) : spec.result);
    }

    /** Of all rows of a table function: one that collects no rows has a table of one column. */
    private static String rows(String collected) {
        String row = collected.startsWith("ROW<") ? collected : "ROW<`EXPR$0` " + collected + ">";
        return "ARRAY<" + row + ">";
    }
}
