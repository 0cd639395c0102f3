package flinkddl.state;

import org.apache.spark.sql.streaming.MapState;

/** The pages of the group at hand, one of the store's maps: what they take is counted. */
final class Pages {
    private final MapState<byte[], byte[]> map;
    private final Store store;

    Pages(MapState<byte[], byte[]> map, Store store) {
        this.map = map;
        this.store = store;
    }

    byte[] get(byte[] name) { return map.getValue(name); }

    /** {@code before}: the size of the page that was there, 0 where none was. */
    void put(byte[] name, byte[] page, int before) {
        map.updateValue(name, page);
        store.grown(before, page.length, name.length);
    }

    void remove(byte[] name, int before) {
        map.removeKey(name);
        store.grown(before, 0, name.length);
    }
}
