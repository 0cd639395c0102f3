package flinkddl.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TreeTraversingParser;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/**
 * Flink's two JSON decoders. Over a tree ({@code json} with the stream parser off, and the cells of the CDC formats) a
 * bad value is skipped whole and anything that is no object is an empty map. The oddities of the streaming one are part
 * of what a table reads: a row is complete once as many known names were seen as it has fields, and with errors ignored
 * a container where a scalar belongs leaves the reader in its middle. Only one is not copied: names inside such a
 * container are not taken for columns of the row around it.
 *
 * <p>What nobody reads goes the same way through the tokens, but nothing is built of it. Where that could end otherwise
 * than with all of it built (an error, a reader left in a container's middle) the reader throws: see {@link Sparing}.
 */
final class JsonReader {
    private final boolean ignore;
    private final boolean failOnMissing;
    private final boolean iso;
    private final boolean tree;
    private final boolean spare;
    private boolean lost;

    JsonReader(Spec spec, boolean tree) {
        this.tree = tree;
        spare = spec.type.holes();
        ignore = spec.ignoreErrors();
        failOnMissing = spec.flag("fail-on-missing-field");
        iso = spec.iso();
    }

    void begin() { lost = false; }

    /** The value of a node of a tree. */
    Object read(JsonNode n, FType t, ObjectMapper mapper) throws IOException {
        JsonParser p = new TreeTraversingParser(n == null ? NullNode.instance : n, mapper);
        p.nextToken();
        return read(p, t);
    }

    /** The value at the current token, the parser left on its last token. */
    Object read(JsonParser p, FType t) throws IOException {
        JsonToken token = p.currentToken();
        if (token == null || token == JsonToken.VALUE_NULL) {
            return null;
        }
        if (!t.built && passed(p, token, t)) {
            return null;
        }
        try {
            Object value = convert(p, token, t);
            return t.built ? value : null;
        } catch (Exception | StackOverflowError e) {
            if (!ignore || (spare && !tree && token.isStructStart())) {
                throw e;
            }
            lost |= !tree && token.isStructStart();
            return null;
        } finally {
            if (tree && token.isStructStart() && p.currentToken() == token) {
                p.skipChildren();
            }
        }
    }

    /** Whether what nobody reads is fine, or of no consequence, as it stands; a container is then read to its end. */
    private boolean passed(JsonParser p, JsonToken token, FType t) throws IOException {
        if (tree && ignore) {
            p.skipChildren();
            return true;
        }
        if (!token.isStructStart()) {
            // reading Base64 that is wrong leaves the reader within the text
            return (ignore && t.kind != FType.Kind.BINARY && t.kind != FType.Kind.VARBINARY) || harmless(p, token, t);
        }
        boolean text = t.kind == FType.Kind.CHAR || t.kind == FType.Kind.VARCHAR;
        if (text) {
            pass(p);
        }
        return text;
    }

    /** Whether a scalar can be read as the type without a look at its value. */
    static boolean harmless(JsonParser p, JsonToken token, FType t) throws IOException {
        return switch (t.kind) {
            case BOOLEAN, CHAR, VARCHAR -> true;
            case FLOAT, DOUBLE -> token.isNumeric();
            case DECIMAL -> token.isNumeric() && plain(p);
            default -> false;
        };
    }

    /** Whether a number has no exponent, which alone may be out of a decimal's bounds. */
    static boolean plain(JsonParser p) throws IOException {
        char[] c = p.getTextCharacters();
        int end = p.getTextOffset() + p.getTextLength();
        boolean plain = true;
        for (int i = p.getTextOffset(); i < end && plain; i++) {
            plain = (c[i] | 0x20) != 'e';
        }
        return plain;
    }

    /** Reads to the end of a value, with the one thing that building its tree could fail at: an exponent out of bounds. */
    static void pass(JsonParser p) throws IOException {
        int depth = 0;
        for (JsonToken token = p.currentToken(); ; token = next(p)) {
            depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
            if (token == JsonToken.VALUE_NUMBER_FLOAT && !plain(p)) {
                p.getDecimalValue().stripTrailingZeros();
            }
            if (depth == 0) {
                return;
            }
        }
    }

