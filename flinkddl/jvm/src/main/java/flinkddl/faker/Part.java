package flinkddl.faker;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of a faker table or a part of one, as its spec tells it: an expression and the type that its text becomes
 * (Flink-faker's FakerUtils.stringValueToType), or a collection or row of further parts.
 */
final class Part {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter TEXT = new DateTimeFormatterBuilder().appendPattern("uuuu-MM-dd HH:mm:ss")
        .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true).toFormatter(Locale.US);
    private static final long DAY = 86_400_000L;

    private final String owner;
    private final String path;
    private final String root;
    private final String type;
    private final int precision;
    private final int scale;
    private final float nulls;
    private final boolean required;
    private final int length;
    private final String template;
    private final Clock clock;
    private final Part[] parts;

    private Part(String owner, JsonNode n) {
        this.owner = owner;
        path = n.path("path").asText();
        root = n.path("root").asText();
        type = n.path("type").asText();
        precision = n.path("precision").asInt();
        scale = n.path("scale").asInt();
        nulls = (float) n.path("nulls").asDouble();
        required = n.path("required").asBoolean();
        length = n.path("length").asInt(1);
        template = n.path("expression").asText();
        clock = Clock.of(template);
        parts = new Part[n.path("parts").size()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = new Part(owner, n.path("parts").get(i));
        }
    }

    static Part of(String spec) {
        try {
            JsonNode n = JSON.readTree(spec);
            return new Part(n.path("table").asText(), n.path("column"));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(spec, e);
        }
    }

    /** A value as Spark holds it inside. */
    Object make(Datafaker faker) {
        if (nulls > 0 && faker.random.nextFloat() < nulls) {
            return null;
        }
        return switch (root) {
            case "ROW" -> new GenericInternalRow(all(faker));
            case "ARRAY" -> {
                Object[] elements = new Object[length];
                for (int i = 0; i < length; i++) {
                    elements[i] = parts[0].make(faker);
                }
                yield new GenericArrayData(elements);
            }
            case "MAP", "MULTISET" -> map(faker);
            default -> value(faker);
        };
    }

    private Object[] all(Datafaker faker) {
        Object[] values = new Object[parts.length];
        for (int i = 0; i < parts.length; i++) {
            values[i] = parts[i].make(faker);
        }
        return values;
    }

    /** A key that comes again has its last value, and in a MULTISET counts once more. */
    private Object map(Datafaker faker) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < length; i++) {
            Object[] made = all(faker);
            if (root.equals("MAP")) {
                map.put(made[0], made[1]);
            } else {
                map.merge(made[0], 1, (a, b) -> (Integer) a + (Integer) b);
            }
        }
        return new ArrayBasedMapData(
            new GenericArrayData(map.keySet().toArray()), new GenericArrayData(map.values().toArray()));
    }

    private Object value(Datafaker faker) {
        String text;
        try {
            text = clock == null ? faker.text(template) : clock.text(faker);
        } catch (Throwable e) {
            throw failure(reason(e), e);
        }
        Object value;
        try {
            value = read(text == null ? "" : text);
        } catch (RuntimeException e) {
            throw failure("gave '" + text + "', which is no " + type, e);
        }
        if (value == null && required) {
            throw failure("gave '" + text + "', which has too many digits for " + type + " NOT NULL", null);
        }
        return value;
    }

    private Object read(String text) {
        return switch (root) {
            case "BOOLEAN" -> Boolean.parseBoolean(text);
            case "TINYINT" -> Byte.parseByte(text);
            case "SMALLINT" -> Short.parseShort(text);
            case "INT" -> Integer.parseInt(text);
            case "BIGINT" -> Long.parseLong(text);
            case "FLOAT" -> Float.parseFloat(text);
            case "DOUBLE" -> Double.parseDouble(text);
            case "DECIMAL" -> decimal(new BigDecimal(text).setScale(scale, RoundingMode.HALF_UP));
            case "DATE" -> text.length() == 10 ? (int) LocalDate.parse(text).toEpochDay()
                : (int) Math.floorDiv(instant(text).toEpochMilli(), DAY);
            case "TIME" -> time(text);
            case "TIMESTAMP", "TIMESTAMP_LTZ" -> micros(instant(text));
            default -> UTF8String.fromString(text);
        };
    }

    /** NULL where it has too many digits (DecimalData.fromBigDecimal). */
    private Decimal decimal(BigDecimal value) {
        return value.precision() > precision ? null : Decimal.apply(value, precision, scale);
    }

    /** The instant of a text in the zone of this JVM, in which Datafaker writes; or of one that says its own (ISO). */
    private static Instant instant(String text) {
        if (text.indexOf('T') < 0) {
            return LocalDateTime.parse(text, TEXT).atZone(ZoneId.systemDefault()).toInstant();
        }
        return text.endsWith("Z") ? Instant.parse(text) : LocalDateTime.parse(text).toInstant(ZoneOffset.UTC);
    }

    private long micros(Instant t) {
        long micros = Math.multiplyExact(t.getEpochSecond(), 1_000_000L) + t.getNano() / 1000;
        return micros - Math.floorMod(micros, power(6 - precision));
    }

    /** Milliseconds of the day, from the nanoseconds that Datafaker's time gives, or from 10:15:30. */
    private int time(String text) {
        long nanos = text.indexOf(':') < 0 ? Long.parseLong(text) : LocalTime.parse(text).toNanoOfDay();
        long millis = Math.floorMod(nanos / 1_000_000L, DAY);
        return (int) (millis - millis % power(3 - precision));
    }

    private static long power(int digits) { return digits <= 0 ? 1 : (long) Math.pow(10, digits); }

    private RuntimeException failure(String reason, Throwable cause) {
        String text = "FD478: " + owner + ": 'fields." + path + ".expression' = '" + template + "' " + reason;
        return new IllegalArgumentException(text, cause);
    }

    /** What the innermost cause says: the others name calls inside Datafaker. */
    private static String reason(Throwable error) {
        Throwable t = error;
        while (t.getCause() != null) {
            t = t.getCause();
        }
        return "fails: " + (t.getMessage() == null ? t.getClass().getSimpleName() : t.getMessage());
    }
}
