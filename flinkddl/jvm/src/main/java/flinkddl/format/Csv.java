package flinkddl.format;

import com.fasterxml.jackson.core.Base64Variants;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** The format {@code csv}. */
final class Csv extends Codec {
    /** Longer text is quoted without a look at its characters. */
    private static final int LOOSE_CHECK = 24;

    private final FType type;
    private final boolean ignore;
    /** Whether a line that does not fit is passed over: sparing, {@link Sparing} reads it again. */
    private final boolean lenient;
    /** Cells whose text is needed, to be read or to be checked. */
    private final boolean[] wanted;
    private final boolean ignoreExtra;
    private final boolean trailingComma;
    private final boolean failOnMissing;
    private final boolean emptyIsNull;
    private final boolean trim;
    private final String nullLiteral;
    private final String element;
    private final char separator;
    private final int quote;
    private final int escape;
    private final boolean stripped;
    private final CsvLine line;
    private final StringBuilder out = new StringBuilder();

    Csv(Spec spec) {
        type = spec.type;
        ignore = spec.ignoreErrors();
        lenient = ignore && !type.holes();
        wanted = new boolean[type.size()];
        for (int i = 0; i < wanted.length; i++) {
            wanted[i] = type.children[i].built || !passed(type.children[i]);
        }
        ignoreExtra = spec.flag("ignore-trailing-unmappable");
        trailingComma = !"false".equals(spec.option("allow-trailing-comma", "true"));
        failOnMissing = spec.flag("fail-on-missing-columns");
        emptyIsNull = spec.flag("empty-string-as-null");
        trim = spec.flag("trim-spaces");
        nullLiteral = spec.option("null-literal", null);
        element = spec.option("array-element-delimiter", ";");
        stripped = spec.flag("write-bigdecimal-in-scientific-notation");
        line = new CsvLine(spec);
        separator = line.separator;
        quote = line.quote;
        escape = line.escape;
    }

    @Override void decode(byte[] message, List<InternalRow> rows) throws IOException {
        if (message == null) {
            return;
        }
        try {
            line.open(message);
            rows.add(row(cells()));
        } catch (IOException | RuntimeException e) {
            if (!lenient) {
                throw Formats.refused("Failed to deserialize CSV row '", message, "'.", e);
            }
        }
    }

    private List<String> cells() throws IOException {
        List<String> cells = new ArrayList<>(type.size());
        for (String cell = cell(0); cell != null; cell = cell(cells.size())) {
            if (cells.size() < type.size()) {
                cells.add(cell);
            } else if (ignoreExtra) {
                break;
            } else if (!trailingComma || !cell.trim().isEmpty() || line.next(true) != null) {
                throw new IOException("Too many entries: expected at most " + type.size() + " (value #" + type.size()
                    + " (" + cell.length() + " chars) \"" + cell + "\")");
            }
        }
        if (failOnMissing && cells.size() < type.size()) {
            throw new IOException("Not enough column values: expected " + type.size() + ", found " + cells.size());
        }
        return cells;
    }

    private String cell(int i) throws IOException { return line.next(i >= wanted.length || wanted[i]); }

    /** Whether what nobody reads is fine, or of no consequence, whatever its text. */
    private boolean passed(FType t) {
        return ignore || switch (t.kind) {
            case BOOLEAN, CHAR, VARCHAR -> true;
            case ARRAY -> passed(t.children[0]);
            default -> false;
        };
    }

    private InternalRow row(List<String> cells) throws IOException {
        arity(type.size(), cells.size());
        Object[] values = new Object[type.size()];
        for (int i = 0; i < cells.size() && i < values.length; i++) {
            values[i] = wanted[i] ? field(cells.get(i), type.children[i], type.names[i]) : null;
        }
        return new GenericInternalRow(values);
    }

    private void arity(int expected, int actual) throws IOException {
        if (expected != actual && !ignore) {
            throw new IOException("Row length mismatch. " + expected + " fields expected but was " + actual + ".");
        }
    }

    private Object field(String cell, FType t, String name) throws IOException {
        boolean nested = t.kind == FType.Kind.ARRAY || t.kind == FType.Kind.ROW;
        if (!nested && isNull(cell)) {
            return null;
        }
        try {
            Object value = nested ? nested(cell, t) : scalar(cell, t);
            return t.built ? value : null;
        } catch (IOException | RuntimeException e) {
            if (ignore) {
                return null;
            }
            throw new IOException("Fail to deserialize at field: " + name + ".", e);
        }
    }

    private boolean isNull(String cell) {
        return cell.equals(nullLiteral) || (emptyIsNull && cell.isEmpty());
    }

    private Object nested(String cell, FType t) throws IOException {
        List<String> parts = new ArrayList<>();
        if (!cell.trim().isEmpty()) {
            int from = 0;
            for (int to = cell.indexOf(element); to >= 0; to = cell.indexOf(element, from)) {
                parts.add(cell.substring(from, to));
                from = to + element.length();
            }
            parts.add(cell.substring(from));
        }
        if (trim) {
            parts.replaceAll(String::trim);
        }
        boolean array = t.kind == FType.Kind.ARRAY;
        if (!array && parts.isEmpty()) {
            return null;
        }
        if (!array && parts.size() < t.size()) {
            arity(t.size(), parts.size());
        }
        Object[] values = new Object[array ? parts.size() : t.size()];
        for (int i = 0; i < Math.min(values.length, parts.size()); i++) {
            values[i] = array ? element(parts.get(i), t.children[0]) : field(parts.get(i), t.children[i], t.names[i]);
        }
        return array ? new GenericArrayData(values) : new GenericInternalRow(values);
    }

