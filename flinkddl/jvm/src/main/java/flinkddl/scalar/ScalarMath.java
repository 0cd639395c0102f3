package flinkddl.scalar;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.Decimal;

/** Arithmetic with Java's own rules: integers wrap, floating point knows Infinity and NaN. One line a kernel. */
public final class ScalarMath {
    private ScalarMath() {}

    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarMath.class); }

    public static final class WrapByte extends Scalar { public static byte invoke(long a) { return (byte) a; } }
    public static final class WrapShort extends Scalar { public static short invoke(long a) { return (short) a; } }
    public static final class WrapInt extends Scalar { public static int invoke(long a) { return (int) a; } }
    public static final class AddLong extends Scalar { public static long invoke(long a, long b) { return a + b; } }
    public static final class SubtractLong extends Scalar { public static long invoke(long a, long b) { return a - b; } }
    public static final class MultiplyLong extends Scalar { public static long invoke(long a, long b) { return a * b; } }
    public static final class DivideLong extends Scalar { public static long invoke(long a, long b) { return a / b; } }
    public static final class DivideFloat extends Scalar { public static float invoke(float a, float b) { return a / b; } }
    public static final class DivideDouble extends Scalar {
        public static double invoke(double a, double b) { return a / b; }
    }
    public static final class FloorDouble extends Scalar { public static double invoke(double a) { return Math.floor(a); } }
    public static final class CeilDouble extends Scalar { public static double invoke(double a) { return Math.ceil(a); } }
    public static final class ToLong extends Scalar { public static long invoke(double a) { return (long) a; } }
    public static final class ToInt extends Scalar { public static int invoke(double a) { return (int) a; } }
    public static final class DecimalToLong extends Scalar {
        public static Long invoke(Decimal a) { return a == null ? null : a.toJavaBigDecimal().longValue(); }
    }
    public static final class Ln extends Scalar { public static double invoke(double a) { return Math.log(a); } }
    public static final class Log10 extends Scalar { public static double invoke(double a) { return Math.log10(a); } }
    public static final class Exp extends Scalar { public static double invoke(double a) { return Math.exp(a); } }
    public static final class Power extends Scalar {
        public static double invoke(double a, double b) { return Math.pow(a, b); }
    }
    public static final class LogBase extends Scalar {
        public static double invoke(double base, double a) { return Math.log(a) / Math.log(base); }
    }

    /** ROUND ({@code up}) and TRUNCATE of a whole number, to a negative number of digits; what is too big wraps. */
    public static final class RoundLong extends Scalar {
        public static long invoke(long a, int n, boolean up) {
            return n >= 0 ? a : BigDecimal.valueOf(a).setScale(n, up ? RoundingMode.HALF_UP : RoundingMode.DOWN).longValue();
        }
    }

    public static final class RoundDouble extends Scalar {
        public static double invoke(double a, int n, boolean up) {
            return BigDecimal.valueOf(a).setScale(n, up ? RoundingMode.HALF_UP : RoundingMode.DOWN).doubleValue();
        }
    }
}
