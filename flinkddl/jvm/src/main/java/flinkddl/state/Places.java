package flinkddl.state;

import java.util.Iterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NoSuchElementException;
import java.util.TreeMap;

/** The places of a partition before and after this turn: a tree as it was, and what changes of it. */
final class Places {
    private static final int OLD = 0;
    private static final int NOW = 1;

    final Tree tree;
    final TreeMap<byte[], long[]> changed; // copies before and after, where they differ

    Places(Tree tree, TreeMap<byte[], long[]> changed) {
        this.tree = tree;
        this.changed = changed;
    }

    /** A place and how many rows are there, before and after. */
    record Place(byte[] key, long old, long now) {
        long copies(boolean before) { return before ? old : now; }

        boolean touched() { return old != now; }
    }

    /** The places from a key on, which need not be there, or all; backwards to the first one. */
    Iterator<Place> from(byte[] key, boolean backwards) {
        NavigableMap<byte[], long[]> part = backwards ? changed.descendingMap() : changed;
        Iterator<Map.Entry<byte[], long[]>> changes = (key == null ? part : part.tailMap(key, true)).entrySet().iterator();
        Iterator<Map.Entry<byte[], byte[]>> kept = tree.scan(key, backwards);
        return new Iterator<>() {
            private Map.Entry<byte[], long[]> change = step(changes);
            private Map.Entry<byte[], byte[]> entry = step(kept);

            @Override public boolean hasNext() { return change != null || entry != null; }

            @Override public Place next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                int c = entry == null ? -1 : change == null ? 1 : changed.comparator().compare(change.getKey(), entry.getKey());
                c = backwards && change != null && entry != null ? -c : c;
                Place next = c <= 0 ? new Place(change.getKey(), change.getValue()[OLD], change.getValue()[NOW])
                    : unchanged(entry);
                change = c <= 0 ? step(changes) : change;
                entry = c >= 0 ? step(kept) : entry;
                return next;
            }
        };
    }

    private static Place unchanged(Map.Entry<byte[], byte[]> entry) {
        long copies = Copies.weight(entry.getValue());
        return new Place(entry.getKey(), copies, copies);
    }

    private static <T> T step(Iterator<T> all) { return all.hasNext() ? all.next() : null; }

    /** Count rows at a place more, or fewer. */
    void add(byte[] key, long more) {
        long[] copies = changed.computeIfAbsent(key, k -> {
            long kept = Copies.weight(tree.get(k));
            return new long[] {kept, kept};
        });
        copies[NOW] += more;
    }

    /** Forget what has not changed after all. */
    void settle() { changed.values().removeIf(copies -> copies[OLD] == copies[NOW]); }

    /** Bring the changes into the tree; there are none afterwards. */
    void apply() {
        changed.forEach((key, copies) -> tree.put(key, copies[NOW] == 0 ? null : Copies.of(copies[NOW])));
        changed.clear();
    }
}
