package flinkddl.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** The CDC formats: one table of envelopes. A result row is the columns, then the metadata, then {@code __w}, +1 or -1. */
final class Cdc extends Codec {
    /**
     * How one tool writes a change. {@code partial}: the old row holds changed fields alone; {@code many}: rows come in
     * arrays; {@code prefix} and {@code suffix} are around a written row, for an insert and for a delete.
     */
    private record Envelope(String title, String op, Set<String> insert, String update, String delete, String skip,
        String before, String after, boolean partial, boolean many, String[] added, String[] taken) {}

    private static final Map<Format, Envelope> ENVELOPES = Map.of(
        Format.DEBEZIUM_JSON, new Envelope("Debezium", "op", Set.of("c", "r"), "u", "d", "", "before", "after", false, false,
            new String[] {"\"before\":null,", "\"after\":", ",\"op\":\"c\"}"},
            new String[] {"", "\"before\":", ",\"after\":null", ",\"op\":\"d\"}"}),
        Format.CANAL_JSON, new Envelope("Canal", "type", Set.of("INSERT"), "UPDATE", "DELETE", "CREATE", "old", "data", true, true,
            new String[] {"", "\"data\":[", "],\"type\":\"INSERT\"}"},
            new String[] {"", "\"data\":[", "", "],\"type\":\"DELETE\"}"}),
        Format.MAXWELL_JSON, new Envelope("Maxwell", "type", Set.of("insert"), "update", "delete", "", "old", "data", true, false,
            new String[] {"", "\"data\":", ",\"type\":\"insert\"}"},
            new String[] {"", "\"data\":", "", ",\"type\":\"delete\"}"}),
        Format.OGG_JSON, new Envelope("Ogg", "op_type", Set.of("I"), "U", "D", "", "before", "after", false, false,
            new String[] {"\"before\":null,", "\"after\":", ",\"op_type\":\"I\"}"},
            new String[] {"", "\"before\":", ",\"after\":null", ",\"op_type\":\"D\"}"}));

    /** How a metadata value is read: SCHEMA is not in the change but beside it. */
    private enum Reading { SCHEMA, TEXT, MILLIS, SECONDS, ISO, SQL, LIST, TEXTS, INTS }

    /** Where a metadata value stands in a change, and how it is read. */
    private record Meta(String path, Reading reading) {
        JsonNode find(JsonNode change, JsonNode root) {
            if (reading == Reading.SCHEMA) {
                return root == change ? null : root.get("schema");
            }
            JsonNode at = change;
            for (String step : path.split("/")) {
                at = at == null ? null : at.get(step);
            }
            return at;
        }
    }

    /** Metadata keys by format. */
    private static final Map<Format, Map<String, Meta>> METADATA = Map.of(
        Format.DEBEZIUM_JSON, Map.of("schema", new Meta("schema", Reading.SCHEMA), "ingestion-timestamp", new Meta("ts_ms", Reading.MILLIS),
            "source.timestamp", new Meta("source/ts_ms", Reading.MILLIS), "source.database", new Meta("source/db", Reading.TEXT),
            "source.schema", new Meta("source/schema", Reading.TEXT), "source.table", new Meta("source/table", Reading.TEXT),
            "source.properties", new Meta("source", Reading.TEXTS)),
        Format.CANAL_JSON, Map.of("database", new Meta("database", Reading.TEXT), "table", new Meta("table", Reading.TEXT),
            "sql-type", new Meta("sqlType", Reading.INTS), "pk-names", new Meta("pkNames", Reading.LIST),
            "ingestion-timestamp", new Meta("ts", Reading.MILLIS), "event-timestamp", new Meta("es", Reading.MILLIS)),
        Format.MAXWELL_JSON, Map.of("database", new Meta("database", Reading.TEXT), "table", new Meta("table", Reading.TEXT),
            "primary-key-columns", new Meta("primary_key_columns", Reading.LIST), "ingestion-timestamp", new Meta("ts", Reading.SECONDS)),
        Format.OGG_JSON, Map.of("table", new Meta("table", Reading.TEXT), "primary-keys", new Meta("primary_keys", Reading.LIST),
            "ingestion-timestamp", new Meta("current_ts", Reading.ISO), "event-timestamp", new Meta("op_ts", Reading.SQL)));

    private static final DateTimeFormatter OGG_ISO = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS");
    private static final DateTimeFormatter OGG_SQL = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSS");

