package flinkddl.format;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** The format {@code raw}: one column, null for null. */
final class Raw extends Codec {
    private final FType type;
    private final Charset charset;
    private final ByteOrder order;

    Raw(Spec spec) {
        type = spec.type.children[0];
        charset = Charset.forName(spec.option("charset", "UTF-8"));
        order = "little-endian".equalsIgnoreCase(spec.option("endianness", "big-endian"))
            ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
    }

    @Override void decode(byte[] message, List<InternalRow> out) throws IOException {
        out.add(new GenericInternalRow(new Object[] {message == null ? null : value(message)}));
    }

    private int width() {
        return switch (type.kind) {
            case BOOLEAN, TINYINT -> 1;
            case SMALLINT -> 2;
            case INT, FLOAT -> 4;
            case BIGINT, DOUBLE -> 8;
            default -> -1;
        };
    }

    private Object value(byte[] b) throws IOException {
        if (width() >= 0 && b.length != width()) {
            throw new IOException("Size of data received for deserializing " + type.kind + " type is not " + width() + ".");
        }
        if (!type.built) {
            return null;
        }
        ByteBuffer buffer = ByteBuffer.wrap(b).order(order);
        return switch (type.kind) {
            case BOOLEAN -> b[0] != 0;
            case TINYINT -> b[0];
            case SMALLINT -> buffer.getShort();
            case INT -> buffer.getInt();
            case BIGINT -> buffer.getLong();
            case FLOAT -> buffer.getFloat();
            case DOUBLE -> buffer.getDouble();
            case CHAR, VARCHAR -> charset.equals(StandardCharsets.UTF_8) ? UTF8String.fromBytes(b) : Values.string(new String(b, charset));
            default -> b;
        };
    }

    @Override byte[] encode(InternalRow row) {
        if (row.isNullAt(0)) {
            return null;
        }
        ByteBuffer buffer = ByteBuffer.allocate(Math.max(width(), 0)).order(order);
        return switch (type.kind) {
            case BOOLEAN -> new byte[] {(byte) (row.getBoolean(0) ? 1 : 0)};
            case TINYINT -> buffer.put(row.getByte(0)).array();
            case SMALLINT -> buffer.putShort(row.getShort(0)).array();
            case INT -> buffer.putInt(row.getInt(0)).array();
            case BIGINT -> buffer.putLong(row.getLong(0)).array();
            case FLOAT -> buffer.putFloat(row.getFloat(0)).array();
            case DOUBLE -> buffer.putDouble(row.getDouble(0)).array();
            case CHAR, VARCHAR -> charset.equals(StandardCharsets.UTF_8) ? row.getUTF8String(0).getBytes()
                : row.getUTF8String(0).toString().getBytes(charset);
            default -> row.getBinary(0);
        };
    }
}
