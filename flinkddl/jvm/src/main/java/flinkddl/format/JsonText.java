package flinkddl.format;

import com.fasterxml.jackson.core.Base64Variants;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes rows as JSON, byte for byte as Flink does. */
final class JsonText {
    private static final byte[] NULL = "null".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] TRUE = "true".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] FALSE = "false".getBytes(StandardCharsets.US_ASCII);
    private static final String HEX = "0123456789ABCDEF";

    /** What becomes of a map entry without a key. */
    private enum NullKeys { FAIL, DROP, LITERAL }

    private final boolean iso;
    private final boolean plain;
    private final boolean omitNulls;
    private final NullKeys nullKeys;
    private final UTF8String nullKey;

    JsonText(Spec spec) {
        iso = spec.iso();
        plain = spec.flag("encode.decimal-as-plain-number");
        omitNulls = spec.flag("encode.ignore-null-fields");
        nullKeys = NullKeys.valueOf(spec.option("map-null-key.mode", "FAIL").toUpperCase(Locale.ROOT));
        nullKey = UTF8String.fromString(spec.option("map-null-key.literal", "null"));
    }

    boolean omitsNulls() { return omitNulls; }

    void row(Bytes out, SpecializedGetters row, FType t) throws IOException {
        out.add('{');
        boolean first = true;
        for (int i = 0; i < t.size(); i++) {
            if (omitNulls && row.isNullAt(i)) {
                continue;
            }
            if (!first) {
                out.add(',');
            }
            first = false;
            string(out, t.utf8(i));
            out.add(':');
            try {
                value(out, row, i, t.children[i]);
            } catch (RuntimeException e) {
                throw new IOException("Fail to serialize at field: " + t.names[i] + ".", e);
            }
        }
        out.add('}');
    }

    private void value(Bytes out, SpecializedGetters g, int i, FType t) throws IOException {
        if (g.isNullAt(i)) {
            out.add(NULL);
            return;
        }
        switch (t.kind) {
            case BOOLEAN -> out.add(g.getBoolean(i) ? TRUE : FALSE);
            case TINYINT -> out.number(g.getByte(i));
            case SMALLINT -> out.number(g.getShort(i));
            case INT -> out.number(g.getInt(i));
            case BIGINT -> out.number(g.getLong(i));
            case FLOAT -> floating(out, Float.isFinite(g.getFloat(i)), Float.toString(g.getFloat(i)));
            case DOUBLE -> floating(out, Double.isFinite(g.getDouble(i)), Double.toString(g.getDouble(i)));
            case DECIMAL -> out.ascii(decimal(g.getDecimal(i, t.precision, t.scale).toJavaBigDecimal(), plain));
            case CHAR, VARCHAR -> string(out, g.getUTF8String(i).getBytes());
            case BINARY, VARBINARY -> quoted(out, Base64Variants.MIME_NO_LINEFEEDS.encode(g.getBinary(i)));
            case DATE -> quoted(out, Times.date(g.getInt(i)));
            case TIME -> quoted(out, Times.time(g.getInt(i)));
            case TIMESTAMP, TIMESTAMP_LTZ -> {
                out.add('"');
                Times.write(out, g.getLong(i), iso, t.kind == FType.Kind.TIMESTAMP_LTZ);
                out.add('"');
            }
            case ARRAY -> array(out, g.getArray(i), t.children[0]);
            case MAP, MULTISET -> map(out, g.getMap(i), t);
            case ROW -> row(out, g.getStruct(i, t.size()), t);
            default -> out.add(NULL);
        }
    }

    /** Trailing zeros stripped and an exponent where BigDecimal shows one, or plain with the full scale. */
    static String decimal(BigDecimal v, boolean plain) {
        return plain ? v.toPlainString() : v.stripTrailingZeros().toString();
    }

    private static void floating(Bytes out, boolean finite, String text) {
        if (finite) {
            out.ascii(text);
        } else {
            quoted(out, text);
        }
    }

    private static void quoted(Bytes out, String ascii) { out.add('"').ascii(ascii).add('"'); }

    private void array(Bytes out, ArrayData a, FType element) throws IOException {
        out.add('[');
        for (int i = 0; i < a.numElements(); i++) {
            if (i > 0) {
                out.add(',');
            }
            value(out, a, i, element);
        }
        out.add(']');
    }

    private void map(Bytes out, MapData m, FType t) throws IOException {
        LinkedHashMap<UTF8String, Integer> entries = new LinkedHashMap<>();
        for (int i = 0; i < m.numElements(); i++) {
            if (!m.keyArray().isNullAt(i)) {
                entries.put(m.keyArray().getUTF8String(i), i);
            } else if (nullKeys == NullKeys.FAIL) {
                throw new IllegalArgumentException("a map has a null key; 'map-null-key.mode' may drop or name it");
            } else if (nullKeys == NullKeys.LITERAL) {
                entries.put(nullKey, i);
            }
        }
        out.add('{');
        char before = 0;
        for (Map.Entry<UTF8String, Integer> entry : entries.entrySet()) {
            if (before != 0) {
                out.add(before);
            }
            before = ',';
            string(out, entry.getKey().getBytes());
            out.add(':');
            value(out, m.valueArray(), entry.getValue(), t.children[1]);
        }
        out.add('}');
    }

    /** A JSON string of UTF-8 bytes: short escapes, other controls and all beyond U+FFFF as \\uXXXX, the rest as it is. */
    static void string(Bytes out, byte[] s) {
        out.add('"');
        int plain = 0;
        for (int i = 0; i < s.length; i++) {
            int c = s[i] & 0xff;
            if (c >= 0x20 && c != '"' && c != '\\' && c < 0xf0) {
                continue;
            }
            out.add(s, plain, i);
            if (c >= 0xf0) {
                int length = Math.min(4, s.length - i);
                for (char x : new String(s, i, length, StandardCharsets.UTF_8).toCharArray()) {
                    unicode(out, x);
                }
                i += length - 1;
            } else {
                int at = "\b\t\n\f\r\"\\".indexOf(c);
                if (at >= 0) {
                    out.add('\\').add("btnfr\"\\".charAt(at));
                } else {
                    unicode(out, c);
                }
            }
            plain = i + 1;
        }
        out.add(s, plain, s.length).add('"');
    }

    private static void unicode(Bytes out, int c) {
        out.add('\\').add('u');
        for (int shift = 12; shift >= 0; shift -= 4) {
            out.add(HEX.charAt(c >> shift & 15));
        }
    }
}
