package flinkddl.format;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.InvalidNumberEncodingException;
import org.apache.avro.io.Decoder;
import org.apache.avro.util.Utf8;

/**
 * Avro's binary decoding over one message. Unlike Avro's own decoder it knows where the message ends, so a length or
 * a count out of random bytes is an error and no allocation of gigabytes.
 */
final class AvroInput extends Decoder {
    private final ByteBuffer in;
    private final boolean thorough;

    AvroInput(byte[] bytes, int from) { this(bytes, from, false); }

    /** {@code thorough}: what is skipped is looked at item by item, as if it were read. */
    AvroInput(byte[] bytes, int from, boolean thorough) {
        this.thorough = thorough;
        in = ByteBuffer.wrap(bytes, from, bytes.length - from).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void need(long n) throws EOFException {
        if (n > in.remaining()) {
            throw new EOFException();
        }
    }

    private int length() throws IOException {
        long n = readLong();
        if (n < 0) {
            throw new AvroRuntimeException("Malformed data. Length is negative: " + n);
        }
        need(n);
        return (int) n;
    }

    private ByteBuffer next(int n) throws EOFException {
        need(n);
        ByteBuffer slice = in.slice(in.position(), n).order(ByteOrder.LITTLE_ENDIAN);
        in.position(in.position() + n);
        return slice;
    }

    private byte[] take(int n) throws EOFException {
        byte[] bytes = new byte[n];
        next(n).get(bytes);
        return bytes;
    }

    private long varint(int most) throws IOException {
        long n = 0;
        for (int i = 0; i < most; i++) {
            byte b = next(1).get();
            n |= (b & 0x7fL) << 7 * i;
            if (b >= 0) {
                return n >>> 1 ^ -(n & 1);
            }
        }
        throw new InvalidNumberEncodingException(most == 5 ? "Invalid int encoding" : "Invalid long encoding");
    }

    @Override public void readNull() {}

    @Override public boolean readBoolean() throws IOException { return next(1).get() == 1; }

    @Override public int readInt() throws IOException { return (int) varint(5); }

    @Override public long readLong() throws IOException { return varint(10); }

    @Override public float readFloat() throws IOException { return next(4).getFloat(); }

    @Override public double readDouble() throws IOException { return next(8).getDouble(); }

    @Override public Utf8 readString(Utf8 old) throws IOException { return new Utf8(take(length())); }

    @Override public String readString() throws IOException { return readString(null).toString(); }

    @Override public void skipString() throws IOException { next(length()); }

    @Override public ByteBuffer readBytes(ByteBuffer old) throws IOException { return ByteBuffer.wrap(take(length())); }

    @Override public void skipBytes() throws IOException { next(length()); }

    @Override public void readFixed(byte[] to, int start, int n) throws IOException { next(n).get(to, start, n); }

    @Override public void skipFixed(int n) throws IOException { next(n); }

    @Override public int readEnum() throws IOException { return readInt(); }

    @Override public int readIndex() throws IOException { return readInt(); }

    @Override public long readArrayStart() throws IOException { return count(); }

    @Override public long arrayNext() throws IOException { return count(); }

    @Override public long skipArray() throws IOException { return skip(); }

    @Override public long readMapStart() throws IOException { return count(); }

    @Override public long mapNext() throws IOException { return count(); }

    @Override public long skipMap() throws IOException { return skip(); }

    /** Items of the next block; a negative count is followed by the size of the block in bytes. */
    private long count() throws IOException {
        long n = readLong();
        if (n < 0) {
            readLong();
            n = -n;
        }
        if (n < 0) {
            throw new AvroRuntimeException("Malformed data. Length is negative: " + n);
        }
        need(n);
        return n;
    }

    /** Skips the blocks that tell their size; returns how many items of the next the caller must skip itself. */
    private long skip() throws IOException {
        if (thorough) {
            return count();
        }
        long n = readLong();
        while (n < 0) {
            next(length());
            n = readLong();
        }
        need(n);
        return n;
    }
}
