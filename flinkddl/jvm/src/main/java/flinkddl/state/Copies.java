package flinkddl.state;

import flinkddl.Retract;
import flinkddl.RetractMultiset;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** A row's copies: how many there are, and when each came, the oldest first. What is taken back is the oldest copy. */
final class Copies {
    private static final long[] NONE = {};
    private static final byte[] ONE = Head.written(out -> Retract.writeLong(out, 1)); // most rows are there once; nobody writes to it

    /** Below zero where a change came before the one that it takes back; then no copy is there. */
    long weight;
    long[] sequences = NONE;
    private int came; // of a change: how many sequences there are, before room for more

    /** The number of copies alone, of bytes of {@link #of} or {@link #bytes}. */
    static long weight(byte[] entry) {
        if (entry == null) {
            return 0;
        }
        if (entry[0] >= 0) { // of one byte, see Retract.writeLong
            return entry[0] >>> 1 ^ -(entry[0] & 1);
        }
        long[] weight = {0};
        Head.read(entry, 0, in -> weight[0] = Retract.readLong(in));
        return weight[0];
    }

    /** Bytes of a number of copies that nobody asks for their sequence. */
    static byte[] of(long weight) { return weight == 1 ? ONE : Head.written(out -> Retract.writeLong(out, weight)); }

    static Copies read(byte[] entry) {
        Copies copies = new Copies();
        if (entry != null) {
            Head.read(entry, 0, in -> {
                copies.weight = Retract.readLong(in);
                copies.sequences = new long[(int) Math.max(0, copies.weight)];
                for (int i = 0; i < copies.sequences.length; i++) {
                    copies.sequences[i] = Retract.readLong(in);
                }
            });
        }
        return copies;
    }

    byte[] bytes() {
        return Head.written(out -> {
            Retract.writeLong(out, weight);
            for (long s : sequences) {
                Retract.writeLong(out, s);
            }
        });
    }

    /** A change that came at a sequence; {@link #and} brings it into what was there. */
    void add(long weight, long sequence) {
        this.weight += weight;
        int more = (int) Math.max(0, weight);
        if (came + more > sequences.length) {
            sequences = Arrays.copyOf(sequences, 2 * (came + more));
        }
        Arrays.fill(sequences, came, came + more, sequence);
        came += more;
    }

    /**
     * Give the changes of a turn the next numbers of their group, in their order, where one of them does not know when it
     * came, or one of an earlier turn did not: what comes in a later turn came later.
     */
    static void number(Collection<Copies> changes, Store group) {
        if (!group.counts() && changes.stream().noneMatch(Copies::unknown)) {
            return;
        }
        TreeMap<Long, Long> numbers = new TreeMap<>();
        changes.forEach(c -> Arrays.stream(c.sequences, 0, c.came).forEach(s -> numbers.put(s, s)));
        for (Map.Entry<Long, Long> number : numbers.entrySet()) {
            number.setValue(group.next());
        }
        changes.forEach(c -> Arrays.setAll(c.sequences, i -> i < c.came ? numbers.get(c.sequences[i]) : 0));
    }

    private boolean unknown() { return Arrays.stream(sequences, 0, came).anyMatch(s -> s == RetractMultiset.UNKNOWN); }

    /** Whether a change takes nothing back. */
    boolean grows() { return weight == came; }

    /** What there is after a change. */
    Copies and(Copies change) {
        Copies sum = new Copies();
        sum.weight = weight + change.weight;
        long[] all = Arrays.copyOf(sequences, sequences.length + change.came);
        System.arraycopy(change.sequences, 0, all, sequences.length, change.came);
        Arrays.sort(all);
        int live = (int) Math.min(all.length, Math.max(0, sum.weight));
        sum.sequences = Arrays.copyOfRange(all, all.length - live, all.length);
        return sum;
    }
}
