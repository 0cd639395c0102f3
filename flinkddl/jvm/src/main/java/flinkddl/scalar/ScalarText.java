package flinkddl.scalar;

import java.io.UnsupportedEncodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.commons.lang3.StringUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Text functions whose answers Spark's own cannot give. */
public final class ScalarText {
    private static final Map<String, Pattern> PATTERNS = new ConcurrentHashMap<>();

    private ScalarText() {}

    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarText.class); }

    static UTF8String utf(String s) { return s == null ? null : UTF8String.fromString(s); }

    /** A matcher, or null for NULL arguments and for a pattern that does not compile; patterns are kept. */
    private static Matcher matcher(Object s, Object regex) {
        if (s == null || regex == null) {
            return null;
        }
        if (PATTERNS.size() > 500) {
            PATTERNS.clear();
        }
        try {
            return PATTERNS.computeIfAbsent(regex.toString(), Pattern::compile).matcher(s.toString());
        } catch (PatternSyntaxException e) {
            return null;
        }
    }

    public static final class RegexpExtract extends Scalar {
        public static UTF8String invoke(UTF8String s, UTF8String regex, int group) {
            Matcher m = matcher(s, regex);
            return m == null || group < 0 || group > m.groupCount() || !m.find() ? null : utf(m.group(group));
        }
    }

    public static final class RegexpExtractAll extends Scalar {
        @Override public DataType resultType() { return DataTypes.createArrayType(DataTypes.StringType); }

        public static ArrayData invoke(UTF8String s, UTF8String regex, int group) {
            Matcher m = matcher(s, regex);
            return m == null || group < 0 || group > m.groupCount() ? null
                : new GenericArrayData(m.results().map(r -> utf(r.group(group))).toArray());
        }
    }

    public static final class RegexpInstr extends Scalar {
        public static Integer invoke(UTF8String s, UTF8String regex) {
            Matcher m = matcher(s, regex);
            return m == null ? null : Integer.valueOf(m.find() ? m.start() + 1 : 0);
        }
    }

    public static final class Regexp extends Scalar {
        public static Boolean invoke(UTF8String s, UTF8String regex) {
            Matcher m = matcher(s, regex);
            return s == null || regex == null ? null : Boolean.valueOf(m != null && regex.numBytes() > 0 && m.find());
        }
    }

    public static final class RegexpReplace extends Scalar {
        public static UTF8String invoke(UTF8String s, UTF8String regex, UTF8String to) {
            Matcher m = to == null ? null : matcher(s, regex);
            return m == null ? null : utf(m.replaceAll(Matcher.quoteReplacement(to.toString())));
        }
    }

    /** {@code overlay(text, new, start, length)}: counts in Java's characters; a start outside of the text changes nothing. */
    public static final class Overlay extends Scalar {
        public static UTF8String invoke(UTF8String text, UTF8String with, long start, long length) {
            if (text == null || with == null) {
                return null;
            }
            String s = text.toString();
            if (start <= 0 || start > s.length()) {
                return text;
            }
            int at = (int) start - 1;
            int end = at + (int) length;
            return utf(s.substring(0, at) + with + (length > 0 && end < s.length() ? s.substring(end) : ""));
        }

        public static UTF8String invoke(UTF8String text, UTF8String with, long start) {
            return with == null ? null : invoke(text, with, start, with.toString().length());
        }
    }

    /** {@code str_to_map(text, pairs, keys)}: both separators are regular expressions; a key without value has NULL. */
    public static final class StrToMap extends Scalar {
        @Override public DataType resultType() { return DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType); }

        public static MapData invoke(UTF8String text, UTF8String pairs, UTF8String keys) {
            if (text == null || pairs == null || keys == null) {
                return null;
            }
            Map<UTF8String, UTF8String> found = new LinkedHashMap<>();
            for (String pair : text.numBytes() == 0 ? new String[0] : text.toString().split(pairs.toString())) {
                String[] parts = pair.split(keys.toString(), 2);
                found.put(utf(parts[0]), parts.length < 2 ? null : utf(parts[1]));
            }
            return new ArrayBasedMapData(
                new GenericArrayData(found.keySet().toArray()), new GenericArrayData(found.values().toArray()));
        }
    }

    /** {@code instr(text, part, start, nth)}: a negative start searches backwards from that far before the end. */
    public static final class Instr extends Scalar {
        public static Integer invoke(UTF8String text, UTF8String part, int start, int nth) {
            if (text == null || part == null) {
                return null;
            }
            if (nth <= 0) {
                throw new IllegalArgumentException("INSTR: the occurrence must be positive, but was " + nth);
            }
            String s = text.toString();
            int length = s.codePointCount(0, s.length());
            if (start == 0 || Math.abs((long) start) > length) {
                return start != 0 && part.numBytes() == 0 ? 1 : 0;
            }
            int at = s.offsetByCodePoints(0, start > 0 ? start - 1 : length + start) - (start > 0 ? 1 : -1);
            for (int i = 0; i < nth && (at >= 0 || i == 0); i++) {
                at = start > 0 ? s.indexOf(part.toString(), at + 1) : s.lastIndexOf(part.toString(), at - 1);
            }
            return at < 0 ? 0 : s.codePointCount(0, at) + 1;
        }
    }

    public static final class Ascii extends Scalar {
        public static Integer invoke(UTF8String s) { return s == null ? null : s.numBytes() == 0 ? 0 : s.getBytes()[0] + 0; }
    }

    /** LPAD and RPAD count in Java's characters: one above U+FFFF counts twice, and half of one is a question mark. */
    private static UTF8String pad(UTF8String s, int length, UTF8String with, boolean left) {
        if (s == null || with == null || length < 0 || with.numBytes() == 0) {
            return null;
        }
        String text = s.toString();
        String fill = StringUtils.repeat(with.toString(), length / Math.max(1, with.toString().length()) + 1);
        fill = fill.substring(0, Math.max(0, length - text.length()));
        return utf((left ? fill + text.substring(0, Math.min(length, text.length())) : text + fill).substring(0, length));
    }

    public static final class Lpad extends Scalar {
        public static UTF8String invoke(UTF8String s, int length, UTF8String with) { return pad(s, length, with, true); }
    }

    public static final class Rpad extends Scalar {
        public static UTF8String invoke(UTF8String s, int length, UTF8String with) { return pad(s, length, with, false); }
    }

    /** SPLIT: an empty separator splits into Java's characters. */
    public static final class SplitText extends Scalar {
        @Override public DataType resultType() { return DataTypes.createArrayType(DataTypes.StringType); }

        public static ArrayData invoke(UTF8String s, UTF8String separator) {
            if (s == null || separator == null) {
                return null;
            }
            String text = s.toString();
            String[] parts = separator.numBytes() > 0
                ? StringUtils.splitByWholeSeparatorPreserveAllTokens(text, separator.toString())
                : text.chars().mapToObj(c -> String.valueOf((char) c)).toArray(String[]::new);
            return new GenericArrayData(Arrays.stream(parts).map(ScalarText::utf).toArray());
        }
    }

    public static final class SplitIndex extends Scalar {
        public static UTF8String invoke(UTF8String s, UTF8String separator, int index) {
            if (s == null || separator == null || index < 0) {
                return null;
            }
            String[] parts = StringUtils.splitByWholeSeparatorPreserveAllTokens(s.toString(), separator.toString());
            return index >= parts.length ? null : utf(parts[index]);
        }
    }

    /** {@code printf(format, struct(a, b, ...))}: NULL for a format that does not fit its arguments. */
    public static final class Printf extends Scalar {
        public UTF8String invoke(UTF8String format, InternalRow row) {
            DataType[] types = Arrays.stream(((StructType) arguments.apply(1).dataType()).fields())
                .map(f -> f.dataType()).toArray(DataType[]::new);
            Object[] values = new Object[types.length];
            for (int i = 0; i < values.length; i++) {
                Object v = row.get(i, types[i]);
                values[i] = v instanceof Decimal d ? d.toJavaBigDecimal() : v;
            }
            try {
                return format == null ? null : utf(String.format(format.toString(), values));
            } catch (java.util.IllegalFormatException e) {
                return null;
            }
        }
    }

    public static final class Decode extends Scalar {
        public static UTF8String invoke(byte[] b, UTF8String charset) throws UnsupportedEncodingException {
            return b == null || charset == null ? null : utf(new String(b, charset.toString()));
        }
    }

    public static final class Encode extends Scalar {
        public static byte[] invoke(UTF8String s, UTF8String charset) throws UnsupportedEncodingException {
            return s == null || charset == null ? null : s.toString().getBytes(charset.toString());
        }
    }

    public static final class FromBase64 extends Scalar {
        public static UTF8String invoke(UTF8String s) {
            return s == null ? null : utf(new String(Base64.getDecoder().decode(s.getBytes()), StandardCharsets.UTF_8));
        }
    }

    public static final class ToBase64 extends Scalar {
        public static UTF8String invoke(byte[] b) { return b == null ? null : utf(Base64.getEncoder().encodeToString(b)); }
    }

    public static final class HashCode extends Scalar {
        public static Integer invoke(UTF8String s) { return s == null ? null : Integer.valueOf(Math.abs(s.toString().hashCode())); }
    }

    /** SIMILAR TO: SQL's regular expressions, as Calcite translates them to Java's. */
    public static final class Similar extends Scalar {
        private static final Map<String, String> CLASSES = Map.of("ALPHA", "\\p{Alpha}", "UPPER", "\\p{Upper}",
            "LOWER", "\\p{Lower}", "DIGIT", "\\d", "ALNUM", "\\p{Alnum}", "SPACE", " ", "WHITESPACE", "\\s");

        public static Boolean invoke(UTF8String s, UTF8String similar, UTF8String escape) {
            if (s == null || similar == null) {
                return null;
            }
            String regex = regex(similar.toString(), escape.toString());
            Matcher m = matcher(s, regex);
            if (m == null) {
                throw new PatternSyntaxException("SIMILAR TO", regex, -1);
            }
            return m.matches();
        }

        private static String regex(String text, String escape) {
            StringBuilder out = new StringBuilder("(?s)");
            boolean inside = false;
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (escape.indexOf(c) == 0) {
                    out.append(Pattern.quote(text.substring(++i, i + 1)));
                } else if (inside && text.startsWith("[:", i)) {
                    int end = text.indexOf(":]", i);
                    out.append(CLASSES.get(text.substring(i + 2, end).toUpperCase()));
                    i = end + 1;
                } else {
                    inside = c == '[' || inside && c != ']';
                    out.append(inside ? c : c == '%' ? ".*" : c == '_' ? "." : "\\^$".indexOf(c) >= 0 ? "\\" + c : c);
                }
            }
            return out.toString();
        }
    }
}
