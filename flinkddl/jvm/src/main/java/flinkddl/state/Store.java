package flinkddl.state;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.unsafe.Platform;

/**
 * The state of the group at hand, alike in every stage: a head and three maps, all of bytes, so that Spark never sees a
 * change of their schema. A head begins with one word: the layout's version in its first byte, and a counter in the
 * other seven that says which of two changes of a key came later. No clock does that.
 */
final class Store {
    /** Where a kind's own bytes begin in a head: a multiple of eight, as UnsafeRow wants it. */
    static final int BODY = 8;
    private static final int MAPS = 3;
    private static final int COUNTER = 56;

    private final ValueState<byte[]> head;
    private final MapState<byte[], byte[]>[] maps;
    private int layout;
    private long counter;

    @SuppressWarnings({"unchecked", "rawtypes"})
    Store(StatefulProcessorHandle handle) {
        head = handle.getValueState("head", Encoders.BINARY(), TTLConfig.NONE());
        maps = new MapState[MAPS];
        for (int i = 0; i < MAPS; i++) {
            maps[i] = handle.getMapState("map" + i, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
        }
    }

    /** Turn to another group, of a kind with this layout. */
    void turn(int layout) {
        this.layout = layout;
        counter = 0;
    }

    /**
     * The whole head, whose first {@link #BODY} bytes are not the kind's; null of a group that is not there.
     * Fails on a layout that is not this version's: what lies there would be read as something else.
     */
    byte[] head() {
        byte[] bytes = head.get();
        if (bytes == null) {
            return null;
        }
        if (bytes[0] != layout) {
            throw new IllegalStateException("the state was written in layout " + bytes[0] + ", this version of flinkddl reads layout " + layout);
        }
        counter = Long.reverseBytes(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET)) & (1L << COUNTER) - 1;
        return bytes;
    }

    /** The next number of this group's counter; of use after {@link #head}, and kept by {@link #keep}. */
    long next() { return ++counter; }

    /** Keep a head, whose first {@link #BODY} bytes are filled here; null forgets it. */
    void keep(byte[] bytes) {
        if (bytes == null) {
            head.clear();
            return;
        }
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, Long.reverseBytes((long) layout << COUNTER | counter));
        head.update(bytes);
    }

    /** One of the three maps; exhaust its iterators: Spark frees them no earlier. */
    MapState<byte[], byte[]> map(int n) { return maps[n]; }
}
