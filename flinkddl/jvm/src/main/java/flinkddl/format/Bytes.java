package flinkddl.format;

import java.util.Arrays;

/** A growing byte array that is used again for every message. */
final class Bytes {
    private byte[] data = new byte[512];
    private int size;

    Bytes reset() {
        size = 0;
        return this;
    }

    byte[] toArray() { return Arrays.copyOf(data, size); }

    int size() { return size; }

    private void room(int n) {
        if (size + n > data.length) {
            data = Arrays.copyOf(data, Math.max(data.length * 2, size + n));
        }
    }

    Bytes add(int b) {
        room(1);
        data[size++] = (byte) b;
        return this;
    }

    Bytes add(byte[] bytes) {
        room(bytes.length);
        System.arraycopy(bytes, 0, data, size, bytes.length);
        size += bytes.length;
        return this;
    }

    Bytes add(byte[] bytes, int from, int to) {
        room(to - from);
        System.arraycopy(bytes, from, data, size, to - from);
        size += to - from;
        return this;
    }

    Bytes number(long n) {
        if (n == Long.MIN_VALUE) {
            return ascii(Long.toString(n));
        }
        if (n < 0) {
            add('-');
            n = -n;
        }
        int digits = 1;
        for (long m = n; m >= 10; m /= 10) {
            digits++;
        }
        room(digits);
        size += digits;
        for (int at = size - 1; digits-- > 0; n /= 10) {
            data[at--] = (byte) ('0' + n % 10);
        }
        return this;
    }

    @SuppressWarnings("deprecation") // the one copy of low bytes that makes no array
    Bytes ascii(String s) {
        room(s.length());
        s.getBytes(0, s.length(), data, size);
        size += s.length();
        return this;
    }

    Bytes two(int n) { return add('0' + n / 10).add('0' + n % 10); }

    /** Takes back the last byte. */
    void back() { size--; }
}
