package flinkddl.udf.flink;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.RowUtils;

/** Values that {@link Pack} writes in a way of their own, a line a class; the place in the table is in the bytes. */
final class Leaves {
    interface Writer<T> {
        void write(T value, DataOutput out, Parts parts) throws IOException, IllegalAccessException;
    }

    interface Reader {
        Object read(DataInput in, Part part) throws IOException, ReflectiveOperationException;
    }

    interface Parts {
        void write(Object value) throws IOException, IllegalAccessException;
    }

    interface Part {
        Object read() throws IOException, ReflectiveOperationException;
    }

    private record Leaf<T>(Class<T> type, Writer<T> writer, Reader reader) {
        void write(Object v, DataOutput out, Parts parts) throws IOException, IllegalAccessException {
            writer.write(type.cast(v), out, parts);
        }
    }

    /** New ones at the end: state was written with these numbers. */
    private static final List<Leaf<?>> TABLE = List.of(
        new Leaf<>(String.class, (v, out, p) -> bytes(v.getBytes(StandardCharsets.UTF_8), out), (in, p) -> text(in)),
        new Leaf<>(Integer.class, (v, out, p) -> out.writeInt(v), (in, p) -> in.readInt()),
        new Leaf<>(Long.class, (v, out, p) -> out.writeLong(v), (in, p) -> in.readLong()),
        new Leaf<>(Double.class, (v, out, p) -> out.writeDouble(v), (in, p) -> in.readDouble()),
        new Leaf<>(Float.class, (v, out, p) -> out.writeFloat(v), (in, p) -> in.readFloat()),
        new Leaf<>(Boolean.class, (v, out, p) -> out.writeBoolean(v), (in, p) -> in.readBoolean()),
        new Leaf<>(Short.class, (v, out, p) -> out.writeShort(v), (in, p) -> in.readShort()),
        new Leaf<>(Byte.class, (v, out, p) -> out.writeByte(v), (in, p) -> in.readByte()),
        new Leaf<>(Character.class, (v, out, p) -> out.writeChar(v), (in, p) -> in.readChar()),
        new Leaf<>(byte[].class, (v, out, p) -> bytes(v, out), (in, p) -> bytes(in)),
        new Leaf<>(BigDecimal.class, (v, out, p) -> {
            bytes(v.unscaledValue().toByteArray(), out);
            out.writeInt(v.scale());
        }, (in, p) -> new BigDecimal(new BigInteger(bytes(in)), in.readInt())),
        new Leaf<>(BigInteger.class, (v, out, p) -> bytes(v.toByteArray(), out), (in, p) -> new BigInteger(bytes(in))),
        new Leaf<>(LocalDate.class, (v, out, p) -> out.writeLong(v.toEpochDay()), (in, p) -> LocalDate.ofEpochDay(in.readLong())),
        new Leaf<>(LocalTime.class, (v, out, p) -> out.writeLong(v.toNanoOfDay()), (in, p) -> LocalTime.ofNanoOfDay(in.readLong())),
        new Leaf<>(LocalDateTime.class, (v, out, p) -> {
            out.writeLong(v.toLocalDate().toEpochDay());
            out.writeLong(v.toLocalTime().toNanoOfDay());
        }, (in, p) -> LocalDateTime.of(LocalDate.ofEpochDay(in.readLong()), LocalTime.ofNanoOfDay(in.readLong()))),
        new Leaf<>(Instant.class, (v, out, p) -> {
            out.writeLong(v.getEpochSecond());
            out.writeInt(v.getNano());
        }, (in, p) -> Instant.ofEpochSecond(in.readLong(), in.readInt())),
        new Leaf<>(Duration.class, (v, out, p) -> {
            out.writeLong(v.getSeconds());
            out.writeInt(v.getNano());
        }, (in, p) -> Duration.ofSeconds(in.readLong(), in.readInt())),
        new Leaf<>(java.sql.Timestamp.class, (v, out, p) -> {
            out.writeLong(v.getTime());
            out.writeInt(v.getNanos());
        }, (in, p) -> {
            java.sql.Timestamp t = new java.sql.Timestamp(in.readLong());
            t.setNanos(in.readInt());
            return t;
        }),
        new Leaf<>(Row.class, Leaves::row, Leaves::row),
        new Leaf<>(GenericRowData.class, (v, out, p) -> {
            out.writeByte(v.getRowKind().toByteValue());
            out.writeInt(v.getArity());
            for (int i = 0; i < v.getArity(); i++) {
                p.write(v.getField(i));
            }
        }, (in, p) -> {
            RowKind kind = RowKind.fromByteValue(in.readByte());
            return GenericRowData.ofKind(kind, values(in, p));
        }),
        new Leaf<>(StringData.class, (v, out, p) -> bytes(v.toBytes(), out), (in, p) -> StringData.fromBytes(bytes(in))),
        new Leaf<>(DecimalData.class, (v, out, p) -> {
            bytes(v.toUnscaledBytes(), out);
            out.writeInt(v.precision());
            out.writeInt(v.scale());
        }, (in, p) -> DecimalData.fromUnscaledBytes(bytes(in), in.readInt(), in.readInt())),
        new Leaf<>(TimestampData.class, (v, out, p) -> {
            out.writeLong(v.getMillisecond());
            out.writeInt(v.getNanoOfMillisecond());
        }, (in, p) -> TimestampData.fromEpochMillis(in.readLong(), in.readInt())),
        new Leaf<>(GenericMapData.class, (v, out, p) -> p.write(inside(v, "map")), (in, p) -> new GenericMapData((Map<?, ?>) p.read())),
        new Leaf<>(GenericArrayData.class, (v, out, p) -> p.write(inside(v, "array")), (in, p) -> array(p.read())));

