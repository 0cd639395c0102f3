package flinkddl.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Set;

/**
 * A change as the tree that {@link Cdc} reads, without what nobody looks at: members around the rows are left out, and
 * a field that nobody reads is null where its value is sure to fit. Everything else is in the tree, to be checked there.
 */
final class CdcTree {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private final ObjectMapper mapper;
    private final FType type;
    private final Set<String> members;
    private final Set<String> rows;
    private final boolean ignore;
    /** Whether names are looked for anywhere under the old row, so that all containers must be there. */
    private final boolean searched;

    /** {@code members} are those that are read beside {@code rows}. */
    CdcTree(ObjectMapper mapper, Spec spec, Set<String> members, Set<String> rows, boolean searched) {
        this.mapper = mapper;
        this.members = members;
        this.rows = rows;
        this.searched = searched;
        type = spec.type;
        ignore = spec.ignoreErrors();
    }

    /** The message's object; its member {@code payload} holds the change where a schema stands beside it. */
    ObjectNode read(byte[] message, boolean payload) throws IOException {
        try (JsonParser p = mapper.getFactory().createParser(message)) {
            if (p.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("no object");
            }
            return payload ? beside(p) : change(p);
        }
    }

    private ObjectNode beside(JsonParser p) throws IOException {
        ObjectNode out = NODES.objectNode();
        while (JsonReader.next(p) != JsonToken.END_OBJECT) {
            String name = p.currentName();
            JsonToken token = JsonReader.next(p);
            if (name.equals("payload") && token == JsonToken.START_OBJECT) {
                out.set(name, change(p));
            } else {
                member(p, name, out, name.equals("payload") || members.contains(name));
            }
        }
        return out;
    }

    private ObjectNode change(JsonParser p) throws IOException {
        ObjectNode out = NODES.objectNode();
        while (JsonReader.next(p) != JsonToken.END_OBJECT) {
            String name = p.currentName();
            JsonToken token = JsonReader.next(p);
            if (!rows.contains(name)) {
                member(p, name, out, members.contains(name));
            } else if (token == JsonToken.START_ARRAY) {
                out.set(name, array(p));
            } else {
                out.set(name, row(p, token));
            }
        }
        return out;
    }

    private void member(JsonParser p, String name, ObjectNode out, boolean read) throws IOException {
        if (read) {
            out.set(name, value(p));
        } else {
            JsonReader.pass(p);
        }
    }

    private ArrayNode array(JsonParser p) throws IOException {
        ArrayNode out = NODES.arrayNode();
        for (JsonToken token = JsonReader.next(p); token != JsonToken.END_ARRAY; token = JsonReader.next(p)) {
            out.add(row(p, token));
        }
        return out;
    }

    private JsonNode row(JsonParser p, JsonToken token) throws IOException {
        if (token != JsonToken.START_OBJECT) {
            return value(p);
        }
        ObjectNode out = NODES.objectNode();
        int expected = 0;
        while (JsonReader.next(p) != JsonToken.END_OBJECT) {
            String name = p.currentName();
            JsonToken of = JsonReader.next(p);
            int field = JsonReader.find(type.names, name, expected);
            expected = field + 1;
            if (field < 0 ? !searched : !type.children[field].built && fits(p, of, type.children[field])) {
                JsonReader.pass(p);
                if (field >= 0) {
                    out.putNull(name);
                }
            } else {
                out.set(name, value(p));
            }
        }
        return out;
    }

    private boolean fits(JsonParser p, JsonToken token, FType t) throws IOException {
        if (token.isStructStart()) {
            return !searched && (ignore || t.kind == FType.Kind.CHAR || t.kind == FType.Kind.VARCHAR);
        }
        return ignore || JsonReader.harmless(p, token, t);
    }

    /** The value at the current token, as the mapper builds it; what is most frequent without going there. */
    private JsonNode value(JsonParser p) throws IOException {
        return switch (p.currentToken()) {
            case VALUE_STRING -> NODES.textNode(p.getText());
            case VALUE_NULL -> NODES.nullNode();
            case VALUE_NUMBER_INT -> p.getNumberType() == JsonParser.NumberType.INT
                ? NODES.numberNode(p.getIntValue()) : mapper.readTree(p);
            default -> mapper.readTree(p);
        };
    }
}
