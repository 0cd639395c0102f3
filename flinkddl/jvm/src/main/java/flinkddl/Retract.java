package flinkddl;

import flinkddl.scalar.Scalar;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Aggregates that can take values back and that know what they gave out before.
 *
 * <p>A state keeps what came in earlier micro-batches (base) apart from what came in this one (pending): pending is
 * stamped with the batch id, and a reader that runs in a later batch folds it into the base. So one GROUP BY sees the
 * old and the new content of a group, and its result is the change. Exact under replay, because a replayed batch reads
 * the state of the batch before; exact under any order of merges, because base and pending merge apart.
 *
 * <p>Spark writes a state with Java's serialization and reads it with the class loader of the application, which does
 * not know a jar that was added later (ADD JAR, Spark Connect). So a state is written as plain bytes.
 */
public abstract class Retract<S extends Retract.State> implements AggregateFunction<Serializable, Object> {
    private static final String BATCH_ID = "streaming.sql.batchId"; // Spark sets it on every task of a micro-batch

    private static final long WHOLE = -2; // a stamp of no batch

    final StructType inputs;
    private final String sqlName;
    private boolean whole;
    private final long[] lives = {0, 0};

    Retract(String sqlName, StructType inputs) {
        this.sqlName = sqlName;
        this.inputs = inputs;
    }

    /**
     * {@code retract_x} is class {@code RetractX}, or a kind of {@link RetractJoin}; {@code final_x} gives all it has at
     * once, for windows that fire once. {@code .._ttl_<ms>} or {@code .._ttl_<ms>_<ms>} (left and right rows of a join; 0
     * is for ever) forgets state that long after it last changed. Null for another name.
     */
    public static UnboundFunction find(String name) {
        String[] parts = name.split("_ttl_");
        String[] words = parts[0].split("_", 2);
        boolean whole = words[0].equals("final");
        boolean ours = words.length == 2 && (whole || words[0].equals("retract"));
        Function<StructType, Retract<?>> maker = ours ? maker(words[1]) : null;
        String[] lives = parts.length == 1 ? new String[] {"0"} : parts[1].split("_");
        return maker == null ? null : Scalar.unbound(name, in -> {
            Retract<?> f = maker.apply(in);
            f.whole = whole;
            f.lives[0] = Long.parseLong(lives[0]);
            f.lives[1] = Long.parseLong(lives[lives.length - 1]);
            return f;
        });
    }

    private static Function<StructType, Retract<?>> maker(String kind) {
        for (RetractJoin.Kind join : RetractJoin.Kind.values()) {
            if (join.name().equalsIgnoreCase(kind)) {
                return in -> new RetractJoin(join, in);
            }
        }
        try {
            String name = kind.isEmpty() ? "" : kind.substring(0, 1).toUpperCase() + kind.substring(1);
            Class<?> found = Class.forName("flinkddl.Retract" + name);
            Constructor<?> made = Retract.class.isAssignableFrom(found) ? found.getDeclaredConstructor(StructType.class) : null;
            return made == null ? null : in -> made(made, in);
        } catch (ClassNotFoundException | NoSuchMethodException e) {
            return null;
        }
    }

    private static Retract<?> made(Constructor<?> maker, StructType inputs) {
        try {
            return (Retract<?>) maker.newInstance(inputs);
        } catch (ReflectiveOperationException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
        }
    }

    abstract S create();

    abstract S update(S state, InternalRow in);

    abstract S merge(S a, S b);

    abstract Object produceResult(S state);

    @Override public final Serializable update(Serializable s, InternalRow in) { return update(state(s), in); }

    @Override public final Serializable merge(Serializable a, Serializable b) { return merge(state(a), state(b)); }

    @Override public final Object produceResult(Serializable s) { return produceResult(state(s)); }