    private Leaves() { }

    /** The number of a value's class; -1 for another. */
    static int number(Object v) {
        for (int i = 0; i < TABLE.size(); i++) {
            if (TABLE.get(i).type.isInstance(v)) {
                return i;
            }
        }
        return -1;
    }

    static void write(int number, Object v, DataOutput out, Parts parts) throws IOException, IllegalAccessException {
        out.writeByte(number);
        TABLE.get(number).write(v, out, parts);
    }

    static Object read(DataInput in, Part part) throws IOException, ReflectiveOperationException {
        return TABLE.get(in.readByte()).reader.read(in, part);
    }

    private static void bytes(byte[] v, DataOutput out) throws IOException {
        out.writeInt(v.length);
        out.write(v);
    }

    private static byte[] bytes(DataInput in) throws IOException {
        byte[] v = new byte[in.readInt()];
        in.readFully(v);
        return v;
    }

    private static String text(DataInput in) throws IOException { return new String(bytes(in), StandardCharsets.UTF_8); }

    private static Object[] values(DataInput in, Part part) throws IOException, ReflectiveOperationException {
        Object[] values = new Object[in.readInt()];
        for (int i = 0; i < values.length; i++) {
            values[i] = part.read();
        }
        return values;
    }

    /** A row has places, names or both. */
    private static void row(Row v, DataOutput out, Parts parts) throws IOException, IllegalAccessException {
        Set<String> names = v.getFieldNames(true);
        boolean places = v.getFieldNames(false) == null;
        out.writeByte(v.getKind().toByteValue());
        out.writeBoolean(places);
        parts.write(names == null ? null : new ArrayList<>(names));
        out.writeInt(v.getArity());
        for (Object at : places ? List.of() : names) {
            parts.write(v.getField((String) at));
        }
        for (int i = 0; places && i < v.getArity(); i++) {
            parts.write(v.getField(i));
        }
    }

    private static Object row(DataInput in, Part part) throws IOException, ReflectiveOperationException {
        RowKind kind = RowKind.fromByteValue(in.readByte());
        boolean places = in.readBoolean();
        List<?> names = (List<?>) part.read();
        Object[] values = values(in, part);
        if (places && names == null) {
            return Row.ofKind(kind, values);
        }
        if (places) {
            LinkedHashMap<String, Integer> known = new LinkedHashMap<>();
            names.forEach(n -> known.put((String) n, known.size()));
            return RowUtils.createRowWithNamedPositions(kind, values, known);
        }
        Row row = Row.withNames(kind);
        for (int i = 0; i < values.length; i++) {
            row.setField((String) names.get(i), values[i]);
        }
        return row;
    }

    /** What Flink's own classes keep to themselves. */
    private static Object inside(Object v, String name) throws IllegalAccessException {
        try {
            Field field = v.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(v);
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }

    private static GenericArrayData array(Object v) throws ReflectiveOperationException {
        Class<?> type = v instanceof Object[] ? Object[].class : v.getClass();
        return GenericArrayData.class.getConstructor(type).newInstance(v);
    }
}
