package acme;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.annotation.InputGroup;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.types.Row;

public class Scalars {
    public static class Upper extends ScalarFunction {
        public String eval(String s) {
            return s == null ? null : s.toUpperCase();
        }
    }

    public static class Add extends ScalarFunction {
        public int eval(int a, int b) {
            return a + b;
        }

        public long eval(long a, long b) {
            return a + b;
        }

        public Double eval(Double a, Double b) {
            return a == null || b == null ? null : a + b;
        }
    }

    public static class Boxed extends ScalarFunction {
        public Integer eval(Integer a) {
            return a == null ? -1 : a + 1;
        }
    }

    public static class Small extends ScalarFunction {
        public Short eval(Byte a, Short b) {
            return a == null || b == null ? null : (short) (a + b);
        }

        public Float eval(Float a) {
            return a;
        }

        public Boolean eval(Boolean a) {
            return a == null ? null : !a;
        }
    }

    public static class Concat extends ScalarFunction {
        public String eval(String... parts) {
            return String.join("|", parts);
        }
    }

    public static class Sum extends ScalarFunction {
        public long eval(String label, Integer... values) {
            long sum = 0;
            for (Integer v : values) {
                sum += v == null ? 0 : v;
            }
            return sum;
        }
    }

    public static class Ints extends ScalarFunction {
        public int eval(int... values) {
            return Arrays.stream(values).sum();
        }
    }

    public static class Price extends ScalarFunction {
        public @DataTypeHint("DECIMAL(12, 3)") BigDecimal eval(@DataTypeHint("DECIMAL(10, 2)") BigDecimal a) {
            return a == null ? null : a.multiply(new BigDecimal("1.5"));
        }
    }

    public static class Untyped extends ScalarFunction {
        public BigDecimal eval(BigDecimal a) {
            return a;
        }
    }

    public static class Any extends ScalarFunction {
        public String eval(@DataTypeHint(inputGroup = InputGroup.ANY) Object o) {
            return String.valueOf(o);
        }
    }

    @FunctionHint(input = {@DataTypeHint("INT"), @DataTypeHint("INT")}, output = @DataTypeHint("INT"))
    @FunctionHint(input = {@DataTypeHint("STRING"), @DataTypeHint("STRING")}, output = @DataTypeHint("STRING"))
    public static class Hinted extends ScalarFunction {
        public Object eval(Object... o) {
            if (o[0] instanceof String) {
                return o[0] + "+" + o[1];
            }
            return o[0] == null || o[1] == null ? null : (Integer) o[0] + (Integer) o[1];
        }
    }

    public static class Times extends ScalarFunction {
        public LocalDate eval(LocalDate d, Integer n) {
            return d == null ? null : d.plusDays(n);
        }

        public LocalDateTime eval(LocalDateTime t) {
            return t == null ? null : t.plusHours(1);
        }

        public @DataTypeHint("TIMESTAMP_LTZ(3)") Instant eval(@DataTypeHint("TIMESTAMP_LTZ(3)") Instant t) {
            return t == null ? null : t.plusMillis(1);
        }
    }

    public static class Clock extends ScalarFunction {
        public LocalTime eval(LocalTime t) {
            return t == null ? null : t.plusMinutes(1);
        }
    }

    public static class SqlTimes extends ScalarFunction {
        public @DataTypeHint("TIMESTAMP(3)") java.sql.Timestamp eval(@DataTypeHint("TIMESTAMP(3)") java.sql.Timestamp t) {
            return t;
        }

        public java.sql.Date eval(java.sql.Date d) {
            return d;
        }
    }

    public static class Words extends ScalarFunction {
        public String[] eval(String s) {
            return s == null ? null : s.split(" ");
        }
    }

    public static class Lists extends ScalarFunction {
        public List<Integer> eval(List<Integer> l) {
            return l;
        }

        public int[] eval(int[] l, int n) {
            return l;
        }
    }

    public static class Maps extends ScalarFunction {
        public Map<String, Long> eval(String s) {
            if (s == null) {
                return null;
            }
            Map<String, Long> m = new HashMap<>();
            m.put(s, (long) s.length());
            return m;
        }

        public Long eval(Map<String, Integer> m, String k) {
            return m == null || m.get(k) == null ? null : m.get(k).longValue();
        }
    }

    public static class Bytes extends ScalarFunction {
        public byte[] eval(byte[] b) {
            return b;
        }
    }

    public static class MakeRow extends ScalarFunction {
        public @DataTypeHint("ROW<n INT, s STRING>") Row eval(Integer n, String s) {
            return Row.of(n, s);
        }
    }

    public static class TakeRow extends ScalarFunction {
        public String eval(@DataTypeHint("ROW<n INT, s STRING>") Row r) {
            return r == null ? null : r.getField(0) + ":" + r.getField("s");
        }
    }

    public static class TakeRowData extends ScalarFunction {
        public @DataTypeHint(value = "STRING", bridgedTo = StringData.class) StringData eval(
                @DataTypeHint(value = "ROW<n INT, s STRING>", bridgedTo = RowData.class) RowData r) {
            return r == null ? null : StringData.fromString(r.getInt(0) + "/" + r.getString(1));
        }
    }

    public static class User {
        public String name;
        public int age;
        public @DataTypeHint("DECIMAL(5, 2)") BigDecimal score;
    }

    public static class Point {
        private final double y;
        private final double x;

        public Point(double y, double x) {
            this.y = y;
            this.x = x;
        }

        public double getX() {
            return x;
        }

