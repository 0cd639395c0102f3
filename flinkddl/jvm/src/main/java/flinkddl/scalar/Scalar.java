package flinkddl.scalar;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Binds static Java methods as SQL functions with generated code, one line each: a nested class of the family that
 * extends this one and has public static methods named {@code invoke} (overloads by number and type of arguments):
 *
 * <pre>public static final class LeftPad extends Scalar {
 *     public static UTF8String invoke(UTF8String s, int n) { return ...; } }</pre>
 *
 * becomes {@code flinkddl.left_pad(s, n)} after {@code Scalar.registerAll(map, Family.class)}. A NULL for a primitive
 * parameter gives NULL without a call; reference parameters see null. A boxed or reference result may be null.
 * DECIMAL, ARRAY, MAP and STRUCT parameters keep the type of the argument; such a result needs {@link #resultType()}.
 */
public abstract class Scalar implements ScalarFunction<Object> {
    private static final Map<Class<?>, DataType> TYPES = Map.ofEntries(
        Map.entry(boolean.class, DataTypes.BooleanType), Map.entry(Boolean.class, DataTypes.BooleanType),
        Map.entry(byte.class, DataTypes.ByteType), Map.entry(Byte.class, DataTypes.ByteType),
        Map.entry(short.class, DataTypes.ShortType), Map.entry(Short.class, DataTypes.ShortType),
        Map.entry(int.class, DataTypes.IntegerType), Map.entry(Integer.class, DataTypes.IntegerType),
        Map.entry(long.class, DataTypes.LongType), Map.entry(Long.class, DataTypes.LongType),
        Map.entry(float.class, DataTypes.FloatType), Map.entry(Float.class, DataTypes.FloatType),
        Map.entry(double.class, DataTypes.DoubleType), Map.entry(Double.class, DataTypes.DoubleType),
        Map.entry(UTF8String.class, DataTypes.StringType), Map.entry(byte[].class, DataTypes.BinaryType));

    /** Types of the arguments as bound; set before any other method is called. */
    protected StructType arguments;
    private transient Method method;

    /** Registers every nested subclass of {@code family} under its name in snake case. */
    public static void registerAll(Map<String, UnboundFunction> table, Class<?> family) {
        for (Class<?> c : family.getDeclaredClasses()) {
            if (Scalar.class.isAssignableFrom(c) && !Modifier.isAbstract(c.getModifiers())) {
                String name = c.getSimpleName().replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase();
                table.put(name, unbound(name, inputs -> create(c, inputs)));
            }
        }
    }

    /** Wraps a binder as the function that Spark looks up. */
    public static UnboundFunction unbound(String name, Function<StructType, BoundFunction> binder) {
        return new UnboundFunction() {
            @Override public String name() { return name; }
            @Override public String description() { return "flinkddl." + name; }
            @Override public BoundFunction bind(StructType inputs) { return binder.apply(inputs); }
        };
    }

    private static Scalar create(Class<?> c, StructType inputs) {
        try {
            Scalar s = (Scalar) c.getDeclaredConstructor().newInstance();
            s.arguments = inputs;
            s.method = s.choose();
            return s;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(c.getName(), e);
        }
    }

    /** The overload of the right arity; with several, the one whose parameters equal the argument types most often. */
    private Method choose() {
        Method best = null;
        int most = -1;
        for (Method m : getClass().getDeclaredMethods()) {
            if (!m.getName().equals("invoke") || m.getParameterCount() != arguments.length()) {
                continue;
            }
            int same = 0;
            for (int i = 0; i < m.getParameterCount(); i++) {
                same += arguments.apply(i).dataType().equals(type(m.getParameterTypes()[i], i)) ? 1 : 0;
            }
            if (same > most) {
                best = m;
                most = same;
            }
        }
        if (best == null) {
            throw new UnsupportedOperationException(name() + " does not take " + arguments.length() + " arguments");
        }
        return best;
    }

    private DataType type(Class<?> c, int i) {
        boolean asBound = c == Decimal.class || c == ArrayData.class || c == MapData.class || c == InternalRow.class;
        DataType bound = arguments.apply(i).dataType();
        // dates, timestamps and intervals are int and long inside Spark
        boolean isNumber = c == int.class || c == long.class || c == Integer.class || c == Long.class;
        return asBound || (isNumber && (bound.typeName().matches("date|timestamp.*|interval.*"))) ? bound : TYPES.get(c);
    }

    @Override public DataType[] inputTypes() {
        DataType[] types = new DataType[method.getParameterCount()];
        for (int i = 0; i < types.length; i++) {
            types[i] = type(method.getParameterTypes()[i], i);
        }
        return types;
    }

    @Override public DataType resultType() { return TYPES.get(method.getReturnType()); }

    @Override public boolean isResultNullable() { return !method.getReturnType().isPrimitive(); }

    @Override public String name() { return getClass().getSimpleName(); }

    @Override public String canonicalName() { return "flinkddl." + getClass().getName(); }
}
