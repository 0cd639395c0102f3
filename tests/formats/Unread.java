package flinkddl.format;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * Reads messages sparingly and as a whole, and compares. Lines in: {@code G spec} begins a group, {@code J spec} says how
 * the rows of {@code S json} are read that its format then writes, {@code M hex} is a message, {@code E n} ends the group:
 * each message is tried as it is and changed n times. A line out for a group: {@code ok messages refused again good}
 * ({@code again}: read a second time, {@code good}: of those that S made), or what differs.
 */
public final class Unread {
    private static final String[] JUNK = {"1e999999999", "\"", "{", "[[[[[", "\\", "\\q", "null", ",", "\u00e9", "1".repeat(1100), "}"};

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Unread group = null;
        for (String line; (line = in.readLine()) != null;) {
            String rest = line.substring(2);
            switch (line.charAt(0)) {
                case 'G' -> group = new Unread(new Spec(rest));
                case 'J' -> group.json = new Json(new Spec(rest));
                case 'S' -> group.write(rest);
                case 'M' -> group.messages.add(HexFormat.of().parseHex(rest));
                default -> System.out.println(group.run(Integer.parseInt(rest)).replaceAll("[\\r\\n]", " "));
            }
        }
    }

    private final Spec spec;
    private final Sparing sparing;
    private final Codec whole;
    private final List<byte[]> messages = new ArrayList<>();
    private Json json;
    private int made;

    private Unread(Spec spec) {
        this.spec = spec;
        sparing = new Sparing(spec);
        whole = spec.format.codec.apply(spec);
    }

    private void write(String text) throws Exception {
        List<InternalRow> rows = new ArrayList<>();
        json.decode(text.getBytes(StandardCharsets.UTF_8), rows);
        Object[] values = ((GenericInternalRow) rows.get(0)).values();
        Object[] weighted = Arrays.copyOf(values, values.length + 1);
        weighted[values.length] = 1;
        byte[] message = whole.encode(new GenericInternalRow(weighted));
        messages.add(made++, message);
    }

    private String run(int changes) {
        Random random = new Random(messages.size());
        int tried = 0, refused = 0;
        long good = 0;
        for (int n = 0; n < messages.size(); n++) {
            byte[] message = messages.get(n);
            for (int i = 0; i <= changes; i++, tried++) {
                byte[] bytes = i == 0 ? message : changed(message, random);
                String one = told(whole, bytes, false), two = told(sparing, bytes, true);
                if (!one.equals(two)) {
                    return "DIFFERENT " + HexFormat.of().formatHex(bytes) + " WHOLE " + one + " SPARING " + two;
                }
                refused += one.startsWith("!") ? 1 : 0;
                good = n < made && i == 0 ? sparing.again : good;
                sparing.again = n < made && i > 0 ? good : sparing.again;
            }
        }
        return "ok " + tried + " " + refused + " " + sparing.again + " " + good;
    }

    private String told(Codec codec, byte[] message, boolean empty) {
        List<InternalRow> rows = new ArrayList<>();
        try {
            codec.decode(message, rows);
        } catch (Exception | StackOverflowError e) {
            return "!" + Formats.failure("FD750", spec, "", e).getMessage();
        }
        StringBuilder out = new StringBuilder();
        rows.forEach(row -> show(row, spec.spare.type, empty, out.append('|')));
        return out.toString();
    }

    /** What is read of a row; {@code empty}: that nothing else is there. */
    private static void show(InternalRow row, FType t, boolean empty, StringBuilder out) {
        Object[] values = ((GenericInternalRow) row).values();
        for (int i = 0; i < values.length; i++) {
            FType c = i < t.size() ? t.children[i] : null;
            if (c != null && !c.built) {
                out.append(empty && values[i] != null ? " BUILT" : " -");
            } else if (c != null && c.kind == FType.Kind.ROW && values[i] != null) {
                show((InternalRow) values[i], c, empty, out.append(" ("));
                out.append(')');
            } else {
                out.append(' ').append(values[i] instanceof byte[] b ? Arrays.toString(b) : values[i]);
            }
        }
    }

    private static byte[] changed(byte[] message, Random random) {
        byte[] out = message;
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
            int at = random.nextInt(out.length + 1);
            int to = Math.min(out.length, at + random.nextInt(8));
            byte[] junk = switch (random.nextInt(4)) {
                case 0 -> new byte[] {(byte) random.nextInt(256)};
                case 1 -> new byte[0];
                case 2 -> Arrays.copyOfRange(out, Math.max(0, at - 8), at);
                default -> JUNK[random.nextInt(JUNK.length)].getBytes(StandardCharsets.UTF_8);
            };
            byte[] next = new byte[at + junk.length + out.length - to];
            System.arraycopy(out, 0, next, 0, at);
            System.arraycopy(junk, 0, next, at, junk.length);
            System.arraycopy(out, to, next, at + junk.length, out.length - to);
            out = next;
        }
        return out;
    }
}