        public double getY() {
            return y;
        }
    }

    public record Pair(String left, Integer right) {}

    public static class Pojo extends ScalarFunction {
        public User eval(String name, Integer age) {
            User u = new User();
            u.name = name;
            u.age = age == null ? 0 : age;
            u.score = new BigDecimal("1.25");
            return u;
        }

        public String eval(User u) {
            return u == null ? null : u.name + u.age + u.score;
        }

        public Point eval(Point p) {
            return p;
        }

        public Pair eval(Pair p, int n) {
            return p;
        }
    }

    public abstract static class Base<A, R> extends ScalarFunction {
        public abstract R apply(A a);

        public R eval(A a) {
            return apply(a);
        }
    }

    public static class Generic extends Base<Long, String> {
        @Override
        public String apply(Long a) {
            return "<" + a + ">";
        }
    }

    public static class Named extends ScalarFunction {
        public String eval(
                @ArgumentHint(name = "a", type = @DataTypeHint("STRING")) String a,
                @ArgumentHint(name = "b", isOptional = true) Integer b) {
            return a + b;
        }
    }

    public static class Nested extends ScalarFunction {
        public @DataTypeHint("ARRAY<ROW<w STRING, n INT>>") Row[] eval(String s) {
            if (s == null) {
                return null;
            }
            return Arrays.stream(s.split(" ")).map(w -> Row.of(w, w.length())).toArray(Row[]::new);
        }

        public String eval(Map<String, List<Integer>> m, Boolean flag) {
            return String.valueOf(m);
        }
    }

    public static class Digits extends ScalarFunction {
        @DataTypeHint(defaultDecimalPrecision = 10, defaultDecimalScale = 1)
        public static class Money {
            public BigDecimal amount;
            public String currency;
        }

        public Money eval(String currency) {
            Money m = new Money();
            m.amount = new BigDecimal("2.5");
            m.currency = currency;
            return m;
        }
    }

    public static class Static extends ScalarFunction {
        public static String eval(String s, int n) {
            return s == null ? null : s.repeat(n);
        }
    }

    public static class Chars extends ScalarFunction {
        public String eval(char c) {
            return "" + c;
        }
    }

    public static class Intervals extends ScalarFunction {
        public Long eval(java.time.Duration d) {
            return d == null ? null : d.toMillis();
        }

        public Integer eval(java.time.Period p, Integer n) {
            return p == null ? null : p.getMonths();
        }
    }

    public static class ObjectResult extends ScalarFunction {
        @FunctionHint(output = @DataTypeHint("BIGINT"))
        public Object eval(Integer n) {
            return n == null ? null : n.longValue() * 2;
        }
    }

    public static class SameMethod extends ScalarFunction {
        public String eval(Integer a, String b) {
            return "first";
        }

        public String eval(Long a, String b) {
            return "second";
        }

        public String eval(Double a, String... b) {
            return "third" + b.length;
        }
    }

    public static class Dice extends ScalarFunction {
        public int eval() {
            return 4;
        }

        @Override
        public boolean isDeterministic() {
            return false;
        }
    }

    public static class Opened extends ScalarFunction {
        private transient String prefix;

        @Override
        public void open(FunctionContext context) {
            prefix = "opened:";
        }

        public String eval(Integer n) {
            return prefix + n;
        }
    }

    public static class Throwing extends ScalarFunction {
        public String eval(Integer n) {
            if (n != null && n == 2) {
                throw new IllegalStateException("two is too much");
            }
            return "ok" + n;
        }
    }

    public static class NotNullHint extends ScalarFunction {
        public @DataTypeHint("STRING NOT NULL") String eval(@DataTypeHint("INT NOT NULL") Integer n) {
            return "n" + n;
        }
    }

    public static class Wide extends ScalarFunction {
        public Object eval(Object o) {
            return o;
        }
    }

    public static class Raw extends ScalarFunction {
        public @DataTypeHint(value = "RAW", bridgedTo = java.util.UUID.class) java.util.UUID eval(String s) {
            return null;
        }
    }

    public static class NoEval extends ScalarFunction {}

    public static class Hidden extends ScalarFunction {
        String eval(String s) {
            return s;
        }
    }

    public static class NoConstructor extends ScalarFunction {
        public NoConstructor(int n) {}

        public String eval(String s) {
            return s;
        }
    }

    public static class NoFunction {
        public String eval(String s) {
            return s;
        }
    }

    /** Whose types nobody derives: Java chooses a method by the classes of the values. */
    public static class Closest extends ScalarFunction {
        public String eval(Object o) {
            return "object " + o;
        }

        public String eval(Number n) {
            return "number " + n;
        }

        public String eval(Integer n) {
            return "Integer " + n;
        }

        public String eval(int n) {
            return "int " + n;
        }

        @Override
        public org.apache.flink.table.types.inference.TypeInference getTypeInference(
                org.apache.flink.table.catalog.DataTypeFactory factory) {
            return new Own().getTypeInference(factory);
        }
    }

    public static class Own extends ScalarFunction {
        public String eval(Object o) {
            return "own" + o;
        }

        @Override
        public org.apache.flink.table.types.inference.TypeInference getTypeInference(
                org.apache.flink.table.catalog.DataTypeFactory factory) {
            return org.apache.flink.table.types.inference.TypeInference.newBuilder()
                    .outputTypeStrategy(
                            org.apache.flink.table.types.inference.TypeStrategies.explicit(
                                    org.apache.flink.table.api.DataTypes.STRING()))
                    .build();
        }
    }
}
