package flinkddl.scalar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The JSON paths of Flink (those of Jayway without filters): {@code $.a['b'][0,1][-1][1:3][*].*..c.size()}. A definite
 * path that leads nowhere raises an error in strict mode and gives null in lax mode; any other gives an array, in lax even then.
 */
final class JsonPath {
    private static final Pattern MODE = Pattern.compile("(?is)\\s*(strict|lax)\\s+(.+)");
    private static final Pattern STEP = Pattern.compile(
        "(?<deep>\\.\\.)?(?:\\.?\\[\\s*(?:'(?<name>(?:[^'\\\\]|\\\\.)*)'|\"(?<quoted>(?:[^\"\\\\]|\\\\.)*)\"|(?<index>-?\\d+(?:\\s*,\\s*-?\\d+)*)"
        + "|(?<slice>-?\\d*:-?\\d*)|(?<all>\\*))\\s*\\]|\\.?(?<fn>size|length)\\(\\)|\\.?(?<any>\\*)|\\.?(?<key>[^.\\[\\]()*]+))");

    final boolean lax;
    private final List<Matcher> steps = new ArrayList<>();
    private final String text;
    private boolean definite = true;
    private boolean valid = true;

    private JsonPath(boolean lax, String text) {
        this.lax = lax;
        this.text = text;
        String rest = text.strip().startsWith("$") ? text.strip().substring(1) : "." + text.strip();
        for (int at = 0; at < rest.length() || text.isBlank();) {
            Matcher m = STEP.matcher(rest).region(at, rest.length());
            if (!m.lookingAt() || text.isBlank()) {
                valid = false;
                break;
            }
            definite &= single(m);
            steps.add(m);
            at = m.end();
        }
    }

    private static boolean single(Matcher m) {
        boolean many = m.group("index") != null && m.group("index").contains(",");
        return m.group("deep") == null && m.group("slice") == null && m.group("all") == null && m.group("any") == null && !many;
    }

    static JsonPath parse(String path) {
        Matcher m = MODE.matcher(path);
        return m.matches() ? new JsonPath(m.group(1).equalsIgnoreCase("lax"), m.group(2)) : new JsonPath(false, path);
    }

    /** What the path finds below {@code root}, or null in lax mode. Raises IllegalArgumentException in strict mode. */
    JsonNode read(JsonNode root) {
        List<JsonNode> found = valid ? new ArrayList<>(List.of(root)) : List.of();
        boolean single = true; // no step so far may find several
        boolean missing = false;
        for (Matcher step : steps) {
            List<JsonNode> next = new ArrayList<>();
            for (JsonNode node : valid ? found : List.<JsonNode>of()) {
                if (step.group("deep") != null) {
                    deep(node, step, next);
                } else {
                    take(node, step, next);
                }
            }
            found = next;
            single &= single(step);
            missing |= single && found.isEmpty();
        }
        if (valid && !definite && (lax || !missing)) {
            return JsonNodeFactory.instance.arrayNode().addAll(found);
        }
        if (found.isEmpty() && !lax) {
            throw new IllegalArgumentException((valid ? "No results for path: " : "Illegal JSON path: ") + text);
        }
        return found.isEmpty() ? null : found.get(0);
    }

    private static void deep(JsonNode node, Matcher step, List<JsonNode> out) {
        take(node, step, out);
        node.forEach(child -> deep(child, step, out));
    }

    private static void take(JsonNode node, Matcher step, List<JsonNode> out) {
        String key = step.group("name") != null ? step.group("name")
            : step.group("quoted") != null ? step.group("quoted") : step.group("key");
        if (key != null) {
            if (node.has(key)) {
                out.add(node.get(key));
            }
        } else if (step.group("fn") != null) {
            out.add(IntNode.valueOf(node.size()));
        } else if (step.group("index") != null) {
            for (String part : step.group("index").split(",")) {
                int i = Integer.parseInt(part.strip());
                int at = i < 0 ? node.size() + i : i;
                if (node.isArray() && node.has(at)) {
                    out.add(node.get(at));
                }
            }
        } else if (step.group("slice") != null) {
            String[] ends = step.group("slice").split(":", -1);
            int to = bound(ends[1], node.size(), node.size());
            for (int i = bound(ends[0], 0, node.size()); node.isArray() && i < to; i++) {
                out.add(node.get(i));
            }
        } else if (step.group("all") == null || node.isContainerNode()) {
            node.forEach(out::add);
        }
    }

    private static int bound(String text, int otherwise, int size) {
        int n = text.isEmpty() ? otherwise : Integer.parseInt(text);
        return Math.max(0, Math.min(size, n < 0 ? size + n : n));
    }
}
