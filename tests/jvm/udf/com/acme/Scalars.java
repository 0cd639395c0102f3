package com.acme;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.annotation.InputGroup;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.types.Row;

/** Scalar functions in the shape in which people write them. */
public final class Scalars {
    private Scalars() { }

    public static class Greet extends ScalarFunction {
        public String eval(String name) { return name == null ? "nobody" : "hello " + name; }

        public String eval(String name, int times) { return eval(name).repeat(times); }
    }

    public static class CountChar extends ScalarFunction {
        public long eval(String s, String character) {
            long count = 0;
            if (s != null) {
                for (char c : s.toCharArray()) {
                    count += character.charAt(0) == c ? 1 : 0;
                }
            }
            return count;
        }
    }

    public static class Plus extends ScalarFunction {
        public int eval(int a, int b) { return a + b; }

        public Long eval(Long a, Long b) { return a == null || b == null ? null : a + b; }

        public double eval(double a, double b) { return a + b; }
    }

    public static class Concat extends ScalarFunction {
        public String eval(String separator, @DataTypeHint(inputGroup = InputGroup.ANY) Object... parts) { return Arrays.stream(parts).map(String::valueOf).collect(Collectors.joining(separator)); }

        public String eval(Integer... parts) { return Arrays.toString(parts); }
    }

    public static class Money extends ScalarFunction {
        public @DataTypeHint("DECIMAL(12, 2)") BigDecimal eval(@DataTypeHint("DECIMAL(10, 4)") BigDecimal v) {
            return v == null ? null : v.multiply(new BigDecimal("1.5"));
        }
    }

    public static class Tomorrow extends ScalarFunction {
        public LocalDate eval(LocalDate d) { return d.plusDays(1); }

        public LocalTime eval(@DataTypeHint("TIME(3)") LocalTime t) { return t.plusHours(1); }

        public @DataTypeHint("TIMESTAMP(6)") LocalDateTime eval(@DataTypeHint("TIMESTAMP(6)") LocalDateTime t) { return t.plusDays(1); }

        public @DataTypeHint("TIMESTAMP_LTZ(3)") Instant eval(@DataTypeHint("TIMESTAMP_LTZ(3)") Instant t) { return t.plusSeconds(86400); }

    }

    public static class TomorrowSql extends ScalarFunction {
        public java.sql.Timestamp eval(java.sql.Timestamp t) { return new java.sql.Timestamp(t.getTime() + 86400000L); }

        public java.sql.Date eval(java.sql.Date d) { return java.sql.Date.valueOf(d.toLocalDate().plusDays(1)); }
    }

    @FunctionHint(input = {@DataTypeHint(value = "STRING", bridgedTo = StringData.class),
        @DataTypeHint(value = "DECIMAL(5, 2)", bridgedTo = DecimalData.class),
        @DataTypeHint(value = "TIMESTAMP(3)", bridgedTo = TimestampData.class)},
        output = @DataTypeHint(value = "STRING", bridgedTo = StringData.class))
    public static class Internal extends ScalarFunction {
        public StringData eval(StringData s, DecimalData d, TimestampData t) {
            return StringData.fromString(s + "|" + d + "|" + t);
        }
    }

    public static class Bytes extends ScalarFunction {
        public byte[] eval(byte[] b) {
            byte[] reversed = new byte[b.length];
            for (int i = 0; i < b.length; i++) {
                reversed[i] = b[b.length - 1 - i];
            }
            return reversed;
        }
    }

    public static class Sum extends ScalarFunction {
        public int eval(int[] values) { return Arrays.stream(values).sum(); }

        public Integer eval(Integer[] values) { return Arrays.stream(values).filter(v -> v != null).mapToInt(v -> v).sum(); }

        public @DataTypeHint("ARRAY<STRING>") List<String> eval(@DataTypeHint("ARRAY<STRING>") List<String> values) {
            return values.stream().map(v -> v == null ? null : v.toUpperCase()).collect(Collectors.toList());
        }

        public @DataTypeHint(value = "ARRAY<BIGINT>", bridgedTo = ArrayData.class) ArrayData eval(
            @DataTypeHint(value = "ARRAY<BIGINT>", bridgedTo = ArrayData.class) ArrayData values) {
            long[] doubled = new long[values.size()];
            for (int i = 0; i < doubled.length; i++) {
                doubled[i] = 2 * values.getLong(i);
            }
            return new GenericArrayData(doubled);
        }
    }

