package flinkddl.format;

import com.fasterxml.jackson.core.StreamReadConstraints;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * Reads messages without building what nobody reads. A codec under the spare spec throws where it cannot vouch for a
 * message; such a message is read again as a whole, so that errors, and what becomes of a message in spite of them, are
 * those of the whole codec.
 */
final class Sparing extends Codec {
    /** Jackson counts the characters of a text only when it builds it. */
    private static final int LONGEST = StreamReadConstraints.DEFAULT_MAX_STRING_LEN;

    private final Spec spec;
    private final Codec quick;
    private Codec whole;
    /** Messages that were read again, for tests. */
    long again;

    Sparing(Spec spec) {
        this.spec = spec;
        quick = spec.format.codec.apply(spec.spare);
    }

    @Override void decode(byte[] message, List<InternalRow> out) throws Exception {
        int before = out.size();
        if (message == null || message.length <= LONGEST) {
            try {
                quick.decode(message, out);
                return;
            } catch (Exception | StackOverflowError e) {
                out.subList(before, out.size()).clear();
            }
        }
        again++;
        whole = whole == null ? spec.format.codec.apply(spec) : whole;
        whole.decode(message, out);
        for (InternalRow row : out.subList(before, out.size())) {
            empty(row, spec.spare.type);
        }
    }

    /** Takes out what nobody reads, so that a row does not depend on how it was read. */
    private static void empty(InternalRow row, FType t) {
        Object[] values = ((GenericInternalRow) row).values();
        for (int i = 0; i < t.size(); i++) {
            if (!t.children[i].built) {
                values[i] = null;
            } else if (t.children[i].kind == FType.Kind.ROW && values[i] != null) {
                empty((InternalRow) values[i], t.children[i]);
            }
        }
    }
}
