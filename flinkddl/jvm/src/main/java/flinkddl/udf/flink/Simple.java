package flinkddl.udf.flink;

import java.math.BigDecimal;
import java.util.function.Function;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Numbers, texts and bytes. */
final class Simple {
    private Simple() { }

    /** BOOLEAN, whole and floating numbers, bytes: the same object on both sides. */
    static Conv plain(Shape s) { return Conv.same(Carriers.of(s.type())); }

    static Conv text(Shape s) {
        DataType spark = Carriers.of(s.type());
        if (s.bridge() == StringData.class) {
            return new Conv(spark, v -> StringData.fromBytes(((UTF8String) v).getBytes()), Simple::utf8);
        }
        Function<Object, Object> to = s.bridge() == byte[].class ? v -> ((UTF8String) v).getBytes() : Object::toString;
        return new Conv(spark, to, Simple::utf8);
    }

    private static Object utf8(Object v) {
        if (v instanceof byte[] bytes) {
            return UTF8String.fromBytes(bytes);
        }
        return v instanceof StringData d ? UTF8String.fromBytes(d.toBytes()) : UTF8String.fromString((String) v);
    }

    static Conv decimal(Shape s) {
        DecimalType t = (DecimalType) s.type();
        int p = t.getPrecision();
        int scale = t.getScale();
        Function<Object, Object> to = s.bridge() == DecimalData.class
            ? v -> DecimalData.fromBigDecimal(((Decimal) v).toJavaBigDecimal(), p, scale)
            : v -> ((Decimal) v).toJavaBigDecimal();
        return new Conv(Carriers.of(t), to, v -> {
            BigDecimal given = v instanceof DecimalData d ? d.toBigDecimal() : (BigDecimal) v;
            DecimalData fits = DecimalData.fromBigDecimal(given, p, scale); // rounded half up; null where it is too big
            return fits == null ? null : Decimal.apply(fits.toBigDecimal(), p, scale);
        });
    }
}
