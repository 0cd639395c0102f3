package flinkddl.format;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/** Flink types as Avro schemas, and rows as Avro records and back. */
final class AvroData {
    static final String TOP = "org.apache.flink.avro.generated.record";

    private AvroData() {}

    /** The schema that Flink derives; {@code name} is the full name of the record, or of the record the field is in. */
    static Schema schema(FType t, String name, boolean legacy) {
        Schema s = notNull(t, name, legacy);
        return t.nullable && t.kind != FType.Kind.NULL ? Schema.createUnion(Schema.create(Schema.Type.NULL), s) : s;
    }

    private static Schema notNull(FType t, String name, boolean legacy) {
        return switch (t.kind) {
            case BOOLEAN -> Schema.create(Schema.Type.BOOLEAN);
            case TINYINT, SMALLINT, INT -> Schema.create(Schema.Type.INT);
            case BIGINT -> Schema.create(Schema.Type.LONG);
            case FLOAT -> Schema.create(Schema.Type.FLOAT);
            case DOUBLE -> Schema.create(Schema.Type.DOUBLE);
            case CHAR, VARCHAR -> Schema.create(Schema.Type.STRING);
            case BINARY, VARBINARY -> Schema.create(Schema.Type.BYTES);
            case DECIMAL -> logical(LogicalTypes.decimal(t.precision, t.scale), Schema.Type.BYTES);
            case DATE -> logical(LogicalTypes.date(), Schema.Type.INT);
            case TIME -> logical(LogicalTypes.timeMillis(), Schema.Type.INT);
            case TIMESTAMP -> logical(legacy ? LogicalTypes.timestampMillis()
                : t.precision <= 3 ? LogicalTypes.localTimestampMillis() : LogicalTypes.localTimestampMicros(), Schema.Type.LONG);
            case TIMESTAMP_LTZ -> logical(
                t.precision <= 3 ? LogicalTypes.timestampMillis() : LogicalTypes.timestampMicros(), Schema.Type.LONG);
            case ARRAY -> Schema.createArray(schema(t.children[0], name, true));
            case MAP, MULTISET -> Schema.createMap(schema(t.children[1], name, true));
            case ROW -> record(t, name, legacy);
            case NULL -> Schema.create(Schema.Type.NULL);
        };
    }

    private static Schema logical(LogicalType type, Schema.Type base) { return type.addToSchema(Schema.create(base)); }

    private static Schema record(FType t, String name, boolean legacy) {
        List<Schema.Field> fields = new ArrayList<>();
        for (int i = 0; i < t.size(); i++) {
            Schema s = schema(t.children[i], name + "_" + t.names[i], legacy);
            Object noDefault = null;
            fields.add(new Schema.Field(t.names[i], s, null, s.isNullable() ? Schema.Field.NULL_VALUE : noDefault));
        }
        return Schema.createRecord(name, null, null, false, fields);
    }

    /**
     * The schema to read records of {@code writer} by, without the fields that nobody reads. A field stays whose writer
     * has another schema, which may not resolve, or whose values may be refused once they are read.
     */
    static Schema spare(FType t, Schema reader, Schema writer) {
        Schema from = writer.isNullable() && writer.isUnion() && writer.getTypes().size() == 2 ? branch(writer) : writer;
        if (from.getType() != Schema.Type.RECORD) {
            return reader;
        }
        List<Schema.Field> fields = new ArrayList<>();
        for (int i = 0; i < t.size(); i++) {
            FType c = t.children[i];
            Schema.Field f = branch(reader).getFields().get(i);
            Schema.Field w = from.getField(f.name());
            if (w != null && c.built && c.holes()) {
                fields.add(new Schema.Field(f.name(), spare(c, f.schema(), w.schema()), null, f.defaultVal()));
            } else if (w == null || c.built || refuses(c) || !form(w.schema()).equals(form(f.schema()))) {
                fields.add(new Schema.Field(f, f.schema()));
            }
        }
        Schema record = Schema.createRecord(branch(reader).getFullName(), null, null, false, fields);
        return reader.isUnion() ? Schema.createUnion(Schema.create(Schema.Type.NULL), record) : record;
    }

    private static String form(Schema s) { return SchemaNormalization.toParsingForm(s); }

    /** Whether a value that could be read may yet be refused. */
    private static boolean refuses(FType t) {
        return t.has(FType.Kind.DECIMAL) || t.has(FType.Kind.TIMESTAMP) || t.has(FType.Kind.TIMESTAMP_LTZ);
    }

