package flinkddl.udf.flink;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/**
 * Objects of a class as the values of its fields. One is made by a constructor that takes all fields, known by the names
 * of its parameters or, where a class has no empty constructor, by their number; otherwise empty, and its fields are set.
 */
final class Pojo {
    private final Class<?> type;
    private final Field[] fields;
    private final Constructor<?> maker;
    /** Which field each parameter of the constructor is; null where it takes none. */
    private final int[] places;

    Pojo(Class<?> type, List<String> names) {
        this.type = type;
        fields = names.stream().map(n -> found(type, n)).toArray(Field[]::new);
        Constructor<?> whole = null;
        Constructor<?> empty = null;
        for (Constructor<?> c : type.getDeclaredConstructors()) {
            empty = c.getParameterCount() == 0 ? c : empty;
            whole = c.getParameterCount() == fields.length && fields.length > 0 && fits(c, names) ? c : whole;
        }
        maker = whole != null && (empty == null || named(whole)) ? whole : empty;
        if (maker == null) {
            throw new IllegalStateException("FD890: " + type.getName() + " has no constructor without, or with all of " + names);
        }
        maker.setAccessible(true);
        places = maker == empty ? null : places(maker, names);
    }

    private static boolean named(Constructor<?> c) { return Arrays.stream(c.getParameters()).allMatch(Parameter::isNamePresent); }

    private static boolean fits(Constructor<?> c, List<String> names) {
        return !named(c) || Arrays.stream(c.getParameters()).map(Parameter::getName).allMatch(names::contains);
    }

    private static int[] places(Constructor<?> c, List<String> names) {
        List<String> order = new ArrayList<>();
        if (named(c)) {
            Arrays.stream(c.getParameters()).forEach(p -> order.add(p.getName()));
        } else { // in the order in which the class declares its fields
            Arrays.stream(c.getDeclaringClass().getDeclaredFields()).map(Field::getName).filter(names::contains).forEach(order::add);
        }
        return order.stream().mapToInt(names::indexOf).toArray();
    }

    private static Field found(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Field f : at.getDeclaredFields()) {
                if (f.getName().equals(name) && !Modifier.isStatic(f.getModifiers())) {
                    f.setAccessible(true);
                    return f;
                }
            }
        }
        throw new IllegalStateException("FD890: " + type.getName() + " has no field '" + name + "'");
    }

    /** The class in which a structured type has field {@code i} of a ROW; {@code otherwise} where the class is none. */
    static Class<?> field(Class<?> type, LogicalType row, int i, Class<?> otherwise) {
        boolean own = row instanceof RowType && !type.getName().startsWith("org.apache.flink.") && type != Object.class;
        return own ? found(type, ((RowType) row).getFieldNames().get(i)).getType() : otherwise;
    }

    Object make(Object[] values) {
        try {
            if (places != null) {
                return maker.newInstance(Arrays.stream(places).mapToObj(p -> values[p]).toArray());
            }
            Object made = maker.newInstance();
            for (int i = 0; i < values.length; i++) {
                if (values[i] != null || !fields[i].getType().isPrimitive()) {
                    fields[i].set(made, values[i]);
                }
            }
            return made;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no object of " + type.getName() + " can be made", e);
        }
    }

    Object[] values(Object object) {
        Object[] values = new Object[fields.length];
        try {
            for (int i = 0; i < values.length; i++) {
                values[i] = fields[i].get(object);
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return values;
    }
}