    private Object element(String part, FType t) throws IOException {
        try {
            return isNull(part) ? null : scalar(part, t);
        } catch (IOException | RuntimeException e) {
            if (ignore) {
                return null;
            }
            throw e;
        }
    }

    private static Object scalar(String s, FType t) throws IOException {
        return switch (t.kind) {
            case BOOLEAN -> Boolean.parseBoolean(s.trim());
            case TINYINT -> Byte.parseByte(s.trim());
            case SMALLINT -> Short.parseShort(s.trim());
            case INT -> Integer.parseInt(s.trim());
            case BIGINT -> Long.parseLong(s.trim());
            case FLOAT -> Float.parseFloat(s.trim());
            case DOUBLE -> Double.parseDouble(s.trim());
            case DECIMAL -> Values.decimal(new BigDecimal(s), t.precision, t.scale);
            case CHAR, VARCHAR -> Values.string(s);
            case BINARY, VARBINARY -> Base64Variants.getDefaultVariant().decode(s);
            case DATE -> date(s);
            case TIME -> time(s, (int) Math.pow(10, Math.max(0, 3 - t.precision)));
            case TIMESTAMP, TIMESTAMP_LTZ -> timestamp(s.trim().toCharArray(), t);
            default -> null;
        };
    }

    private static long timestamp(char[] c, FType t) { return Times.timestamp(c, 0, c.length, t, false); }

    private static int time(String s, int unit) {
        return (int) (LocalTime.parse(s).toNanoOfDay() / 1_000_000) / unit * unit;
    }

    /** java.sql.Date's reading: one or two digits for month and day, a day up to 31 may run into the next month. */
    private static int date(String s) {
        String[] parts = s.split("-", -1);
        if (parts.length != 3 || parts[0].length() != 4 || parts[1].isEmpty() || parts[1].length() > 2
            || parts[2].isEmpty() || parts[2].length() > 2) {
            throw new IllegalArgumentException("not a date: " + s);
        }
        int day = Integer.parseInt(parts[2]);
        if (day < 1 || day > 31) {
            throw new IllegalArgumentException("not a date: " + s);
        }
        return (int) LocalDate.of(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), 1).toEpochDay() + day - 1;
    }

    @Override byte[] encode(InternalRow row) {
        out.setLength(0);
        for (int i = 0; i < type.size(); i++) {
            if (i > 0) {
                out.append(separator);
            }
            if (row.isNullAt(i)) {
                out.append(nullText());
            } else if (type.children[i].kind.compareTo(FType.Kind.DECIMAL) <= 0) {
                out.append(text(row, i, type.children[i]));
            } else {
                quoteIfNeeded(text(row, i, type.children[i]));
            }
        }
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    private String nullText() { return nullLiteral == null ? "" : nullLiteral; }

    private String text(SpecializedGetters g, int i, FType t) {
        if (g.isNullAt(i)) {
            return nullText();
        }
        return switch (t.kind) {
            case BOOLEAN -> Boolean.toString(g.getBoolean(i));
            case TINYINT -> Byte.toString(g.getByte(i));
            case SMALLINT -> Short.toString(g.getShort(i));
            case INT -> Integer.toString(g.getInt(i));
            case BIGINT -> Long.toString(g.getLong(i));
            case FLOAT -> Float.toString(g.getFloat(i));
            case DOUBLE -> Double.toString(g.getDouble(i));
            case DECIMAL -> JsonText.decimal(g.getDecimal(i, t.precision, t.scale).toJavaBigDecimal(), !stripped);
            case BINARY, VARBINARY -> Base64Variants.getDefaultVariant().encode(g.getBinary(i));
            case DATE -> Times.date(g.getInt(i));
            case TIME -> Times.time(g.getInt(i));
            case TIMESTAMP, TIMESTAMP_LTZ -> Times.text(g.getLong(i), false, t.kind == FType.Kind.TIMESTAMP_LTZ);
            case ARRAY -> join(g.getArray(i), g.getArray(i).numElements(), t);
            case ROW -> join(g.getStruct(i, t.size()), t.size(), t);
            default -> g.getUTF8String(i).toString();
        };
    }

    private String join(SpecializedGetters g, int size, FType t) {
        StringBuilder joined = new StringBuilder();
        for (int i = 0; i < size; i++) {
            joined.append(i == 0 ? "" : element).append(text(g, i, t.children[t.kind == FType.Kind.ARRAY ? 0 : i]));
        }
        return joined.toString();
    }

    private void quoteIfNeeded(String s) {
        if (quote < 0 || !needsQuotes(s)) {
            out.append(s);
            return;
        }
        out.append((char) quote);
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == quote || c == escape) {
                out.append(c);
            }
            out.append(c);
        }
        out.append((char) quote);
    }

    private boolean needsQuotes(String s) {
        int lowest = Math.max(separator, quote);
        int escaper = escape < 0 ? '\\' : escape;
        boolean needs = s.length() > LOOSE_CHECK;
        for (int i = 0; i < s.length() && !needs; i++) {
            needs = s.charAt(i) <= lowest || s.charAt(i) == escaper;
        }
        return needs;
    }
}
