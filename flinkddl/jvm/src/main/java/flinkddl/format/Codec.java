package flinkddl.format;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** One format under one spec. Holds buffers: used by one thread only. */
abstract class Codec {
    /** How messages are read under a spec: as sparingly as it allows. */
    static Codec reading(Spec spec) {
        return spec.spare == null ? spec.format.codec.apply(spec) : new Sparing(spec);
    }

    /** Adds the rows of a message, none to many. {@code message} may be null. Throws with Flink's sentence as message. */
    void decode(byte[] message, List<InternalRow> out) throws Exception {
        throw new UnsupportedOperationException();
    }

    /** The message of a row; null where the format writes a null message. */
    byte[] encode(InternalRow row) throws Exception {
        throw new UnsupportedOperationException();
    }
}
