package flinkddl.state;

import java.io.Serializable;

/**
 * The windows of rows that are of several, and name one, which says in what slice of time they are: the last one of HOP,
 * whose others begin and end a {@code step} (ms) before one another, {@code most} in number; the first one of CUMULATE,
 * whose others end a step later each, until they are {@code most} ms long.
 */
record Windows(boolean hop, long step, long most) implements Serializable {
    /** {@code _hop_2000_5}, {@code _cumulate_2000_10000}; null of nothing. */
    static Windows of(String name) {
        String[] parts = name.split("_");
        return name.isEmpty() ? null : new Windows(parts[1].equals("hop"), Long.parseLong(parts[2]), Long.parseLong(parts[3]));
    }

    @Override public String toString() { return "_" + (hop ? "hop" : "cumulate") + "_" + step + "_" + most; }

    /** The end of the last window of rows that name this one. */
    long last(long start, long end) { return hop ? end : start + most; }

    /** The end of the first of them that ends after a time, before which their last one does not. */
    long next(long start, long end, long after) {
        long first = hop ? end - (most - 1) * step : end;
        return first > after ? first : first + (Math.floorDiv(after - first, step) + 1) * step;
    }

    /** Where one of them begins that ends there. */
    long begin(long start, long end, long at) { return hop ? at - (end - start) : start; }
}
