package flinkddl.state;

import flinkddl.Retract;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.unsafe.Platform;

/**
 * A sorted map of bytes of one group, as a B+ tree: its root lies in the group's head, all other pages in a map, a page an
 * entry. A small group is its root, one read and one write; of a large one a change touches the pages on its way, and
 * the first and the last entry are found without reading the others. Pages are read once and written once a turn.
 */
final class Tree {
    /** Bytes from which a page is split; also most of what lies in a head for this tree. */
    static final int FULL = Integer.getInteger("flinkddl.state.page", 4096);
    private static final int ENTRY = 4; // what the lengths of an entry take, more or less

    private final int id;
    private final Comparator<byte[]> order;
    private final Map<Integer, Page> read = new HashMap<>();
    private final Map<Integer, Integer> gone = new HashMap<>(); // pages, and their sizes in the map
    private Pages pages;
    private Page root;
    private int next;

    /** {@code id} (of 16 bits) parts this tree from the others in its map; keys are equal where the order says 0. */
    Tree(int id, Comparator<byte[]> order) {
        this.id = id;
        this.order = order;
    }

    private static final class Page {
        final boolean leaf;
        final List<byte[]> keys = new ArrayList<>(); // of children: the least key that is looked for there
        final List<byte[]> values = new ArrayList<>();
        final List<Integer> children = new ArrayList<>();
        int bytes;
        int stored; // its size in the map, 0 where it is not there
        boolean changed;

        Page(boolean leaf) { this.leaf = leaf; }

        void insert(int at, byte[] key, byte[] value, Integer child) {
            keys.add(at, key);
            if (leaf) {
                values.add(at, value);
            } else {
                children.add(at, child);
            }
            bytes += key.length + ENTRY + (leaf ? value.length : ENTRY);
            changed = true;
        }

        void remove(int at) {
            bytes -= keys.remove(at).length + ENTRY + (leaf ? values.remove(at).length : ENTRY);
            if (!leaf) {
                children.remove(at);
            }
            changed = true;
        }

        void move(int from, Page to) {
            for (int i = from; i < keys.size(); i++) {
                to.insert(to.keys.size(), keys.get(i), leaf ? values.get(i) : null, leaf ? null : children.get(i));
            }
            while (keys.size() > from) {
                remove(keys.size() - 1);
            }
        }
    }

    /** Turn to a group that was never there. */
    void reset(Pages pages) {
        this.pages = pages;
        read.clear();
        gone.clear();
        root = new Page(true);
        next = 1;
    }

    /** Turn to a group, from its head. */
    void read(DataInput in, Pages pages) throws IOException {
        reset(pages);
        next = (int) Retract.readLong(in);
        root = page(in);
    }

    /** Write the root, and the changed pages into their map. */
    void write(DataOutput out) throws IOException {
        gone.forEach((n, size) -> pages.remove(name(n), size));
        for (Map.Entry<Integer, Page> e : read.entrySet()) {
            if (e.getValue().changed) {
                pages.put(name(e.getKey()), Head.written(o -> write(e.getValue(), o)), e.getValue().stored);
            }
        }
        Retract.writeLong(out, next);
        write(root, out);
        read.clear();
        gone.clear();
    }

    private static Page page(DataInput in) throws IOException {
        long n = Retract.readLong(in);
        Page page = new Page(n >= 0);
        for (long i = page.leaf ? n : -n; i > 0; i--) {
            byte[] key = Retract.readBytes(in);
            page.insert(page.keys.size(), key, page.leaf ? Retract.readBytes(in) : null, page.leaf ? null : (int) Retract.readLong(in));
        }
        page.changed = false;
        return page;
    }

    private static void write(Page page, DataOutput out) throws IOException {
        Retract.writeLong(out, page.leaf ? page.keys.size() : -page.keys.size());
        for (int i = 0; i < page.keys.size(); i++) {
            Retract.writeBytes(out, page.keys.get(i));
            if (page.leaf) {
                Retract.writeBytes(out, page.values.get(i));
            } else {
                Retract.writeLong(out, page.children.get(i));
            }
        }
    }

    private byte[] name(int page) {
        byte[] name = new byte[6];
        Platform.putShort(name, Platform.BYTE_ARRAY_OFFSET, (short) id);
        Platform.putInt(name, Platform.BYTE_ARRAY_OFFSET + 2, page);
        return name;
    }

    private Page load(int number) {
        return read.computeIfAbsent(number, n -> {
            Page[] page = new Page[1];
            byte[] bytes = pages.get(name(n));
            Head.read(bytes, 0, in -> page[0] = page(in));
            page[0].stored = bytes.length;
            return page[0];
        });
    }

    private int add(Page page) {
        read.put(next, page);
        return next++;
    }

    private void drop(int number) {
        gone.put(number, read.remove(number).stored);
    }

    boolean isEmpty() { return root.keys.isEmpty(); }

