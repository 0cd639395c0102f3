package flinkddl.state;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Heads and pages as streams of bytes. */
final class Head {
    private Head() { }

    interface Reading { void from(DataInputStream in) throws IOException; }

    interface Writing { void to(DataOutputStream out) throws IOException; }

    static void read(byte[] bytes, int from, Reading reading) {
        try {
            reading.from(new DataInputStream(new ByteArrayInputStream(bytes, from, bytes.length - from)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static byte[] written(Writing writing) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            writing.to(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }
}
