package flinkddl.udf.flink;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SortedMap;
import java.util.SortedSet;

/**
 * Accumulators as bytes and back, whatever class they are of: leaves (see {@link Leaves}), arrays, collections and maps
 * element by element, and of other objects the fields, in the order of their names. An object that cannot be made empty is
 * left to Java's own serialization. Fields that came or went since show as a different {@code layout}, which is refused.
 */
final class Pack {
    private static final int NULL = 0;
    private static final int LEAF = 1;
    private static final int ARRAY = 2;
    private static final int COLLECTION = 3;
    private static final int MAP = 4;
    private static final int FIELDS = 5;
    private static final int SERIALIZED = 6;

    private final ClassLoader job;
    private final Map<Class<?>, Layout> layouts = new LinkedHashMap<>();

    Pack(ClassLoader job) { this.job = job; }

    /** What of a class is written: its fields, and how an empty object is made; null where none can be. */
    private record Layout(Constructor<?> maker, List<Field> fields, int hash) { }

    private Layout layout(Class<?> type) { return layouts.computeIfAbsent(type, Pack::look); }

    private static Layout look(Class<?> type) {
        try {
            Constructor<?> maker = type.getDeclaredConstructor();
            maker.setAccessible(true);
            List<Field> fields = new ArrayList<>();
            for (Class<?> at = plain(type) ? Object.class : type; at != Object.class; at = at.getSuperclass()) {
                for (Field f : at.getDeclaredFields()) {
                    if (!Modifier.isStatic(f.getModifiers()) && !Modifier.isTransient(f.getModifiers())) {
                        f.setAccessible(true);
                        fields.add(f);
                    }
                }
            }
            fields.sort(Comparator.comparing(Field::getName).thenComparing(f -> f.getDeclaringClass().getName()));
            int hash = fields.stream().map(f -> f.getName() + ":" + f.getType().getName()).toList().hashCode();
            return new Layout(maker, fields, hash);
        } catch (ReflectiveOperationException | RuntimeException e) { // also where a module keeps its fields to itself
            return new Layout(null, List.of(), 0);
        }
    }

    byte[] write(Object value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
        try {
            new Writing(new DataOutputStream(bytes)).write(value);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (IllegalAccessException | StackOverflowError e) {
            throw new IllegalStateException("FD892: the accumulator " + value.getClass().getName() + " cannot be kept: " + e, e);
        }
        return bytes.toByteArray();
    }

    Object read(byte[] bytes) {
        try {
            return new Reading(new DataInputStream(new ByteArrayInputStream(bytes))).read();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException("FD892: an accumulator that was kept cannot be read: " + e, e);
        }
    }

    private final class Writing {
        private final DataOutputStream out;
        private final List<String> names = new ArrayList<>();

        Writing(DataOutputStream out) { this.out = out; }

        void write(Object v) throws IOException, IllegalAccessException {
            int leaf = v == null ? -1 : Leaves.number(v);
            if (v == null) {
                out.writeByte(NULL);
            } else if (leaf >= 0) {
                out.writeByte(LEAF);
                Leaves.write(leaf, v, out, this::write);
            } else if (v.getClass().isArray()) {
                begin(ARRAY, v.getClass().getComponentType());
                out.writeInt(Array.getLength(v));
                for (int i = 0; i < Array.getLength(v); i++) {
                    write(Array.get(v, i));
                }
            } else if (v instanceof Collection<?> c && refilled(v)) {
                begin(COLLECTION, v.getClass());
                out.writeInt(c.size());
                for (Object e : c) {
                    write(e);
                }
            } else if (v instanceof Map<?, ?> m && refilled(v)) {
                begin(MAP, v.getClass());
                out.writeInt(m.size());
                for (Map.Entry<?, ?> e : m.entrySet()) {
                    write(e.getKey());
                    write(e.getValue());
                }
            } else {
                object(v);
            }
        }

        private void object(Object v) throws IOException, IllegalAccessException {
            Layout layout = layout(v.getClass());
            if (layout.maker == null || plain(v.getClass())) {
                serialized(v);
                return;
            }
            begin(FIELDS, v.getClass());
            out.writeInt(layout.hash);
            for (Field f : layout.fields) {
                write(f.get(v));
            }
        }

        private void serialized(Object v) throws IOException {
            if (!(v instanceof Serializable)) {
                throw new IllegalStateException("FD892: an accumulator holds a " + v.getClass().getName()
                    + ", which has no empty constructor and is not Serializable");
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream objects = new ObjectOutputStream(bytes)) {
                objects.writeObject(v);
            }
            out.writeByte(SERIALIZED);
            out.writeInt(bytes.size());
            bytes.writeTo(out);
        }

        /** The kind and the class, by its number where it was named before. */
        private void begin(int kind, Class<?> type) throws IOException {
            out.writeByte(kind);
            int known = names.indexOf(type.getName());
            out.writeShort(known);
            if (known < 0) {
                names.add(type.getName());
                out.writeUTF(type.getTypeName());
            }
        }
    }

    /** A collection or map of Java itself, which its elements are all of. */
    private static boolean plain(Class<?> type) {
        boolean many = Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type);
        return many && type.getName().startsWith("java.util.");
    }

