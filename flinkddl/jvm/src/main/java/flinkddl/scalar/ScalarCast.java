package flinkddl.scalar;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** CAST of text. {@code strict} says whether text that is no value fails the job (CAST) or is NULL (TRY_CAST). */
public final class ScalarCast {
    private static final Pattern DATE = Pattern.compile("\\s*(\\d{1,4})\\s*(?:-\\s*(\\d{1,2})\\s*(?:-\\s*(\\d{1,2})\\s*)?)?");
    private static final Pattern TIME = Pattern.compile("\\s*(\\d{1,2}):(\\d{1,2})(?::(\\d{1,2})(?:\\.(\\d{1,9}))?)?\\s*");

    private ScalarCast() {}

    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarCast.class); }

    private static <T> T checked(T value, UTF8String s, boolean strict, String type) {
        if (value == null && s != null && strict) {
            throw new IllegalArgumentException("cannot read '" + s + "' as " + type);
        }
        return value;
    }

    /** {@code cast_long(text, bits, strict)}: a whole number of 8 to 64 bits; digits after a point are dropped. */
    public static final class CastLong extends Scalar {
        public static Long invoke(UTF8String s, int bits, boolean strict) {
            UTF8String.LongWrapper w = new UTF8String.LongWrapper();
            boolean fits = s != null && s.toString().strip().equals(s.trim().toString()) && s.trim().toLong(w) && w.value >> (bits - 1) == w.value >> 63;
            return checked(fits ? Long.valueOf(w.value) : null, s, strict, bits + " bit integer");
        }
    }

    public static final class CastDouble extends Scalar {
        public static Double invoke(UTF8String s, boolean strict) {
            try {
                return s == null ? null : Double.valueOf(s.toString());
            } catch (NumberFormatException e) {
                return checked(null, s, strict, "DOUBLE");
            }
        }
    }

    public static final class CastFloat extends Scalar {
        public static Float invoke(UTF8String s, boolean strict) {
            Double fits = CastDouble.invoke(s, strict);
            return fits == null ? null : Float.valueOf(s.toString());
        }
    }

    private static int part(Matcher m, int group, int otherwise) {
        return m.group(group) == null ? otherwise : Integer.parseInt(m.group(group));
    }

    static Integer days(String s) {
        int blank = s.indexOf(' ');
        Matcher m = DATE.matcher(blank > 0 ? s.substring(0, blank) : s);
        try {
            return !m.matches() ? null : (int) LocalDate.of(part(m, 1, 0), part(m, 2, 1), part(m, 3, 1)).toEpochDay();
        } catch (DateTimeException e) {
            return null;
        }
    }

    public static final class CastDate extends Scalar {
        public static Integer invoke(UTF8String s, boolean strict) {
            return checked(s == null ? null : days(s.toString()), s, strict, "DATE");
        }
    }

    /** Milliseconds of the day. */
    public static final class CastTime extends Scalar {
        public static Integer invoke(UTF8String s, boolean strict) {
            Matcher m = TIME.matcher(s == null ? "" : s.toString());
            try {
                return checked(!m.matches() ? null
                    : LocalTime.of(part(m, 1, 0), part(m, 2, 0), part(m, 3, 0)).toSecondOfDay() * 1000
                        + (int) Math.round(Double.parseDouble("0." + (m.group(4) == null ? "0" : m.group(4))) * 1000), s, strict, "TIME");
            } catch (DateTimeException e) {
                return checked(null, s, strict, "TIME");
            }
        }
    }

    /** {@code map_of(keys, values)}: a map whose key may be NULL, which Spark's own constructor refuses. The last one wins. */
    public static final class MapOf extends Scalar {
        public MapData invoke(ArrayData keys, ArrayData values) {
            if (keys == null || values == null) {
                return null;
            }
            DataType keyType = ((MapType) resultType()).keyType(), valueType = ((MapType) resultType()).valueType();
            LinkedHashMap<Object, Object> entries = new LinkedHashMap<>();
            for (int i = 0; i < keys.numElements(); i++) {
                entries.put(keys.isNullAt(i) ? null : keys.get(i, keyType), values.isNullAt(i) ? null : values.get(i, valueType));
            }
            return new ArrayBasedMapData(new GenericArrayData(entries.keySet().toArray()),
                new GenericArrayData(entries.values().toArray()));
        }

        @Override public DataType resultType() {
            return DataTypes.createMapType(((ArrayType) arguments.apply(0).dataType()).elementType(),
                ((ArrayType) arguments.apply(1).dataType()).elementType(), true);
        }
    }

    /**
     * {@code map_last(entries)} and {@code map_last(keys, values)}: Spark's map_from_entries and map_from_arrays where
     * the last of equal keys wins, at the place of the first, without a look at spark.sql.mapKeyDedupPolicy.
     */
    public static final class MapLast extends Scalar {
        private transient MapType type;
        private transient Comparator<Object> order;

        public MapData invoke(ArrayData entries) {
            if (entries == null || IntStream.range(0, entries.numElements()).anyMatch(entries::isNullAt)) {
                return null;
            }
            open();
            Object[] keys = new Object[entries.numElements()], values = new Object[keys.length];
            for (int i = 0; i < keys.length; i++) {
                InternalRow entry = entries.getStruct(i, 2);
                keys[i] = entry.isNullAt(0) ? null : entry.get(0, type.keyType());
                values[i] = entry.isNullAt(1) ? null : entry.get(1, type.valueType());
            }
            return last(keys, values);
        }

        public MapData invoke(ArrayData keys, ArrayData values) {
            if (keys == null || values == null) {
                return null;
            }
            if (keys.numElements() != values.numElements()) {
                throw QueryExecutionErrors.mapDataKeyArrayLengthDiffersFromValueArrayLengthError();
            }
            open();
            MapData found = last(keys.toObjectArray(type.keyType()), values.toObjectArray(type.valueType()));
            return found.numElements() == keys.numElements() ? new ArrayBasedMapData(keys, values) : found;
        }

        /** Keys that Java does not compare by value are compared by Spark's order, which a plan cannot carry along. */
        private void open() {
            if (type == null) {
                MapType result = (MapType) resultType();
                DataType key = result.keyType();
                boolean plain = key instanceof StringType s ? s.supportsBinaryEquality()
                    : !(key instanceof BinaryType || key instanceof ArrayType || key instanceof StructType);
                order = plain ? null : TypeUtils.getInterpretedOrdering(key);
                type = result;
            }
        }

        private MapData last(Object[] keys, Object[] values) {
            Map<Object, Integer> places = order == null ? new HashMap<>() : new TreeMap<>(order);
            for (int i = 0; i < keys.length; i++) {
                if (keys[i] == null) {
                    throw QueryExecutionErrors.nullAsMapKeyNotAllowedError();
                }
                Object key = normal(keys[i]);
                int next = places.size();
                Integer known = places.putIfAbsent(key, next);
                keys[known == null ? next : known] = known == null ? key : keys[known];
                values[known == null ? next : known] = values[i];
            }
            return new ArrayBasedMapData(new GenericArrayData(Arrays.copyOf(keys, places.size())),
                new GenericArrayData(Arrays.copyOf(values, places.size())));
        }

        /** One zero and one NaN, as in Spark's maps. */
        private static Object normal(Object key) {
            return key instanceof Double d ? Double.valueOf(d.isNaN() ? Double.NaN : d + 0.0)
                : key instanceof Float f ? Float.valueOf(f.isNaN() ? Float.NaN : f + 0.0f) : key;
        }

        @Override public DataType resultType() {
            ArrayType first = (ArrayType) arguments.apply(0).dataType();
            if (arguments.length() == 2) {
                ArrayType second = (ArrayType) arguments.apply(1).dataType();
                return DataTypes.createMapType(first.elementType(), second.elementType(), second.containsNull());
            }
            StructField[] entry = ((StructType) first.elementType()).fields();
            return DataTypes.createMapType(entry[0].dataType(), entry[1].dataType(), entry[1].nullable());
        }
    }

    /** With {@code nanos} the type keeps digits beyond microseconds: text that has some fails even in TRY_CAST. */
    public static final class CastTimestamp extends Scalar {
        public static Long invoke(UTF8String s, boolean strict, boolean nanos) {
            return checked(s == null ? null : ScalarTimes.parseDefault(s.toString(), nanos), s, strict, "TIMESTAMP");
        }
    }
}