    private Object convert(JsonParser p, JsonToken token, FType t) throws IOException {
        boolean number = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
        boolean integer = token == JsonToken.VALUE_NUMBER_INT;
        boolean exact = token == JsonToken.VALUE_NUMBER_FLOAT;
        return switch (t.kind) {
            case BOOLEAN -> token.isBoolean() ? token == JsonToken.VALUE_TRUE : Boolean.parseBoolean(p.getText().trim());
            case TINYINT -> integer ? inRange(p.getIntValue()) : Byte.parseByte(p.getText().trim());
            case SMALLINT -> integer ? p.getShortValue() : Short.parseShort(p.getText().trim());
            case INT -> number ? p.getIntValue() : Integer.parseInt(p.getText().trim());
            case BIGINT -> number ? p.getLongValue() : Long.parseLong(p.getText().trim());
            case FLOAT -> exact ? p.getFloatValue() : Float.parseFloat(p.getText().trim());
            case DOUBLE -> exact ? p.getDoubleValue() : Double.parseDouble(p.getText().trim());
            case DECIMAL -> Values.decimal(token == JsonToken.VALUE_STRING
                ? new BigDecimal(tree ? p.getText() : p.getText().trim()) : p.getDecimalValue(), t.precision, t.scale);
            case CHAR, VARCHAR -> token.isStructStart() ? Values.string(p.readValueAsTree().toString())
                : Values.string(p.getTextCharacters(), p.getTextOffset(), p.getTextLength());
            case BINARY, VARBINARY -> p.getBinaryValue();
            case DATE -> Times.date(p.getText());
            case TIME -> Times.time(p.getText());
            case TIMESTAMP, TIMESTAMP_LTZ ->
                Times.timestamp(p.getTextCharacters(), p.getTextOffset(), p.getTextLength(), t, iso);
            case ARRAY -> array(p, token, t);
            case MAP, MULTISET -> tree && token != JsonToken.START_OBJECT ? Values.map(Map.of()) : map(p, token, t);
            case ROW -> row(p, token, t);
            case NULL -> null;
        };
    }

    private static byte inRange(int v) throws IOException {
        if (v != (byte) v) {
            throw new IOException("Numeric value (" + v + ") out of range of Java byte.");
        }
        return (byte) v;
    }

    private GenericArrayData array(JsonParser p, JsonToken token, FType t) throws IOException {
        if (token != JsonToken.START_ARRAY) {
            throw new IOException("Illegal JSON array data...");
        }
        ArrayList<Object> items = new ArrayList<>();
        while (next(p) != JsonToken.END_ARRAY) {
            items.add(read(p, t.children[0]));
        }
        return new GenericArrayData(items.toArray());
    }

    private Object map(JsonParser p, JsonToken token, FType t) throws IOException {
        if (token != JsonToken.START_OBJECT) {
            throw new IOException("Illegal JSON map data...");
        }
        Map<Object, Object> entries = new LinkedHashMap<>();
        while (next(p) != JsonToken.END_OBJECT) {
            Object key = read(p, t.children[0]);
            p.nextToken();
            entries.put(key, read(p, t.children[1]));
        }
        return Values.map(entries);
    }

    /** The next token; the end of the text inside a value is an error, not an endless run of nothing. */
    static JsonToken next(JsonParser p) throws IOException {
        JsonToken token = p.nextToken();
        if (token == null) {
            throw new IOException("Unexpected end-of-input");
        }
        return token;
    }

    InternalRow row(JsonParser p, JsonToken token, FType t) throws IOException {
        if (token != JsonToken.START_OBJECT) {
            throw new IOException("Illegal JSON object data...");
        }
        Object[] values = new Object[t.size()];
        int seen = 0;
        int expected = 0;
        for (token = next(p); token != JsonToken.END_OBJECT; token = p.currentToken()) {
            if (token == null) {
                throw new IOException("Unexpected end-of-input");
            }
            if (seen >= values.length) {
                skip(p);
                continue;
            }
            String name = p.getText();
            p.nextToken();
            int field = lost ? -1 : find(t.names, name, expected);
            if (field < 0) {
                skip(p);
                continue;
            }
            try {
                values[field] = read(p, t.children[field]);
            } catch (Exception | StackOverflowError e) {
                throw new IOException("Fail to deserialize at field: " + name + ".", e);
            }
            p.nextToken();
            seen++;
            expected = field + 1;
        }
        if (seen < values.length && failOnMissing) {
            throw new IOException(tree ? "Could not find field with name '" + missing(t, values) + "'."
                : "Some field is missing in the JSON data.");
        }
        return new GenericInternalRow(values);
    }

    private static String missing(FType t, Object[] values) {
        int i = 0;
        while (i < values.length - 1 && values[i] != null) {
            i++;
        }
        return t.names[i];
    }

    /** Index of a name, tried first where it stands when the fields come in declared order. */
    static int find(String[] names, String name, int expected) {
        if (expected < names.length && names[expected].equals(name)) {
            return expected;
        }
        for (int i = 0; i < names.length; i++) {
            if (names[i].equals(name)) {
                return i;
            }
        }
        return -1;
    }

    private static void skip(JsonParser p) throws IOException {
        if (p.currentToken() == null) {
            throw new IOException("Unexpected end-of-input");
        }
        p.skipChildren();
        p.nextToken();
    }
}
