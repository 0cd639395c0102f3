package flinkddl.udf.flink;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.logical.utils.LogicalTypeUtils;

/**
 * A Flink type and the class that a function has its values in, part by part: what Flink calls a DataType. The text of a
 * bridge is that of {@code flinkddl/functions/java/spec.py}.
 */
record Shape(LogicalType type, Class<?> bridge, List<Shape> parts) {
    private static final Map<String, Class<?>> PRIMITIVES = Stream
        .of(boolean.class, byte.class, short.class, int.class, long.class, float.class, double.class, void.class)
        .collect(Collectors.toMap(Class::getName, Function.identity()));

    static LogicalType type(String text) {
        try {
            return LogicalTypeParser.parse(text, Shape.class.getClassLoader());
        } catch (ValidationException e) { // RAW of a class, above all
            throw new IllegalArgumentException("FD890: Spark has no type that carries " + text, e);
        }
    }

    static Shape of(String type, String bridge, ClassLoader job) {
        return new Text(bridge, job).shape(type(type));
    }

    /** Of a class alone; its parts are as the class has them, or by default. */
    static Shape of(LogicalType type, Class<?> bridge) {
        boolean internal = bridge == RowData.class || bridge == ArrayData.class || bridge == MapData.class;
        List<LogicalType> children = type.getChildren();
        List<Shape> parts = new ArrayList<>();
        for (int i = 0; i < children.size(); i++) {
            LogicalType t = children.get(i);
            Class<?> usual = bridge.isArray() ? bridge.getComponentType() : Pojo.field(bridge, type, i, t.getDefaultConversion());
            parts.add(of(t, internal ? LogicalTypeUtils.toInternalConversionClass(t) : usual));
        }
        return new Shape(type, bridge, parts);
    }

    static Class<?> load(String name, ClassLoader job) {
        if (name.endsWith("[]")) {
            return load(name.substring(0, name.length() - 2), job).arrayType();
        }
        try {
            return PRIMITIVES.containsKey(name) ? PRIMITIVES.get(name) : Class.forName(name, false, job);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("FD890: the class '" + name + "' is not in the jars of the function", e);
        } catch (LinkageError e) { // of another version of Flink, or without a jar of its own
            throw new IllegalStateException("FD890: the class '" + name + "' does not load: " + e, e);
        }
    }

    /** Reads {@code name<part,part>[]}. */
    private static final class Text {
        private final String text;
        private final ClassLoader job;
        private int at;

        Text(String text, ClassLoader job) {
            this.text = text;
            this.job = job;
        }

        Shape shape(LogicalType type) {
            int from = at;
            while (at < text.length() && "<>,".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            Class<?> bridge = load(text.substring(from, at).trim(), job);
            if (at == text.length() || text.charAt(at) != '<') {
                return of(type, bridge);
            }
            List<Shape> parts = new ArrayList<>();
            for (LogicalType child : type.getChildren()) {
                at++; // the bracket or comma before it
                parts.add(shape(child));
            }
            at++;
            return new Shape(type, bridge, parts);
        }
    }
}
