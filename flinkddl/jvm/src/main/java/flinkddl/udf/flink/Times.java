package flinkddl.udf.flink;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Period;
import java.time.ZoneOffset;
import java.util.TimeZone;
import java.util.function.Function;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.TimestampType;

/**
 * Dates, times and intervals. Spark holds days; milliseconds of the day (TIME); microseconds, where Flink has nanoseconds;
 * months; microseconds, where Flink's intervals have milliseconds. java.sql's are in the time zone of the JVM, as Flink's are.
 */
final class Times {
    private static final long MILLI = 1000;
    private static final int MILLIS_PER_DAY = 86_400_000;

    private Times() { }

    private static Conv conv(Shape s, Function<Object, Object> to, Function<Object, Object> from) {
        return new Conv(Carriers.of(s.type()), to, from);
    }

    static Conv date(Shape s) {
        Function<Object, Object> to = s.bridge() == LocalDate.class ? v -> LocalDate.ofEpochDay((int) v)
            : s.bridge() == java.sql.Date.class ? v -> java.sql.Date.valueOf(LocalDate.ofEpochDay((int) v)) : v -> v;
        return conv(s, to, v -> v instanceof LocalDate d ? (Object) (int) d.toEpochDay()
            : v instanceof java.sql.Date d ? (int) d.toLocalDate().toEpochDay() : v);
    }

    static Conv time(Shape s) {
        Class<?> c = s.bridge();
        Function<Object, Object> to = c == LocalTime.class ? v -> LocalTime.ofNanoOfDay((int) v * 1_000_000L)
            : c == java.sql.Time.class ? v -> new java.sql.Time((int) v - TimeZone.getDefault().getOffset((int) v))
            : c == long.class || c == Long.class ? v -> (int) v * 1_000_000L : v -> v;
        return conv(s, to, v -> v instanceof LocalTime t ? (Object) (int) (t.toNanoOfDay() / 1_000_000)
            : v instanceof java.sql.Time t ? sqlTime(t.getTime()) : v instanceof Long n ? (int) (n / 1_000_000) : v);
    }

    private static int sqlTime(long millis) {
        return (int) Math.floorMod(millis + TimeZone.getDefault().getOffset(millis), (long) MILLIS_PER_DAY);
    }

    static Conv timestamp(Shape s) {
        Function<Object, Object> to = s.bridge() == LocalDateTime.class ? v -> local((long) v)
            : s.bridge() == java.sql.Timestamp.class ? v -> java.sql.Timestamp.valueOf(local((long) v)) : v -> data((long) v);
        long unit = unit(((TimestampType) s.type()).getPrecision());
        return conv(s, to, v -> v instanceof LocalDateTime t ? cut(t.toInstant(ZoneOffset.UTC), unit)
            : v instanceof java.sql.Timestamp t ? cut(t.toLocalDateTime().toInstant(ZoneOffset.UTC), unit)
            : cut(((TimestampData) v).toInstant(), unit));
    }

    static Conv instant(Shape s) {
        Class<?> c = s.bridge();
        Function<Object, Object> to = c == Instant.class ? v -> data((long) v).toInstant()
            : c == java.sql.Timestamp.class ? v -> java.sql.Timestamp.from(data((long) v).toInstant())
            : c == Integer.class || c == int.class ? v -> (int) Math.floorDiv((long) v, 1_000_000L)
            : c == Long.class || c == long.class ? v -> Math.floorDiv((long) v, MILLI) : v -> data((long) v);
        long unit = unit(((LocalZonedTimestampType) s.type()).getPrecision());
        return conv(s, to, v -> v instanceof Instant t ? cut(t, unit)
            : v instanceof java.sql.Timestamp t ? cut(t.toInstant(), unit)
            : v instanceof Integer n ? (Object) (n * 1_000_000L) : v instanceof Long n ? (Object) (n * MILLI)
            : cut(((TimestampData) v).toInstant(), unit));
    }

    static Conv months(Shape s) {
        return conv(s, s.bridge() == Period.class ? v -> Period.ofMonths((int) v).normalized() : v -> v,
            v -> v instanceof Period p ? (Object) (int) p.toTotalMonths() : v);
    }

    static Conv duration(Shape s) {
        Function<Object, Object> millis = v -> Math.floorDiv((long) v, MILLI);
        return conv(s, s.bridge() == Duration.class ? v -> Duration.ofMillis((long) millis.apply(v)) : millis,
            v -> v instanceof Duration d ? (Object) (d.toMillis() * MILLI) : (Object) ((long) v * MILLI));
    }

    private static TimestampData data(long micros) {
        return TimestampData.fromEpochMillis(Math.floorDiv(micros, MILLI), (int) Math.floorMod(micros, MILLI) * 1000);
    }

    private static LocalDateTime local(long micros) {
        return LocalDateTime.ofEpochSecond(
            Math.floorDiv(micros, 1_000_000L), (int) Math.floorMod(micros, 1_000_000L) * 1000, ZoneOffset.UTC);
    }

    /** How many microseconds the last digit of a precision is. */
    private static long unit(int precision) {
        long unit = 1;
        for (int p = precision; p < 6; p++) {
            unit *= 10;
        }
        return unit;
    }

    private static Object cut(Instant t, long unit) {
        long micros = Math.addExact(Math.multiplyExact(t.getEpochSecond(), 1_000_000L), t.getNano() / 1000);
        return micros - Math.floorMod(micros, unit);
    }
}
