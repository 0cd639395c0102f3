package flinkddl.format;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/** The cells of the first line of a message, by the rules of the CSV reader that Flink uses (Jackson's). */
final class CsvLine {
    final char separator;
    /** -1 where there is none, as for the escape character. */
    final int quote;
    final int escape;
    private final boolean comments;
    private final boolean trim;
    private String text = "";
    private int at;
    private boolean ended;

    CsvLine(Spec spec) {
        separator = spec.option("field-delimiter", ",").charAt(0);
        quote = spec.flag("disable-quote-character") ? -1 : spec.option("quote-character", "\"").charAt(0);
        escape = spec.option("escape-character", "").isEmpty() ? -1 : spec.option("escape-character", "").charAt(0);
        comments = spec.flag("allow-comments");
        trim = spec.flag("trim-spaces");
    }

    void open(byte[] message) throws IOException {
        text = text(message);
        at = 0;
        ended = false;
        if (comments) {
            skipComments();
        }
        if (at >= text.length()) {
            throw new IOException("No content to map due to end-of-input");
        }
    }

    private static String text(byte[] b) throws IOException {
        Charset charset = StandardCharsets.UTF_8;
        int skip = 0;
        if (b.length >= 3 && (b[0] & 0xff) == 0xef && (b[1] & 0xff) == 0xbb && (b[2] & 0xff) == 0xbf) {
            skip = 3;
        } else if (b.length >= 2 && (b[0] == 0 || ((b[0] & 0xff) == 0xfe && (b[1] & 0xff) == 0xff))) {
            charset = StandardCharsets.UTF_16BE;
            skip = b[0] == 0 ? 0 : 2;
        } else if (b.length >= 2 && (b[1] == 0 || ((b[0] & 0xff) == 0xff && (b[1] & 0xff) == 0xfe))) {
            charset = StandardCharsets.UTF_16LE;
            skip = b[1] == 0 ? 0 : 2;
        }
        return charset.newDecoder().decode(ByteBuffer.wrap(b, skip, b.length - skip)).toString();
    }

    private void skipComments() {
        boolean inside = false;
        for (; at < text.length(); at++) {
            char c = text.charAt(at);
            boolean newline = c == '\r' || c == '\n';
            inside = !newline && (inside || c == '#');
            if (!inside && !newline && c != ' ') {
                return;
            }
        }
    }

    /**
     * The next cell, or null at the end of the line; some text where its own is not wanted. A line always has a first
     * cell, perhaps an empty one.
     */
    String next(boolean wanted) throws IOException {
        if (ended) {
            return null;
        }
        while (trim && at < text.length() && text.charAt(at) <= ' ' && text.charAt(at) != separator && !newline()) {
            at++;
        }
        if (at < text.length() && text.charAt(at) == quote) {
            at++;
            return quoted();
        }
        int start = at;
        StringBuilder changed = null;
        for (; at < text.length() && text.charAt(at) != separator && !newline(); at++) {
            if (text.charAt(at) == escape) {
                changed = (changed == null ? new StringBuilder() : changed).append(text, start, at).append(unescape());
                start = at + 1;
            }
        }
        String rest = wanted ? text.substring(start, at) : "";
        endCell();
        String cell = changed == null ? rest : changed.append(rest).toString();
        return trim ? stripEnd(cell) : cell;
    }

    private boolean newline() { return text.charAt(at) == '\r' || text.charAt(at) == '\n'; }

    /** Steps over the separator; at a line break or the end of the text the line has ended. */
    private void endCell() {
        ended = at >= text.length() || text.charAt(at) != separator;
        at++;
    }

    private static String stripEnd(String s) {
        int end = s.length();
        while (end > 0 && s.charAt(end - 1) <= ' ') {
            end--;
        }
        return s.substring(0, end);
    }

    private String quoted() throws IOException {
        StringBuilder cell = new StringBuilder();
        for (; ; at++) {
            if (at >= text.length()) {
                throw new IOException("Missing closing quote for value");
            }
            char c = text.charAt(at);
            if (c == escape && c != quote) {
                cell.append(unescape());
            } else if (c != quote) {
                cell.append(c);
            } else if (at + 1 < text.length() && text.charAt(at + 1) == quote) {
                cell.append(c);
                at++;
            } else {
                break;
            }
        }
        at++;
        while (at < text.length() && text.charAt(at) <= ' ' && text.charAt(at) != separator && !newline()) {
            at++;
        }
        if (at < text.length() && text.charAt(at) != separator && !newline()) {
            throw new IOException("Unexpected character ('" + text.charAt(at)
                + "'): Expected column separator character ('" + separator + "') or end-of-line");
        }
        endCell();
        return cell.toString();
    }

    /** The character after an escape: n, r, t and 0 have a meaning, any other stands for itself. */
    private char unescape() throws IOException {
        if (++at >= text.length()) {
            throw new IOException("Unexpected EOF in escaped character");
        }
        int known = "0nrt".indexOf(text.charAt(at));
        return known < 0 ? text.charAt(at) : "\0\n\r\t".charAt(known);
    }
}
