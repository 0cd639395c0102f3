package flinkddl.state;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Rows of one type as bytes and back. Both ends of an edge are made of the same object, or of the same type: bytes
 * themselves say nothing of what they hold.
 */
public final class Rows implements Serializable {
    /** Of a group's key: 8 bytes of hash, which sorts fast and spreads, 2 of the node's number, then the key struct's. */
    static final int NODE = 8;
    static final int KEY = 10;
    /** In the place of a number: rows of an edge that pass. */
    static final int PASS = 0xFFFF;
    /** In the place of a number: event time ({@link Tick}), and in that of an edge's which goes no further. */
    static final int TIME = 0xFFFC;
    static final int LAST = 0xFFFB;
    /** In the place of an edge's number: entries of state that are taken over ({@link Store#take}). */
    static final int TAKEN = 0xFFFA;
    private static final int GROUPS = 64; // of rows that pass, by the hash of their key: a task run again must give the same

    final StructType type;
    private transient UnsafeProjection projection;

    Rows(StructType type) { this.type = type; }

    /** The type of a struct of these expressions, each of which may be NULL. */
    static StructType typeOf(List<? extends Expression> values) {
        StructField[] fields = new StructField[values.size()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = DataTypes.createStructField("c" + i, values.get(i).dataType(), true);
        }
        return new StructType(fields);
    }

    private UnsafeRow unsafe(InternalRow row) {
        if (row instanceof UnsafeRow done) {
            return done;
        }
        projection = projection == null ? UnsafeProjection.create(type) : projection;
        return projection.apply(row);
    }

    /** The bytes of a row; null of null. */
    public byte[] pack(InternalRow row) { return row == null ? null : bytes(unsafe(row)); }

    /** The bytes of a row, in an array that nobody else writes to. */
    static byte[] bytes(UnsafeRow row) {
        byte[] bytes = row.getBytes();
        return bytes == row.getBaseObject() ? bytes.clone() : bytes; // a buffer that is as long as its row is given as it is
    }

    /** The bytes of a row, in {@code old} if they have its length. */
    static byte[] bytes(UnsafeRow row, byte[] old) {
        byte[] bytes = old != null && old.length == row.getSizeInBytes() ? old : new byte[row.getSizeInBytes()];
        row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
        return bytes;
    }

    /** The key of a group: hash, node, bytes. */
    public byte[] key(int node, InternalRow struct) {
        UnsafeRow row = unsafe(struct);
        return key(hash(node, row), node, row);
    }

    static long hash(int node, UnsafeRow row) {
        return XXH64.hashUnsafeWords(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), node);
    }

    static byte[] key(long hash, int node, UnsafeRow row) {
        int size = row.getSizeInBytes();
        byte[] key = new byte[KEY + size];
        Platform.putLong(key, Platform.BYTE_ARRAY_OFFSET, hash);
        key[NODE] = (byte) (node >> 8);
        key[NODE + 1] = (byte) node;
        Platform.copyMemory(row.getBaseObject(), row.getBaseOffset(), key, Platform.BYTE_ARRAY_OFFSET + KEY, size);
        return key;
    }

    /**
     * The key of a row that passes: a group, {@link #PASS}, the edge. Rows whose first field, their key, is the same pass
     * in one group, so that they do not change their order.
     */
    public byte[] pass(int edge, InternalRow row) {
        UnsafeRow key = unsafe(row).getStruct(0, ((StructType) type.apply(0).dataType()).length());
        long hash = XXH64.hashUnsafeWords(key.getBaseObject(), key.getBaseOffset(), key.getSizeInBytes(), edge);
        return ByteBuffer.allocate(KEY + Short.BYTES).putLong(hash & GROUPS - 1).putShort((short) PASS).putShort((short) edge).array();
    }

    /** The edge of a key of {@link #pass}. */
    static int edge(byte[] key) { return (key[KEY] & 0xFF) << 8 | key[KEY + 1] & 0xFF; }

    /** The number of the node that a key is of. */
    static int node(byte[] key) { return (key[NODE] & 0xFF) << 8 | key[NODE + 1] & 0xFF; }

    /** The key struct of a group. */
    UnsafeRow group(byte[] key) { return view(key, KEY, key.length - KEY, type.length()); }

    /** A row over a part of an array; the number of fields counts for reading them by place. */
    static UnsafeRow view(byte[] bytes, int from, int size, int fields) {
        UnsafeRow row = new UnsafeRow(fields);
        row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + from, size);
        return row;
    }
}