    private final Envelope e;
    private final Map<String, Meta> known;
    private final FType type;
    private final String[] meta;
    private final boolean ignore;
    private final boolean schemaInclude;
    private final Pattern database;
    private final Pattern table;
    private final ObjectMapper mapper;
    /** Sparing alone: the tree without what is not looked at; errors are left to {@link Sparing}. */
    private final CdcTree tree;
    private final JsonReader reader;
    private final JsonText text;
    private final Bytes buffer = new Bytes();

    Cdc(Spec spec) {
        e = ENVELOPES.get(spec.format == Format.DEBEZIUM_AVRO_CONFLUENT ? Format.DEBEZIUM_JSON : spec.format);
        known = METADATA.getOrDefault(spec.format, Map.of());
        type = spec.type;
        meta = spec.meta;
        ignore = spec.ignoreErrors();
        schemaInclude = spec.flag("schema-include");
        database = pattern(spec.option("database.include", null));
        table = pattern(spec.option("table.include", null));
        mapper = Json.mapper(type);
        tree = type.holes() ? new CdcTree(mapper, spec, members(), Set.of(e.before, e.after), e.partial) : null;
        reader = new JsonReader(spec, true);
        text = new JsonText(spec);
    }

    /** What is read of a change beside its rows. */
    private Set<String> members() {
        Set<String> names = new HashSet<>(Set.of(e.op, "database", "table"));
        for (String key : meta) {
            names.add(known.get(key).path.split("/")[0]);
        }
        return names;
    }

    private static Pattern pattern(String regex) { return regex == null ? null : Pattern.compile(regex); }

    @Override void decode(byte[] message, List<InternalRow> rows) throws IOException {
        if (message == null || message.length == 0) {
            return;
        }
        try {
            JsonNode root = tree == null ? mapper.readTree(message) : tree.read(message, schemaInclude);
            if (root.isArray() && root.size() == 1) {
                root = root.get(0);
            }
            change(schemaInclude ? (ObjectNode) root.get("payload") : (ObjectNode) root, root, message, rows);
        } catch (Exception | StackOverflowError error) {
            if (!ignore || tree != null) {
                throw Formats.refused("Corrupt " + e.title + " JSON message '", message, "'.", error);
            }
        }
    }

    private void change(ObjectNode n, JsonNode root, byte[] message, List<InternalRow> rows) throws IOException {
        if (!matches(database, n.get("database")) || !matches(table, n.get("table"))) {
            return;
        }
        if (e.many) {
            check(n.get(e.after), n.get(e.before));
        }
        JsonNode after = n.get(e.after);
        JsonNode before = n.get(e.before);
        Object[] metadata = metadata(n, root);
        String op = n.get(e.op).isNull() ? null : n.get(e.op).asText();
        boolean rowsOfMany = e.many && (e.insert.contains(op) || op.equals(e.update) || op.equals(e.delete));
        if (rowsOfMany && (after == null || after.isNull())) {
            throw new IOException("\"" + e.after + "\" is null");
        }
        int count = rowsOfMany ? after.size() : 1;
        for (int i = 0; i < count; i++) {
            InternalRow a = row(e.many && after != null ? after.get(i) : after);
            InternalRow b = e.partial && !op.equals(e.update) ? null : row(e.many && before != null ? before.get(i) : before);
            if (e.partial && op.equals(e.update)) {
                b = completed(b, a, before);
            }
            if (!emit(op, b, a, metadata, rows) && !ignore) {
                throw Formats.refused("Unknown \"" + e.op + "\" value \"" + op + "\". The " + e.title + " JSON message is '",
                    message, "'", null);
            }
        }
    }

    private static void check(JsonNode... arrays) throws IOException {
        for (JsonNode n : arrays) {
            if (n != null && !n.isNull() && !n.isArray()) {
                throw new IOException("not an array: " + n);
            }
        }
    }

    private static boolean matches(Pattern p, JsonNode field) {
        return p == null || p.matcher(field.asText()).matches();
    }

    private InternalRow row(JsonNode n) throws IOException { return (InternalRow) reader.read(n, type, mapper); }

    /** The old row with what it does not name taken from the new one; names are looked for anywhere under the old value. */
    private InternalRow completed(InternalRow old, InternalRow now, JsonNode oldNode) {
        Object[] values = ((GenericInternalRow) old).values();
        for (int i = 0; i < type.size(); i++) {
            if (values[i] == null && type.children[i].built && oldNode.findValue(type.names[i]) == null) {
                values[i] = ((GenericInternalRow) now).values()[i];
            }
        }
        return old;
    }