    static InternalRow row(IndexedRecord r, FType t) {
        Object[] values = new Object[t.size()];
        boolean all = r.getSchema().getFields().size() == values.length;
        for (int i = 0, at = 0; i < values.length; i++) {
            FType c = t.children[i];
            Object value = all || r.getSchema().getField(t.names[i]) != null ? value(r.get(at++), c) : null;
            values[i] = c.built ? value : null;
        }
        return new GenericInternalRow(values);
    }

    private static Object value(Object v, FType t) {
        if (v == null) {
            return null;
        }
        return switch (t.kind) {
            case TINYINT -> ((Integer) v).byteValue(); // wraps, as in Flink
            case SMALLINT -> ((Integer) v).shortValue();
            case CHAR, VARCHAR -> string(v);
            case BINARY, VARBINARY -> bytes(v);
            case DECIMAL -> Values.decimal(new BigDecimal(new BigInteger(bytes(v)), t.scale), t.precision, t.scale);
            case TIMESTAMP, TIMESTAMP_LTZ -> Math.multiplyExact((Long) v, 1000L); // milliseconds under every logical type: Flink's defect
            case ARRAY -> new GenericArrayData(((List<?>) v).stream().map(e -> value(e, t.children[0])).toArray());
            case MAP, MULTISET -> map((Map<?, ?>) v, t);
            case ROW -> row((IndexedRecord) v, t);
            default -> v;
        };
    }

    private static Object map(Map<?, ?> v, FType t) {
        Map<Object, Object> entries = new LinkedHashMap<>();
        v.forEach((k, e) -> entries.put(string(k), value(e, t.children[1])));
        return Values.map(entries);
    }

    private static UTF8String string(Object v) {
        return v instanceof Utf8 u ? UTF8String.fromBytes(u.getBytes(), 0, u.getByteLength()) : Values.string(v.toString());
    }

    private static byte[] bytes(Object v) {
        if (v instanceof GenericFixed f) {
            return f.bytes();
        }
        ByteBuffer b = ((ByteBuffer) v).duplicate();
        byte[] copy = new byte[b.remaining()];
        b.get(copy);
        return copy;
    }

    static GenericData.Record record(SpecializedGetters row, FType t, Schema schema) throws IOException {
        GenericData.Record r = new GenericData.Record(branch(schema));
        for (int i = 0; i < t.size(); i++) {
            r.put(i, datum(row, i, t.children[i], r.getSchema().getFields().get(i).schema()));
        }
        return r;
    }

    private static Schema branch(Schema s) {
        return s.isUnion() ? s.getTypes().get(s.getTypes().get(0).getType() == Schema.Type.NULL ? 1 : 0) : s;
    }

    private static Object datum(SpecializedGetters g, int i, FType t, Schema schema) throws IOException {
        if (g.isNullAt(i)) {
            return null;
        }
        return switch (t.kind) {
            case BOOLEAN -> g.getBoolean(i);
            case TINYINT -> (int) g.getByte(i);
            case SMALLINT -> (int) g.getShort(i);
            case INT, DATE, TIME -> g.getInt(i);
            case BIGINT -> g.getLong(i);
            case FLOAT -> g.getFloat(i);
            case DOUBLE -> g.getDouble(i);
            case DECIMAL -> ByteBuffer.wrap(
                g.getDecimal(i, t.precision, t.scale).toJavaBigDecimal().unscaledValue().toByteArray());
            case BINARY, VARBINARY -> ByteBuffer.wrap(g.getBinary(i));
            case TIMESTAMP, TIMESTAMP_LTZ -> Math.floorDiv(g.getLong(i), 1000L);
            case ARRAY -> array(g.getArray(i), t.children[0], branch(schema).getElementType());
            case MAP, MULTISET -> map(g.getMap(i), t.children[1], branch(schema).getValueType());
            case ROW -> record(g.getStruct(i, t.size()), t, schema);
            case NULL -> null;
            case CHAR, VARCHAR -> new Utf8(g.getUTF8String(i).getBytes());
        };
    }

    private static List<Object> array(ArrayData a, FType t, Schema schema) throws IOException {
        List<Object> items = new ArrayList<>(a.numElements());
        for (int i = 0; i < a.numElements(); i++) {
            items.add(datum(a, i, t, schema));
        }
        return items;
    }

    /** In the order of Flink's own hash map; a null key is empty text there. */
    private static Map<String, Object> map(MapData m, FType t, Schema schema) throws IOException {
        int n = m.numElements();
        Map<String, Object> entries = new HashMap<>(n <= 2 ? n + 1 : (int) Math.ceil(n / 0.75f));
        for (int i = 0; i < n; i++) {
            String key = m.keyArray().isNullAt(i) ? "" : m.keyArray().getUTF8String(i).toString();
            entries.put(key, datum(m.valueArray(), i, t, schema));
        }
        return entries;
    }
}
