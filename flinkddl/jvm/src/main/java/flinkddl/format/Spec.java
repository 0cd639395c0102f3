package flinkddl.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** What Spark types cannot say about one use of a format: {@code {"format","table","type","meta","options"}}. */
final class Spec {
    final Format format;
    /** Who is asked, for messages: {@code value of table 't'}. */
    final String owner;
    final FType type;
    /** Keys of format metadata, in the order of the result. */
    final String[] meta;
    /** The same with the type's unread fields unbuilt; null where every field is read. */
    final Spec spare;
    private final Map<String, String> options;

    Spec(String text) {
        try {
            JsonNode n = new ObjectMapper().readTree(text);
            format = Format.of(n.get("format").asText());
            owner = n.path("owner").asText();
            type = FType.of(n.get("type"));
            meta = new String[n.path("meta").size()];
            for (int i = 0; i < meta.length; i++) {
                meta[i] = n.get("meta").get(i).asText();
            }
            options = new HashMap<>();
            n.path("options").properties().forEach(e -> options.put(e.getKey(), e.getValue().asText()));
            FType slim = FType.of(n.get("type"), true, true);
            spare = slim.holes() ? new Spec(this, slim) : null;
        } catch (IOException e) {
            throw new IllegalArgumentException("bad spec " + text, e);
        }
    }

    private Spec(Spec whole, FType slim) {
        format = whole.format;
        owner = whole.owner;
        type = slim;
        meta = whole.meta;
        options = whole.options;
        spare = null;
    }

    boolean flag(String name) { return "true".equals(options.get(name)); }

    /** A secret is the name of a setting of the session: the spec itself shows in plans. */
    String option(String name, String otherwise) {
        String value = options.getOrDefault(name, otherwise);
        return value != null && value.startsWith("secret:") ? Secrets.of(value.substring(7)) : value;
    }

    boolean ignoreErrors() { return flag("ignore-parse-errors"); }

    boolean iso() { return "ISO-8601".equals(options.get("timestamp-format.standard")); }
}