    /** Whether {@link #plain} elements can be put into an empty one; an order of its own would be lost. */
    private boolean refilled(Object v) {
        boolean ordered = v instanceof SortedMap<?, ?> m && m.comparator() != null
            || v instanceof SortedSet<?> s && s.comparator() != null || v instanceof PriorityQueue<?> q && q.comparator() != null;
        return plain(v.getClass()) && !ordered && layout(v.getClass()).maker != null;
    }

    private final class Reading {
        private final DataInputStream in;
        private final List<Class<?>> classes = new ArrayList<>();

        Reading(DataInputStream in) { this.in = in; }

        @SuppressWarnings("unchecked")
        Object read() throws IOException, ReflectiveOperationException {
            int kind = in.readByte();
            if (kind == NULL || kind == LEAF) {
                return kind == NULL ? null : Leaves.read(in, this::read);
            }
            if (kind == SERIALIZED) {
                return serialized();
            }
            Class<?> type = type();
            if (kind == ARRAY) {
                Object array = Array.newInstance(type, in.readInt());
                for (int i = 0; i < Array.getLength(array); i++) {
                    Array.set(array, i, read());
                }
                return array;
            }
            Object made = made(type);
            if (kind == FIELDS) {
                return fields(type, made);
            }
            for (int n = in.readInt(); n > 0; n--) {
                Object first = read();
                if (kind == COLLECTION) {
                    ((Collection<Object>) made).add(first);
                } else {
                    ((Map<Object, Object>) made).put(first, read());
                }
            }
            return made;
        }

        private Object made(Class<?> type) throws ReflectiveOperationException {
            Layout layout = layout(type);
            if (layout.maker == null) {
                throw new InstantiationException(type.getName() + " has no empty constructor any more");
            }
            return layout.maker.newInstance();
        }

        private Object fields(Class<?> type, Object made) throws IOException, ReflectiveOperationException {
            Layout layout = layout(type);
            if (in.readInt() != layout.hash) {
                throw new IOException("the fields of " + type.getName() + " are not those that were kept");
            }
            for (Field f : layout.fields) {
                f.set(made, read());
            }
            return made;
        }

        private Class<?> type() throws IOException {
            int known = in.readShort();
            if (known >= 0) {
                return classes.get(known);
            }
            classes.add(Shape.load(in.readUTF(), job));
            return classes.get(classes.size() - 1);
        }

        private Object serialized() throws IOException, ReflectiveOperationException {
            byte[] bytes = new byte[in.readInt()];
            in.readFully(bytes);
            try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
                @Override protected Class<?> resolveClass(ObjectStreamClass c) throws IOException, ClassNotFoundException {
                    try {
                        return Class.forName(c.getName(), false, job);
                    } catch (ClassNotFoundException e) {
                        return super.resolveClass(c);
                    }
                }
            }) {
                return objects.readObject();
            }
        }
    }
}
