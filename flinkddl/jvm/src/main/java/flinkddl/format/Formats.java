package flinkddl.format;

import flinkddl.scalar.Scalar;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

/** The formats by name, and their kernels: {@code flinkddl.<format>_decode} and {@code flinkddl.<format>_encode}. */
public final class Formats {
    private static final Map<String, Function<Spec, Codec>> CODECS = Map.of(
        "json", Json::new, "csv", Csv::new, "raw", Raw::new,
        "avro", Avro::new, "avro-confluent", Avro::new, "debezium-avro-confluent", Avro::new,
        "debezium-json", Cdc::new, "canal-json", Cdc::new, "maxwell-json", Cdc::new, "ogg-json", Cdc::new);

    /** In Flink's sentence on a value that does not fit, what stands before the field's name; a full stop ends it. */
    private static final String FIELD = " at field: ";

    private Formats() {}

    public static void register(Map<String, UnboundFunction> table) {
        for (String format : CODECS.keySet()) {
            String name = format.replace('-', '_');
            table.put(name + "_decode", Scalar.unbound(name + "_decode", Decode::new));
            table.put(name + "_encode", Scalar.unbound(name + "_encode", Encode::new));
        }
    }

    static Codec codec(Spec spec) { return CODECS.get(spec.format).apply(spec); }

    /** Flink's sentence for a message that a format refuses, with the message itself, cut where it is very long. */
    static IOException refused(String before, byte[] message, String after, Throwable cause) {
        int size = message == null ? 0 : Math.min(message.length, 2000);
        String text = message == null ? "null" : new String(message, 0, size, StandardCharsets.UTF_8);
        return new IOException(before + text + after, cause);
    }

    /** The whole story of a failure on one line, outermost sentence first; marked with the code of its page. */
    static RuntimeException failure(String code, Spec spec, String where, Throwable error) {
        StringBuilder text = new StringBuilder();
        StringBuilder column = new StringBuilder("raw".equals(spec.format) ? spec.type.names[0] : "");
        for (Throwable t = error; t != null; t = t.getCause()) {
            String message = t.getMessage();
            int field = message != null && message.startsWith("Fail to ") ? message.indexOf(FIELD) : -1;
            if (field >= 0) {
                column.append(column.isEmpty() ? "" : ".").append(message, field + FIELD.length(), message.length() - 1);
            }
            text.append(": ").append(message == null ? t.getClass().getSimpleName() : message);
        }
        String what = spec.owner.startsWith("key") ? "key field" : "column"; // a column may have a prefix there
        String named = column.isEmpty() ? "" : ": " + what + " '" + column + "'";
        return new IllegalArgumentException(code + ": " + spec.owner + where + named + text, error);
    }
}
