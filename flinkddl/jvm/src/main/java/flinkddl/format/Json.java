package flinkddl.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** The format {@code json}. */
final class Json extends Codec {
    private final FType type;
    private final boolean ignore;
    /** Whether a message that does not fit is passed over: sparing, {@link Sparing} reads it again. */
    private final boolean lenient;
    private final boolean streaming;
    private final ObjectMapper mapper;
    private final JsonFactory factory;
    private final JsonReader reader;
    private final JsonText text;
    private final Bytes buffer = new Bytes();

    Json(Spec spec) {
        type = spec.type;
        ignore = spec.ignoreErrors();
        lenient = ignore && !type.holes();
        streaming = !"false".equals(spec.option("decode.json-parser.enabled", "true"));
        mapper = mapper(type);
        factory = mapper.getFactory();
        reader = new JsonReader(spec, !streaming);
        text = new JsonText(spec);
    }

    /** Raw control characters in strings are fine; a DECIMAL anywhere makes numbers of a tree exact. */
    static ObjectMapper mapper(FType type) {
        return new ObjectMapper(JsonFactory.builder().enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build())
            .configure(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, type.has(FType.Kind.DECIMAL));
    }

    @Override void decode(byte[] message, List<InternalRow> out) throws IOException {
        if (message == null || message.length == 0) {
            return;
        }
        try {
            if (streaming) {
                byStream(message, out);
            } else {
                byTree(mapper.readTree(message), out);
            }
        } catch (Exception | StackOverflowError e) {
            if (!lenient) {
                throw Formats.refused("Failed to deserialize JSON '", message, "'.", e);
            }
        }
    }

    private void byStream(byte[] message, List<InternalRow> out) throws IOException {
        try (JsonParser p = factory.createParser(message)) {
            reader.begin();
            JsonToken first = p.nextToken();
            if (first == JsonToken.START_ARRAY) {
                while (p.nextToken() != JsonToken.END_ARRAY) {
                    element(p, out);
                }
            } else {
                element(p, out);
            }
        }
    }

    private void element(JsonParser p, List<InternalRow> out) throws IOException {
        if (p.currentToken() != JsonToken.START_OBJECT) {
            throw new IOException("No content to map due to end-of-input");
        }
        out.add(reader.row(p, JsonToken.START_OBJECT, type));
    }

    private void byTree(JsonNode root, List<InternalRow> out) throws IOException {
        if (!root.isArray()) {
            node(root, out);
            return;
        }
        for (JsonNode n : root) {
            node(n, out);
        }
    }

    private void node(JsonNode n, List<InternalRow> out) throws IOException {
        if (n.isNull() || (ignore && !n.isObject())) {
            return;
        }
        if (!n.isObject()) {
            throw new IOException("not a JSON object: " + n.getNodeType());
        }
        out.add((InternalRow) reader.read(n, type, mapper));
    }

    @Override byte[] encode(InternalRow row) throws IOException {
        buffer.reset();
        text.row(buffer, row, type);
        return buffer.toArray();
    }
}