    public static class Tally extends ScalarFunction {
        public Map<String, Integer> eval(Map<String, Integer> counts) {
            Map<String, Integer> more = new HashMap<>();
            counts.forEach((k, v) -> more.put(k + "!", v == null ? null : v + 1));
            return more;
        }
    }

    public static class TallyData extends ScalarFunction {
        public @DataTypeHint(value = "MAP<STRING, INT>", bridgedTo = MapData.class) MapData eval(
            @DataTypeHint(value = "MAP<STRING, INT>", bridgedTo = MapData.class) MapData counts) {
            Map<Object, Object> more = new HashMap<>();
            for (int i = 0; i < counts.size(); i++) {
                more.put(counts.keyArray().getString(i), counts.valueArray().getInt(i) * 10);
            }
            return new GenericMapData(more);
        }
    }

    public static class Rows extends ScalarFunction {
        public @DataTypeHint("ROW<name STRING, size INT>") Row eval(@DataTypeHint("ROW<a INT, b STRING>") Row row) {
            String name = row.getFieldAs("b");
            Row named = Row.withNames();
            named.setField("size", row.getField(0));
            named.setField("name", name);
            return named;
        }

    }

    public static class RowsData extends ScalarFunction {
        public @DataTypeHint(value = "ROW<s STRING, n INT>", bridgedTo = RowData.class) RowData eval(
            @DataTypeHint(value = "ROW<a INT, b STRING>", bridgedTo = RowData.class) RowData row) {
            return GenericRowData.of(row.getString(1), row.isNullAt(0) ? null : row.getInt(0) + 1);
        }
    }

    public static class User {
        public String name;
        public int age;
        private List<String> tags;

        public List<String> getTags() { return tags; }

        public void setTags(List<String> tags) { this.tags = tags; }
    }

    public static class Point {
        public final double x;
        public final double y;

        public Point(double x, double y) {
            this.x = x;
            this.y = y;
        }
    }

    public static class Older extends ScalarFunction {
        public User eval(User user, int years) {
            user.age += years;
            return user;
        }

        public Point eval(Point p) { return new Point(p.y, p.x); }
    }

    public static class Any extends ScalarFunction {
        public String eval(@DataTypeHint(inputGroup = InputGroup.ANY) Object o) { return o == null ? "null" : o.getClass().getSimpleName() + ":" + o; }
    }

    /** Generic over what it takes and gives, as a base class of a library. */
    public abstract static class Mapped<I, O> extends ScalarFunction {
        public abstract O map(I in);

        public O eval(I in) { return in == null ? null : map(in); }
    }

    public static class Length extends Mapped<String, Integer> {
        @Override public Integer map(String in) { return in.length(); }
    }

    public static class Opening extends ScalarFunction {
        private String prefix;
        private int calls;

        @Override public void open(FunctionContext context) throws Exception {
            super.open(context);
            prefix = context.getJobParameter("prefix", "none");
            context.getMetricGroup().counter("calls").inc();
            count("com.acme.opened");
        }

        @Override public boolean isDeterministic() { return false; }

        public String eval() { return prefix + ++calls; }

        @Override public void close() { count("com.acme.closed"); }

        /** In the JVM's own properties, where SQL can ask for it; tasks run at one time. */
        private static void count(String name) {
            synchronized (System.class) {
                System.setProperty(name, "" + (1 + Integer.getInteger(name, 0)));
            }
        }
    }

    public static class Cached extends ScalarFunction {
        @Override public void open(FunctionContext context) { context.getCachedFile("words"); }

        public String eval(String s) { return s; }
    }

    public static class Throwing extends ScalarFunction {
        public String eval(String s, int n) {
            if (n > 2) {
                throw new Own("it broke", new IllegalArgumentException("for it was " + n));
            }
            return s;
        }

        static class Own extends RuntimeException {
            Own(String message, Throwable cause) { super(message, cause); }
        }
    }

    public static class Asked extends org.apache.flink.table.functions.AsyncScalarFunction {
        public void eval(java.util.concurrent.CompletableFuture<String> future, Integer id) {
            if (id < 0) {
                future.completeExceptionally(new IllegalStateException("no id"));
                return;
            }
            new Thread(() -> future.complete("user " + id)).start();
        }
    }
}
