package flinkddl.scalar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.math.BigDecimal;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** The SQL/JSON functions. A path without a mode is strict, as in Flink; {@code '!'} as a default raises the error. */
public final class ScalarJson {
    private static final ObjectMapper MAPPER = new ObjectMapper()
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
        .configure(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES, false);
    private static final Map<String, JsonPath> PATHS = new ConcurrentHashMap<>();

    private ScalarJson() {}

    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarJson.class); }

    /** What a path finds; null where lax mode finds nothing or JSON null, for which strict mode raises. A null document raises in both. */
    private static JsonNode find(UTF8String json, JsonPath path) {
        JsonNode root = null;
        try {
            root = MAPPER.readTree(json.getBytes());
        } catch (java.io.IOException e) {
            if (!path.lax) { // lax forgives text that is no JSON as well
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }
        boolean isNull = root != null && root.isNull();
        JsonNode found = root == null || isNull || root.isMissingNode() ? null : path.read(root);
        found = found == null || found.isNull() ? null : found;
        if (isNull || found == null && !path.lax) {
            throw new IllegalArgumentException(isNull ? "json object can not be null" : "a strict path must find a value that is not null");
        }
        return found;
    }

    private static JsonPath path(UTF8String text) { return PATHS.computeIfAbsent(text.toString(), JsonPath::parse); }

    private static String write(JsonNode node) {
        try {
            return MAPPER.writeValueAsString(MAPPER.treeToValue(node, Object.class));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    private static UTF8String otherwise(UTF8String behaviour, RuntimeException error) {
        if (behaviour != null && behaviour.toString().equals("!")) {
            throw error;
        }
        return behaviour == null ? null : behaviour.substring(1, behaviour.numChars());
    }

    /** JSON_EXISTS where the path or the document fails, unless it raises. */
    private enum OnError {
        T(true), F(false), U(null);

        final Boolean answer;

        OnError(Boolean answer) { this.answer = answer; }
    }

    /** {@code json_exists(json, path, on error)}: on error is "T", "F", "U" or "!". */
    public static final class JsonExists extends Scalar {
        public static Boolean invoke(UTF8String json, UTF8String path, UTF8String onError) {
            if (json == null) {
                return null;
            }
            try {
                return find(json, path(path)) != null;
            } catch (RuntimeException e) {
                otherwise(onError, e);
                return OnError.valueOf(onError.toString()).answer;
            }
        }
    }

    /** What JSON_VALUE returns. */
    private enum Returned {
        STRING, BOOLEAN, INT, DOUBLE;

        static Returned of(JsonNode n) { return n.isTextual() ? STRING : n.isBoolean() ? BOOLEAN : n.isInt() ? INT : DOUBLE; }
    }

    /** {@code json_value(json, path, kind, on empty, on error)}: a default is "=text", none is NULL; kind "" is any. */
    public static final class JsonValue extends Scalar {
        public static UTF8String invoke(UTF8String json, UTF8String path, UTF8String kind, UTF8String onEmpty, UTF8String onError) {
            if (json == null) {
                return null;
            }
            RuntimeException error;
            boolean empty = false;
            try {
                JsonPath p = path(path);
                JsonNode found = find(json, p);
                if (found != null && !found.isContainerNode()) {
                    Returned type = Returned.of(found);
                    if (kind.numBytes() > 0 && Returned.valueOf(kind.toString()) != type) {
                        throw new ClassCastException("JSON_VALUE found " + type + " where " + kind + " is to be returned");
                    }
                    return ScalarText.utf(found.isBigDecimal() ? found.decimalValue().toString() : found.asText());
                }
                error = new IllegalArgumentException("JSON_VALUE found no scalar at '" + path + "'");
                empty = found == null || p.lax;
            } catch (IllegalArgumentException e) {
                error = e;
            }
            return otherwise(empty ? onEmpty : onError, error);
        }
    }

    /** Which of the things found JSON_QUERY puts into an array. */
    private enum Wrapper {
        NONE, UNCONDITIONAL, CONDITIONAL;

        static Wrapper of(String code) { return code.isEmpty() ? NONE : code.equals("U") ? UNCONDITIONAL : CONDITIONAL; }

        boolean wraps(JsonNode n) { return this == UNCONDITIONAL || this == CONDITIONAL && !(n instanceof ArrayNode); }
    }

    /** {@code json_query(json, path, wrapper, on empty, on error)}: wrapper is "", "U" or "C". */
    public static final class JsonQuery extends Scalar {
        public static UTF8String invoke(UTF8String json, UTF8String path, UTF8String wrap, UTF8String onEmpty, UTF8String onError) {
            if (json == null) {
                return null;
            }
            RuntimeException error;
            boolean empty = false;
            try {
                JsonPath p = path(path);
                JsonNode found = find(json, p);
                boolean wraps = found != null && Wrapper.of(wrap.toString()).wraps(found);
                found = wraps ? MAPPER.createArrayNode().add(found) : found;
                if (found != null && found.isContainerNode()) {
                    return ScalarText.utf(write(found));
                }
                error = new IllegalArgumentException("JSON_QUERY found no object or array at '" + path + "'");
                empty = found == null || p.lax;
            } catch (RuntimeException e) {
                error = e;
            }
            return otherwise(empty ? onEmpty : onError, error);
        }
    }

    /** Splits the text of a JSON array into the texts of its elements; NULL for anything else. */
    public static final class JsonTexts extends Scalar {
        @Override public DataType resultType() { return DataTypes.createArrayType(DataTypes.StringType); }

        public static ArrayData invoke(UTF8String json) throws JsonProcessingException {
            if (json == null || !(MAPPER.readTree(json.toString()) instanceof ArrayNode array)) {
                return null;
            }
            Object[] texts = new Object[array.size()];
            for (int i = 0; i < texts.length; i++) {
                JsonNode e = array.get(i);
                texts[i] = e.isNull() ? null : ScalarText.utf(e.isTextual() ? e.asText() : write(e));
            }
            return new GenericArrayData(texts);
        }
    }

    private enum Kind {
        VALUE, OBJECT, ARRAY, SCALAR;

        boolean has(JsonNode n) {
            return switch (this) {
                case VALUE -> true;
                case OBJECT -> n.isObject();
                case ARRAY -> n.isArray();
                case SCALAR -> n.isValueNode();
            };
        }
    }

    /** IS JSON: kind is VALUE, OBJECT, ARRAY or SCALAR. */
    public static final class IsJson extends Scalar {
        public static boolean invoke(UTF8String json, UTF8String kind) {
            try {
                JsonNode node = json == null ? null : MAPPER.readTree(json.toString());
                return node != null && !node.isMissingNode() && Kind.valueOf(kind.toString()).has(node);
            } catch (JsonProcessingException e) {
                return false;
            }
        }
    }

    /** {@code json_members(names, texts, absent)}: an object sorted by name, the last of equal names; NULL is null or left out. */
    public static final class JsonMembers extends Scalar {
        public static UTF8String invoke(ArrayData names, ArrayData texts, boolean absent) throws JsonProcessingException {
            java.util.TreeMap<String, String> members = new java.util.TreeMap<>();
            for (int i = 0; i < names.numElements(); i++) {
                if (!absent || !texts.isNullAt(i)) {
                    String name = MAPPER.writeValueAsString(names.getUTF8String(i).toString());
                    members.put(names.getUTF8String(i).toString(), name + ":" + (texts.isNullAt(i) ? "null" : texts.getUTF8String(i)));
                }
            }
            return ScalarText.utf("{" + String.join(",", members.values()) + "}");
        }
    }

    /** JSON(text) inside a constructor: checked and written again. */
    public static final class JsonChecked extends Scalar {
        public static UTF8String invoke(UTF8String json) throws JsonProcessingException {
            return json == null ? null : ScalarText.utf(write(MAPPER.readTree(json.toString())));
        }
    }

    /** A text as a JSON string, for constructors ({@code ascii} false) and JSON_QUOTE (true). */
    public static final class JsonText extends Scalar {
        public static UTF8String invoke(UTF8String s, boolean ascii) throws JsonProcessingException {
            return s == null ? null : ascii ? quoted(s.toString()) : ScalarText.utf(MAPPER.writeValueAsString(s.toString()));
        }
    }

    /** JSON_QUOTE: everything beyond ASCII as {@code \\uxxxx} in lower case. */
    private static UTF8String quoted(String s) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            int at = "\"\\\b\f\n\r\t".indexOf(c);
            if (at >= 0) {
                out.append('\\').append("\"\\bfnrt".charAt(at));
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return ScalarText.utf(out.append('"').toString());
    }

    public static final class JsonUnquote extends Scalar {
        public static UTF8String invoke(UTF8String s) {
            try {
                boolean quoted = s != null && s.numBytes() > 1 && s.toString().matches("(?s)\".*\"");
                return quoted ? ScalarText.utf(MAPPER.readValue(s.toString(), String.class)) : s;
            } catch (JsonProcessingException e) {
                return s;
            }
        }
    }

    public static final class JsonNumber extends Scalar {
        public static UTF8String invoke(double d) {
            boolean finite = !Double.isNaN(d) && !Double.isInfinite(d);
            return ScalarText.utf(finite ? BigDecimal.valueOf(d).toString() : "\"" + d + "\"");
        }
    }
}