    /** Adds -U before +U. False for an op that is not known; rows that are missing are errors. */
    private boolean emit(String op, InternalRow before, InternalRow after, Object[] metadata, List<InternalRow> rows) {
        boolean update = op.equals(e.update);
        if (update || (op.equals(e.delete) && !e.partial)) {
            if (before == null) {
                throw new IllegalStateException("The \"before\" field of " + (update ? "UPDATE" : "DELETE")
                    + " message is null, if you are using " + e.title + " Postgres Connector, please check the Postgres"
                    + " table has been set REPLICA IDENTITY to FULL level.");
            }
        }
        if (update) {
            InternalRow added = weighted(after, metadata, 1);
            rows.add(weighted(before, metadata, -1));
            rows.add(added);
        } else if (e.insert.contains(op)) {
            rows.add(weighted(after, metadata, 1));
        } else if (op.equals(e.delete)) {
            rows.add(weighted(e.partial ? after : before, metadata, -1));
        } else {
            return op.equals(e.skip);
        }
        return true;
    }

    private InternalRow weighted(InternalRow row, Object[] metadata, int weight) {
        Object[] values = new Object[type.size() + metadata.length + 1];
        System.arraycopy(((GenericInternalRow) row).values(), 0, values, 0, type.size());
        System.arraycopy(metadata, 0, values, type.size(), metadata.length);
        values[values.length - 1] = weight;
        return new GenericInternalRow(values);
    }

    private Object[] metadata(ObjectNode n, JsonNode root) {
        Object[] values = new Object[meta.length];
        for (int i = 0; i < meta.length; i++) {
            Meta m = known.get(meta[i]);
            JsonNode at = m.find(n, root);
            try {
                values[i] = at == null || at.isNull() ? null : read(at, m.reading);
            } catch (RuntimeException error) {
                if (!ignore) {
                    throw error;
                }
            }
        }
        return values;
    }

    private static Object read(JsonNode n, Reading how) {
        return switch (how) {
            case MILLIS -> number(n) * 1000;
            case SECONDS -> number(n) * 1_000_000;
            case ISO -> Times.micros(LocalDateTime.parse(n.asText(), OGG_ISO), 6);
            case SQL -> Times.micros(LocalDateTime.parse(n.asText(), OGG_SQL), 6);
            case LIST -> list(n);
            case TEXTS -> map(n, Cdc::text);
            case INTS -> map(n, value -> value.isNull() ? null : value.asInt());
            case SCHEMA, TEXT -> text(n);
        };
    }

    private static long number(JsonNode n) {
        return n.canConvertToLong() ? n.asLong() : Long.parseLong(n.asText().trim());
    }

    private static GenericArrayData list(JsonNode n) {
        Object[] items = new Object[n.size()];
        for (int i = 0; i < items.length; i++) {
            items[i] = text(n.get(i));
        }
        return new GenericArrayData(items);
    }

    private static Object map(JsonNode n, Function<JsonNode, Object> read) {
        Map<Object, Object> entries = new LinkedHashMap<>();
        n.properties().forEach(p -> entries.put(Values.string(p.getKey()), read.apply(p.getValue())));
        return Values.map(entries);
    }

    private static UTF8String text(JsonNode n) {
        return n.isNull() ? null : Values.string(n.isContainerNode() ? n.toString() : n.asText());
    }

    /** A row with its weight behind its columns as a message of its own: an update is never written as a pair. */
    @Override byte[] encode(InternalRow row) throws IOException {
        boolean added = row.getInt(type.size()) > 0;
        String[] parts = added ? e.added : e.taken;
        buffer.reset().add('{');
        if (!text.omitsNulls()) {
            buffer.ascii(parts[0]);
        }
        buffer.ascii(parts[1]);
        text.row(buffer, row, type);
        if (!added && !text.omitsNulls()) {
            buffer.ascii(parts[2]);
        }
        return buffer.ascii(parts[parts.length - 1]).toArray();
    }

    // debezium-avro-confluent: the same changes around records instead of JSON objects

    FType envelope() {
        FType row = type.withNullable(true);
        return FType.row(true, new String[] {"before", "after", "op"}, row, row, FType.STRING.withNullable(true));
    }

    void emit(InternalRow envelope, List<InternalRow> rows) throws IOException {
        Object[] v = ((GenericInternalRow) envelope).values();
        String op = new String(((UTF8String) v[2]).getBytes(), StandardCharsets.UTF_8);
        if (!emit(op, (InternalRow) v[0], (InternalRow) v[1], new Object[0], rows)) {
            throw new IOException("Unknown \"op\" value \"" + op + "\".");
        }
    }

    InternalRow wrap(InternalRow row) {
        boolean added = row.getInt(type.size()) > 0;
        return new GenericInternalRow(
            new Object[] {added ? null : row, added ? row : null, Values.string(added ? "c" : "d")});
    }
}
