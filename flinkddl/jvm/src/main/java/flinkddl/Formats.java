package flinkddl;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

/** The formats by name, and their kernels: {@code flinkddl.<format>_decode} and {@code flinkddl.<format>_encode}. */
final class Formats {
    private static final Map<String, Function<Spec, Codec>> CODECS = Map.of(
        "json", Json::new, "csv", Csv::new, "raw", Raw::new,
        "avro", Avro::new, "avro-confluent", Avro::new, "debezium-avro-confluent", Avro::new,
        "debezium-json", Cdc::new, "canal-json", Cdc::new, "maxwell-json", Cdc::new, "ogg-json", Cdc::new);

    private Formats() {}

    static void register(Map<String, UnboundFunction> table) {
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
    static RuntimeException failure(String code, String where, Throwable error) {
        StringBuilder text = new StringBuilder(code).append(": ").append(where);
        for (Throwable t = error; t != null; t = t.getCause()) {
            String message = t.getMessage();
            text.append(": ").append(message == null ? t.getClass().getSimpleName() : message);
        }
        return new IllegalArgumentException(text.toString(), error);
    }
}
