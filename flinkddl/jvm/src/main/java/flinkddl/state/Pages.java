package flinkddl.state;

import org.apache.spark.sql.streaming.MapState;

/** The pages of the group at hand. */
interface Pages {
    byte[] get(byte[] name);

    /** {@code before}: the size of the page that was there, 0 where none was. */
    void put(byte[] name, byte[] page, int before);

    void remove(byte[] name, int before);

    /** Those in one of the store's maps: what they take is counted. */
    record Counted(MapState<byte[], byte[]> map, Store store) implements Pages {
        @Override public byte[] get(byte[] name) { return map.getValue(name); }

        @Override public void put(byte[] name, byte[] page, int before) {
            map.updateValue(name, page);
            store.grown(before, page.length, name.length);
        }

        @Override public void remove(byte[] name, int before) {
            map.removeKey(name);
            store.grown(before, 0, name.length);
        }
    }
}
