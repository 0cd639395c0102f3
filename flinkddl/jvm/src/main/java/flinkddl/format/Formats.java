package flinkddl.format;

import flinkddl.scalar.Scalar;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

/** The kernels of the formats: {@code flinkddl.<format>_decode} and {@code flinkddl.<format>_encode}. */
public final class Formats {
    /** In Flink's sentence on a value that does not fit, what stands before the field's name; a full stop ends it. */
    private static final String FIELD = " at field: ";

    private Formats() {}

    public static void register(Map<String, UnboundFunction> table) {
        for (Format format : Format.values()) {
            String name = format.name().toLowerCase(Locale.ROOT);
            table.put(name + "_decode", Scalar.unbound(name + "_decode", Decode::new));
            table.put(name + "_encode", Scalar.unbound(name + "_encode", Encode::new));
        }
    }

    /** Flink's sentence for a message that a format refuses, with the message itself, cut where it is very long. */
    static IOException refused(String before, byte[] message, String after, Throwable cause) {
        int size = message == null ? 0 : Math.min(message.length, 2000);
        String text = message == null ? "null" : new String(message, 0, size, StandardCharsets.UTF_8);
        return new IOException(before + text + after, cause);
    }

    /** The whole story of a failure on one line, outermost sentence first; marked with the code of its page. */
    static RuntimeException failure(String code, Spec spec, String where, Throwable error) {
        StringBuilder text = new StringBuilder();
        StringBuilder column = new StringBuilder(spec.format == Format.RAW ? spec.type.names[0] : "");
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
