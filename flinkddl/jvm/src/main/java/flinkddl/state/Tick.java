package flinkddl.state;

import flinkddl.Retract;
import flinkddl.scalar.Scalar;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Time as rows: how far one sender has come on a clock (a table's event time), told to one partition of the next stage.
 * A row goes to the partition {@code to} of {@code parts} because its key has the number that hashes there.
 */
public final class Tick {
    static final StructType TYPE = new StructType()
        .add("to", DataTypes.IntegerType, false).add("parts", DataTypes.IntegerType, false)
        .add("clock", DataTypes.IntegerType, false).add("sender", DataTypes.LongType, false)
        .add("senders", DataTypes.IntegerType, false).add("at", DataTypes.LongType, false)
        .add("told", DataTypes.LongType, false).add("idle", DataTypes.LongType, false);
    /** The clock of processing time, as a bit. */
    static final long WALL = 1L << 62;
    /** The sender that speaks for all: the input has ended. */
    static final long ALL = Long.MIN_VALUE;
    private static final long END = 7226582400000L; // 2199-01-01: later than any row, earlier than the row that ends the input
    private static final String PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions";
    private static final int SEED = 42; // of Spark's HashPartitioning
    private static final Map<Integer, byte[][]> KEYS = new ConcurrentHashMap<>();

    private Tick() { }

    /** Puts the function into the table. */
    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, Tick.class); }

    /** The key of rows for a partition: all bits of its hash are set, so that in a micro-batch they come behind all others. */
    static byte[] key(int to, int parts) { return KEYS.computeIfAbsent(parts, Tick::keys)[to]; }

    private static byte[][] keys(int parts) {
        byte[][] keys = new byte[parts][];
        for (int found = 0, number = 0; found < parts; number++) {
            byte[] key = ByteBuffer.allocate(Rows.KEY + Integer.BYTES).putLong(-1).putShort((short) Rows.TIME).putInt(number).array();
            int to = Math.floorMod(Murmur3_x86_32.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED), parts);
            found += keys[to] == null ? 1 : 0;
            keys[to] = keys[to] == null ? key : keys[to];
        }
        return keys;
    }

    /**
     * What a sender, one of so many, tells of a clock: its event time {@code at}, by the wall clock's {@code told}, how long it may be
     * silent before nobody waits for it (ms; 0 is for ever).
     */
    record Word(int clock, long sender, int senders, long at, long told, long idle) {
        static Word of(InternalRow tick) {
            return new Word(tick.getInt(2), tick.getLong(3), tick.getInt(4), tick.getLong(5), tick.getLong(6), tick.getLong(7));
        }

        InternalRow row(int to, int parts) { return Retract.row(to, parts, clock, sender, senders, at, told, idle); }
    }

    /**
     * {@code ticks(clock, sender, senders, watermark, every, shift, now, idle)}: what a source tells with a row that has this
     * watermark (ms; of so many senders): an ARRAY of a STRUCT for each partition of the first stage, NULL where nothing
     * changes. No window ends but at {@code shift} and multiples of {@code every} ms from there: only where the watermark
     * comes to such a place it is told, and with the first row of a task, which does not know what others have told; with
     * {@code idle} (ms) also from time to time. {@code now} is the time of the batch, which is logged: what is told at its
     * beginning is the same when it runs again.
     */
    public static final class Ticks extends Scalar {
        private static final int A_SILENCE = 4; // words at least in the time after which silence counts
        private static final ThreadLocal<Told> TOLD = ThreadLocal.withInitial(() -> new Told(-1));

        /** What a task has told of each sender: clock and sender, the last place. */
        private static final class Told {
            final long task;
            final long begun = System.nanoTime();
            final Map<List<Long>, long[]> places = new HashMap<>(); // and when it was told

            Told(long task) { this.task = task; }
        }

        @Override public boolean isDeterministic() { return false; }

        @Override public boolean isResultNullable() { return true; }

        @Override public DataType resultType() { return new ArrayType(TYPE, false); }

        public static ArrayData invoke(int clock, long sender, int senders, long watermark, long every, long shift, long now, long idle) {
            TaskContext task = TaskContext.get();
            if (task == null) {
                return null;
            }
            if (TOLD.get().task != task.taskAttemptId()) {
                TOLD.set(new Told(task.taskAttemptId()));
            }
            boolean ends = watermark >= END;
            List<Long> who = List.of((long) clock, ends ? ALL : sender);
            long place = Math.floorDiv(watermark + 1 - shift, every);
            long often = Math.max(1, idle / A_SILENCE);
            long told = idle == 0 ? 0 : now + (System.nanoTime() - TOLD.get().begun) / 1_000_000 / often * often;
            long[] last = TOLD.get().places.get(who);
            if (last != null && last[0] >= place && last[1] >= told) {
                return null;
            }
            TOLD.get().places.put(who, new long[] {last == null ? place : Math.max(last[0], place), told});
            int parts = partitions();
            Word word = new Word(clock, who.get(1), senders, watermark, told, idle);
            List<InternalRow> rows = new ArrayList<>();
            for (int to = 0; to < parts; to++) {
                rows.add(word.row(to, parts));
            }
            return new GenericArrayData(rows.toArray());
        }

        /** Of the query's stages: its checkpoint has the number, and Spark the session of a batch. */
        private static int partitions() {
            SQLConf conf = SQLConf.get();
            return Integer.parseInt(conf.getConfString(PARTITIONS, String.valueOf(conf.numShufflePartitions())));
        }
    }
}
