package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Rows with signed weights, of earlier batches (base) and of this one (pending). A weight may pass through negative
 * values when a change overtakes the one it takes back; such an entry stays until the other half comes.
 *
 * <p>An ordered multiset also keeps when each live copy came (its sequence); taking back removes the oldest copy. From the
 * first row on whose sequence is not known ({@link #UNKNOWN}) those of a batch are behind all that came in earlier ones,
 * and get numbers that say so when the batch is over.
 */
public final class RetractMultiset {
    /** The sequence of a row that came out of an operator: in its batch it is behind those that know theirs. */
    public static final long UNKNOWN = Long.MAX_VALUE;
    /** Where numbers begin: no offset, no time in ms, no row of a file ({@code arrival()}) has one as large. */
    public static final long NUMBERED = 1L << 60;

    private static final long BEHIND = 1L << 61;
    private static final long[] NONE = {};

    final Map<Key, Entry> entries = new HashMap<>();
    private final boolean ordered;
    private long life;

    RetractMultiset(boolean ordered) { this.ordered = ordered; }

    /** Forget a row that long (ms) after its weight last changed; 0 is never. */
    void life(long ms) { life = ms; }

    /** A row by the bytes of its UnsafeRow. */
    static final class Key {
        final byte[] bytes;
        private final int hash;

        Key(byte[] bytes) {
            this.bytes = bytes;
            this.hash = Arrays.hashCode(bytes);
        }

        @Override public int hashCode() { return hash; }

        @Override public boolean equals(Object o) { return o instanceof Key k && Arrays.equals(bytes, k.bytes); }
    }

    static final class Entry {
        long base;
        long pending;
        long touched;
        long[] baseSeq = NONE;
        long[] pendingSeq = NONE;

        boolean forgets;

        /** A change that takes back a row which was forgotten changes nothing. */
        long weight(boolean old) {
            long w = old ? base : base + pending;
            return forgets ? Math.max(0, w) : w;
        }

        private long[] sequences(boolean old, boolean numbers) {
            long[] came = old || !numbers ? pendingSeq : Arrays.stream(pendingSeq).map(s -> s == UNKNOWN ? s : s + BEHIND).toArray();
            long[] all = old || pendingSeq.length == 0 ? baseSeq : sorted(baseSeq, came);
            int live = (int) Math.max(0, weight(old));
            return live >= all.length ? all : Arrays.copyOfRange(all, all.length - live, all.length);
        }
    }

    /** Sequences of the live copies of each row, oldest first, as many as its weight says: good to be compared. */
    Function<Entry, long[]> sequences(boolean old) {
        boolean numbers = !old && numbers();
        return e -> e.sequences(old, numbers);
    }

    /** Whether what is pending is behind all else, whatever its sequences say. */
    private boolean numbers() {
        for (Entry e : entries.values()) {
            if (from(e.baseSeq, NUMBERED) || from(e.pendingSeq, UNKNOWN)) {
                return true;
            }
        }
        return false;
    }

    /** Whether one is as large. */
    private static boolean from(long[] sequences, long least) {
        for (long s : sequences) {
            if (s >= least) {
                return true;
            }
        }
        return false;
    }

    /** Give what is pending the next numbers, in its order. */
    private void number() {
        long last = NUMBERED;
        TreeMap<Long, Long> numbers = new TreeMap<>();
        for (Entry e : entries.values()) {
            last = Math.max(last, Arrays.stream(e.baseSeq).max().orElse(last));
            Arrays.stream(e.pendingSeq).forEach(s -> numbers.put(s, s));
        }
        for (Map.Entry<Long, Long> number : numbers.entrySet()) {
            number.setValue(++last);
        }
        entries.values().forEach(e -> e.pendingSeq = Arrays.stream(e.pendingSeq).map(numbers::get).toArray());
    }

    private static long[] sorted(long[] a, long[] b) {
        long[] all = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, all, a.length, b.length);
        Arrays.sort(all);
        return all;
    }

    void add(byte[] row, long weight, long sequence) {
        Entry e = entries.computeIfAbsent(new Key(row), k -> new Entry());
        e.forgets = life > 0;
        e.pending += weight;
        e.touched = life > 0 ? System.currentTimeMillis() : 0;
        if (ordered && weight > 0) {
            int n = e.pendingSeq.length;
            e.pendingSeq = Arrays.copyOf(e.pendingSeq, n + (int) weight);
            Arrays.fill(e.pendingSeq, n, n + (int) weight, sequence);
        }
    }

    void merge(RetractMultiset other) {
        other.entries.forEach((key, o) -> {
            Entry e = entries.putIfAbsent(key, o);
            if (e != null) {
                e.base += o.base;
                e.pending += o.pending;
                e.touched = Math.max(e.touched, o.touched);
                e.baseSeq = o.baseSeq.length == 0 ? e.baseSeq : sorted(e.baseSeq, o.baseSeq);
                e.pendingSeq = o.pendingSeq.length == 0 ? e.pendingSeq : sorted(e.pendingSeq, o.pendingSeq);
            }
        });
    }

    void fold() {
        if (ordered && numbers()) {
            number();
        }
        entries.values().removeIf(e -> {
            e.baseSeq = e.sequences(false, false);
            e.base += e.pending;
            e.pending = 0;
            e.pendingSeq = NONE;
            return e.base == 0;
        });
    }

    /** Drop rows whose time is over, and what is left of changes that took back a forgotten row. */
    void forget() {
        long now = System.currentTimeMillis();
        if (life > 0) {
            entries.values().removeIf(e -> e.base < 0 || now - e.touched > life);
        }
    }

    /** Forget all but one copy of a row that was there and one of a row that is there now, the first or the last. */
    void keep(byte[] was, byte[] now, boolean last) {
        entries.keySet().removeIf(k -> k.bytes != was && k.bytes != now);
        entries.forEach((k, e) -> {
            e.base = k.bytes == was ? 1 : 0;
            e.pending = k.bytes == now ? Math.min(1, e.pending) : 0;
            e.baseSeq = one(e.baseSeq, e.base, last);
            e.pendingSeq = one(e.pendingSeq, e.pending, last);
        });
    }

    private static long[] one(long[] all, long wanted, boolean last) {
        if (wanted == 0 || all.length < 2) {
            return wanted == 0 ? NONE : all;
        }
        return new long[] {last ? Arrays.stream(all).max().getAsLong() : Arrays.stream(all).min().getAsLong()};
    }

    void clear() { entries.clear(); }

    /** Sum of all weights. */
    long size(boolean old) {
        long n = 0;
        for (Entry e : entries.values()) {
            n += e.weight(old);
        }
        return n;
    }

    /** Number of different rows that are there. */
    long distinct(boolean old) {
        long n = 0;
        for (Entry e : entries.values()) {
            n += e.weight(old) > 0 ? 1 : 0;
        }
        return n;
    }

    void write(DataOutput out) throws IOException {
        Retract.writeLong(out, entries.size());
        List<Map.Entry<Key, Entry>> all = new ArrayList<>(entries.entrySet()); // a hash's order hangs on what came first
        all.sort((a, b) -> Arrays.compareUnsigned(a.getKey().bytes, b.getKey().bytes));
        for (Map.Entry<Key, Entry> x : all) {
            Entry e = x.getValue();
            Retract.writeBytes(out, x.getKey().bytes);
            Retract.writeLong(out, e.base);
            Retract.writeLong(out, e.pending);
            if (life > 0) {
                out.writeLong(e.touched);
            }
            if (ordered) {
                write(out, e.baseSeq);
                write(out, e.pendingSeq);
            }
        }
    }

    void read(DataInput in) throws IOException {
        for (long n = Retract.readLong(in); n > 0; n--) {
            Entry e = new Entry();
            e.forgets = life > 0;
            entries.put(new Key(Retract.readBytes(in)), e);
            e.base = Retract.readLong(in);
            e.pending = Retract.readLong(in);
            e.touched = life > 0 ? in.readLong() : 0;
            if (ordered) {
                e.baseSeq = read(in, (int) Retract.readLong(in));
                e.pendingSeq = read(in, (int) Retract.readLong(in));
            }
        }
    }

    private static void write(DataOutput out, long[] seqs) throws IOException {
        Retract.writeLong(out, seqs.length);
        long last = 0;
        for (long s : seqs) {
            Retract.writeLong(out, s - last);
            last = s;
        }
    }

    private static long[] read(DataInput in, int n) throws IOException {
        long[] seqs = n == 0 ? NONE : new long[n];
        long last = 0;
        for (int i = 0; i < n; i++) {
            last += Retract.readLong(in);
            seqs[i] = last;
        }
        return seqs;
    }
}
