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
import java.util.Map;
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
abstract class Retract<S extends Retract.State> implements AggregateFunction<Serializable, Object> {
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

    static void register(Map<String, UnboundFunction> table) {
        put(table, "retract_latest", RetractLatest::new);
        put(table, "retract_aggregate", RetractAggregate::new);
        put(table, "retract_top", RetractTop::new);
        put(table, "retract_over", RetractOver::new);
        for (RetractJoin.Kind kind : RetractJoin.Kind.values()) {
            put(table, "retract_" + kind.name().toLowerCase(), in -> new RetractJoin(kind, in));
        }
    }

    /** Registers {@code retract_x}, and {@code final_x}, which gives all it has at once: for windows that fire once. */
    private static void put(Map<String, UnboundFunction> table, String name, Function<StructType, Retract<?>> binder) {
        table.put(name, Scalar.unbound(name, binder::apply));
        table.put(name.replace("retract", "final"), Scalar.unbound(name, in -> {
            Retract<?> f = binder.apply(in);
            f.whole = true;
            return f;
        }));
    }

    /**
     * {@code retract_x_ttl_<ms>} or {@code retract_x_ttl_<ms>_<ms>} (left and right rows of a join; 0 is for ever): the
     * same function, whose state is forgotten that long after it last changed; null for another name.
     */
    static UnboundFunction forgetting(String name, Map<String, UnboundFunction> table) {
        int at = name.lastIndexOf("_ttl_");
        UnboundFunction plain = at < 0 ? null : table.get(name.substring(0, at));
        return plain == null ? null : Scalar.unbound(name, in -> {
            Retract<?> f = (Retract<?>) plain.bind(in);
            String[] lives = name.substring(at + "_ttl_".length()).split("_");
            f.lives[0] = Long.parseLong(lives[0]);
            f.lives[1] = Long.parseLong(lives[lives.length - 1]);
            return f;
        });
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

    // ---- small helpers -------------------------------------------------------------------------------------------

    StructType struct(int argument) { return (StructType) inputs.apply(argument).dataType(); }

    static StructType type(Object... namesAndTypes) {
        StructField[] fields = new StructField[namesAndTypes.length / 2];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = DataTypes.createStructField((String) namesAndTypes[2 * i], (DataType) namesAndTypes[2 * i + 1], true);
        }
        return new StructType(fields);
    }

    static InternalRow row(Object... values) { return new GenericInternalRow(values); }

    /** The struct argument's bytes, which are its identity; null for a null struct. */
    static byte[] bytes(InternalRow row, int argument, int fields) {
        return row.isNullAt(argument) ? null : ((UnsafeRow) row.getStruct(argument, fields)).getBytes();
    }

    static UnsafeRow view(byte[] bytes, int fields) {
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(bytes, bytes.length);
        return row;
    }

    static void writeBytes(DataOutput out, byte[] b) throws IOException {
        writeLong(out, b == null ? -1 : b.length);
        if (b != null) {
            out.write(b);
        }
    }

    static byte[] readBytes(DataInput in) throws IOException {
        int n = (int) readLong(in);
        if (n < 0) {
            return null;
        }
        byte[] b = new byte[n];
        in.readFully(b);
        return b;
    }

    /** Zigzag and seven bits a byte: small numbers of either sign take one byte. */
    static void writeLong(DataOutput out, long value) throws IOException {
        long v = (value << 1) ^ (value >> 63);
        while ((v & ~0x7FL) != 0) {
            out.write((int) (v & 0x7F) | 0x80);
            v >>>= 7;
        }
        out.write((int) v);
    }

    static long readLong(DataInput in) throws IOException {
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
