package flinkddl.faker;

import flinkddl.scalar.Scalar;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code fake(CAST(NULL AS type), spec, row, now) -> type}: the value of one column in one row of a faker table. The same
 * row has the same value, whoever asks: what is random comes from its number, what depends on the clock from {@code now}.
 */
public final class Fake implements ScalarFunction<Object> {
    private final DataType type;
    private transient UTF8String text;
    private transient Part part;
    private transient long seed;

    private Fake(StructType inputs) {
        if (inputs.length() != 4) {
            throw new UnsupportedOperationException("fake takes type, spec, row, now");
        }
        type = inputs.apply(0).dataType();
    }

    public static void register(Map<String, UnboundFunction> table) {
        table.put("fake", Scalar.unbound("fake", Fake::new));
    }

    @Override public DataType[] inputTypes() {
        return new DataType[] {type, DataTypes.StringType, DataTypes.LongType, DataTypes.TimestampType};
    }

    @Override public DataType resultType() { return type; }

    @Override public String name() { return "fake"; }

    @Override public String toString() { return "flinkddl"; }

    // equal plans: Spark then computes a common expression once
    @Override public boolean equals(Object o) { return o instanceof Fake other && other.type.equals(type); }

    @Override public int hashCode() { return type.hashCode(); }

    @Override public Object produceResult(InternalRow input) {
        UTF8String spec = input.getUTF8String(1);
        if (!spec.equals(text)) { // a literal: it changes with the task at most
            part = Part.of(spec.toString());
            text = spec.clone();
            seed = hash(spec.getBytes());
        }
        Datafaker faker = Datafaker.ofThread();
        faker.begin(mix(seed ^ mix(input.getLong(2))), input.getLong(3) / 1000);
        return part.make(faker);
    }

    private static long hash(byte[] bytes) {
        long h = 0xcbf29ce484222325L;
        for (byte b : bytes) {
            h = (h ^ b) * 0x100000001b3L;
        }
        return h;
    }

    /** SplitMix64's: numbers that follow each other give seeds that have nothing in common. */
    private static long mix(long z) {
        long a = (z + 0x9e3779b97f4a7c15L ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        long b = (a ^ a >>> 27) * 0x94d049bb133111ebL;
        return b ^ b >>> 31;
    }
}