    /** The place of a key, or -(where it would be) - 1; of an inner page that of the child to look in. */
    private int find(Page page, byte[] key) {
        int low = page.leaf ? 0 : 1;
        int high = page.keys.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int c = order.compare(page.keys.get(middle), key);
            if (c == 0) {
                return middle;
            }
            if (c < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return page.leaf ? -low - 1 : low - 1;
    }

    /** The value of a key, null where there is none. */
    byte[] get(byte[] key) {
        Page page = root;
        while (!page.leaf) {
            page = load(page.children.get(find(page, key)));
        }
        int at = find(page, key);
        return at < 0 ? null : page.values.get(at);
    }

    /** Set the value of a key; null takes it out. */
    void put(byte[] key, byte[] value) {
        put(root, key, value);
        if (root.bytes > FULL && root.keys.size() > 3) {
            Page left = new Page(root.leaf);
            root.move(0, left);
            Page over = new Page(false);
            over.insert(0, new byte[0], null, add(left));
            root = over;
            split(over, 0, left);
        }
        while (!root.leaf && root.keys.size() == 1) {
            int only = root.children.get(0);
            root = load(only);
            drop(only);
        }
    }

    private void put(Page page, byte[] key, byte[] value) {
        int at = find(page, key);
        if (!page.leaf) {
            Page child = load(page.children.get(at));
            put(child, key, value);
            fit(page, at, child);
            return;
        }
        if (at >= 0) {
            page.remove(at);
        }
        if (value != null) {
            page.insert(at >= 0 ? at : -at - 1, key, value, null);
        }
    }

    /** Split a child that is too large, put one that is small to its neighbour, take out one that is empty. */
    private void fit(Page page, int at, Page child) {
        if (child.bytes > FULL && child.keys.size() > 3) {
            split(page, at, child);
        } else if (child.keys.isEmpty()) {
            drop(page.children.get(at));
            page.remove(at);
        } else if (child.bytes < FULL / 4 && page.keys.size() > 1) {
            int left = Math.max(0, at - 1);
            Page a = load(page.children.get(left));
            Page b = load(page.children.get(left + 1));
            if (a.bytes + b.bytes < FULL / 2) {
                lowest(page, left + 1, b);
                b.move(0, a);
                drop(page.children.get(left + 1));
                page.remove(left + 1);
            }
        }
    }

    /** Give an inner page's first child its true least key: where it was the first, nobody asked for that. */
    private static void lowest(Page above, int at, Page page) {
        if (!page.leaf) {
            page.bytes += above.keys.get(at).length - page.keys.get(0).length;
            page.keys.set(0, above.keys.get(at));
        }
    }

    private void split(Page page, int at, Page child) {
        Page right = new Page(child.leaf);
        child.move(child.keys.size() / 2, right);
        child.changed = true;
        page.insert(at + 1, right.keys.get(0), null, add(right));
    }

    /** The entries in order, or from the last; nothing may be put meanwhile. */
    Iterator<Map.Entry<byte[], byte[]>> scan(boolean backwards) { return scan(null, backwards); }

    /** The entries from a key on, whether it is there or not: it and what is behind it, or before it. */
    Iterator<Map.Entry<byte[], byte[]>> scan(byte[] from, boolean backwards) {
        List<Page> way = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        Page start = root;
        while (from != null && !start.leaf) {
            int at = find(start, from);
            way.add(start);
            places.add(at + (backwards ? -1 : 1));
            start = load(start.children.get(at));
        }
        int at = from == null ? backwards ? start.keys.size() - 1 : 0 : find(start, from);
        way.add(start);
        places.add(at >= 0 || from == null ? at : backwards ? -at - 2 : -at - 1);
        return new Iterator<>() {
            @Override public boolean hasNext() {
                while (!way.isEmpty()) {
                    int last = way.size() - 1;
                    Page page = way.get(last);
                    int at = places.get(last);
                    if (at < 0 || at >= page.keys.size()) {
                        way.remove(last);
                        places.remove(last);
                    } else if (page.leaf) {
                        return true;
                    } else {
                        places.set(last, at + (backwards ? -1 : 1));
                        Page child = load(page.children.get(at));
                        way.add(child);
                        places.add(backwards ? child.keys.size() - 1 : 0);
                    }
                }
                return false;
            }

            @Override public Map.Entry<byte[], byte[]> next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                int last = way.size() - 1;
                Page page = way.get(last);
                int at = places.get(last);
                places.set(last, at + (backwards ? -1 : 1));
                return Map.entry(page.keys.get(at), page.values.get(at));
            }
        };
    }

    /** Forget all pages: the group is gone. */
    void clear() {
        drop(root);
        gone.forEach((n, size) -> pages.remove(name(n), size));
        reset(pages);
    }

    private void drop(Page page) {
        for (int child : page.children) {
            drop(load(child));
            drop(child);
        }
    }

    /** Bytes as they sort without a type. */
    static final Comparator<byte[]> BYTES = Arrays::compareUnsigned;
}
