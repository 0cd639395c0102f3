package flinkddl.format;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Values as Spark holds them. */
final class Values {
    private Values() {}

    /** Rounds half up to the scale; NULL, silently, when the integer digits do not fit (Flink's DecimalData). */
    static Decimal decimal(BigDecimal v, int precision, int scale) {
        long integerDigits = (long) v.precision() - v.scale();
        if (v.signum() == 0 || integerDigits < -scale - 1L) {
            v = BigDecimal.ZERO; // asked first: an exponent of a billion must not be expanded
        } else if (integerDigits > precision - scale) {
            return null;
        }
        v = v.setScale(scale, RoundingMode.HALF_UP);
        return v.precision() > precision ? null : Decimal.apply(new scala.math.BigDecimal(v), precision, scale);
    }

    static UTF8String string(String s) { return UTF8String.fromString(s); }

    /** A string of characters out of a parser's buffer; plain ASCII goes without a String between. */
    static UTF8String string(char[] c, int from, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            char x = c[from + i];
            if (x > 127) {
                return UTF8String.fromString(new String(c, from, length));
            }
            bytes[i] = (byte) x;
        }
        return UTF8String.fromBytes(bytes);
    }

    static ArrayBasedMapData map(Map<?, ?> entries) {
        return new ArrayBasedMapData(new GenericArrayData(entries.keySet().toArray()),
            new GenericArrayData(entries.values().toArray()));
    }

}