    @SuppressWarnings("unchecked")
    private S state(Serializable s) {
        if (!(s instanceof byte[] bytes)) {
            return (S) s;
        }
        S state = create();
        try {
            ((State) state).restore(new DataInputStream(new ByteArrayInputStream(bytes)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return state;
    }

    @Override public final Serializable newAggregationState() {
        S state = create();
        ((State) state).stamp = whole ? WHOLE : ((State) state).stamp;
        ((State) state).lives(lives[0], lives[1]);
        return state;
    }

    @Override public String name() { return sqlName; }

    @Override public String canonicalName() {
        return "flinkddl." + sqlName + whole + lives[0] + "_" + lives[1] + inputs.catalogString();
    }

    @Override public DataType[] inputTypes() {
        DataType[] types = new DataType[inputs.length()];
        for (int i = 0; i < types.length; i++) {
            types[i] = inputs.apply(i).dataType();
        }
        return types;
    }

    /** The batch this task belongs to; -1 outside of streaming, where everything is one batch. */
    static long batch() {
        TaskContext task = TaskContext.get();
        String id = task == null ? null : task.getLocalProperty(BATCH_ID);
        return id == null ? -1 : Long.parseLong(id);
    }

    /**
     * What one group keeps. Subclasses write base and pending; {@link #fold} makes pending part of the base.
     *
     * <p>State is written only in a batch that touches its group, so the time of writing is that of the last change.
     */
    abstract static class State implements Serializable {
        private long stamp = batch();
        private long life;
        private long otherLife;

        /** How long rows are kept after their last change, in ms; 0 is for ever. The second is for right rows of a join. */
        void lives(long own, long other) {
            life = own;
            otherLife = other;
        }

        abstract void fold();

        /** Forget what was there before this batch and has outlived its time; {@code idle} is the age of the last change. */
        void forget(long idle) {
            if (life > 0 && idle > life) {
                clear();
            }
        }

        /** Back to the state of a group that was never there. */
        abstract void clear();

        abstract void write(DataOutput out) throws IOException;

        abstract void read(DataInput in) throws IOException;

        /** What is written in place of this object. */
        protected final Object writeReplace() throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
            DataOutput out = new DataOutputStream(bytes);
            out.writeLong(stamp);
            Retract.writeLong(out, life);
            Retract.writeLong(out, otherLife);
            if (life + otherLife > 0) {
                out.writeLong(System.currentTimeMillis());
            }
            write(out);
            return bytes.toByteArray();
        }

        private void restore(DataInput in) throws IOException {
            long written = in.readLong();
            lives(Retract.readLong(in), Retract.readLong(in));
            long touched = life + otherLife > 0 ? in.readLong() : 0;
            read(in);
            if (written == WHOLE) {
                stamp = WHOLE;
            } else if (written != stamp) {
                fold();
                if (life + otherLife > 0) {
                    forget(System.currentTimeMillis() - touched);
                }
            }
        }
    }

    /** A state as bytes, from which {@link #update} and {@link #produceResult} go on. */
    public static byte[] written(Serializable state) {
        try {
            return state instanceof byte[] bytes ? bytes : (byte[]) ((State) state).writeReplace();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // ---- small helpers -------------------------------------------------------------------------------------------

    /** When a row came, its second argument; of what came out of an operator nobody knows. */
    public static long sequence(InternalRow in) { return in.isNullAt(1) ? RetractMultiset.UNKNOWN : in.getLong(1); }

    /** The same, of what gives all it has at once: its batch says which of two rows came later. */
    final long came(InternalRow in) {
        long sequence = sequence(in);
        return whole ? numbered(sequence, RetractMultiset.NUMBERED + batch()) : sequence;
    }

    /** A sequence, which is a number where it is not known; below zero where the later row is the better one. */
    public static long numbered(long sequence, long number) {
        return sequence == RetractMultiset.UNKNOWN ? number : sequence == -RetractMultiset.UNKNOWN ? -number : sequence;
    }

    StructType struct(int argument) { return (StructType) inputs.apply(argument).dataType(); }

    static StructType type(Object... namesAndTypes) {
        StructField[] fields = new StructField[namesAndTypes.length / 2];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = DataTypes.createStructField((String) namesAndTypes[2 * i], (DataType) namesAndTypes[2 * i + 1], true);
        }
        return new StructType(fields);
    }

    public static InternalRow row(Object... values) { return new GenericInternalRow(values); }

    /** The struct argument's bytes, which are its identity; null for a null struct. */
    static byte[] bytes(InternalRow row, int argument, int fields) {
        return row.isNullAt(argument) ? null : ((UnsafeRow) row.getStruct(argument, fields)).getBytes();
    }

    public static UnsafeRow view(byte[] bytes, int fields) {
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(bytes, bytes.length);
        return row;
    }

    public static void writeBytes(DataOutput out, byte[] b) throws IOException {
        writeLong(out, b == null ? -1 : b.length);
        if (b != null) {
            out.write(b);
        }
    }

    public static byte[] readBytes(DataInput in) throws IOException {
        int n = (int) readLong(in);
        if (n < 0) {
            return null;
        }
        byte[] b = new byte[n];
        in.readFully(b);
        return b;
    }

    /** Zigzag and seven bits a byte: small numbers of either sign take one byte. */
    public static void writeLong(DataOutput out, long value) throws IOException {
        long v = (value << 1) ^ (value >> 63);
        while ((v & ~0x7FL) != 0) {
            out.write((int) (v & 0x7F) | 0x80);
            v >>>= 7;
        }
        out.write((int) v);
    }

    public static long readLong(DataInput in) throws IOException {
        long v = 0;
        for (int shift = 0; ; shift += 7) {
            int b = in.readUnsignedByte();
            v |= (long) (b & 0x7F) << shift;
            if (b < 0x80) {
                return (v >>> 1) ^ -(v & 1);
            }
        }
    }
}
