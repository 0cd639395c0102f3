package flinkddl.format;

import static java.time.temporal.ChronoField.NANO_OF_SECOND;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;

/** Text of dates and times: one exact pattern each, as Flink's formats read and write them. */
final class Times {
    private static final DateTimeFormatter SQL_TIME = new DateTimeFormatterBuilder()
        .appendPattern("HH:mm:ss").appendFraction(NANO_OF_SECOND, 0, 9, true).toFormatter();
    private static final DateTimeFormatter SQL = new DateTimeFormatterBuilder()
        .append(DateTimeFormatter.ISO_LOCAL_DATE).appendLiteral(' ').append(SQL_TIME).toFormatter();
    private static final DateTimeFormatter SQL_Z = new DateTimeFormatterBuilder().append(SQL).appendLiteral('Z').toFormatter();
    private static final DateTimeFormatter ISO = DateTimeFormatter.ISO_LOCAL_DATE_TIME;
    private static final DateTimeFormatter ISO_Z = new DateTimeFormatterBuilder()
        .append(DateTimeFormatter.ISO_LOCAL_DATE).appendLiteral('T').append(DateTimeFormatter.ISO_LOCAL_TIME)
        .appendLiteral('Z').toFormatter();

    private Times() {}

    /** Days since 1970 of a strict {@code yyyy-MM-dd}. */
    static int date(String s) {
        return (int) DateTimeFormatter.ISO_LOCAL_DATE.parse(s).query(TemporalQueries.localDate()).toEpochDay();
    }

    /** Milliseconds of the day of {@code HH:mm:ss[.fraction]}. */
    static int time(String s) {
        return (int) (SQL_TIME.parse(s).query(TemporalQueries.localTime()).toNanoOfDay() / 1_000_000);
    }

    /**
     * Microseconds since 1970 in UTC, of characters of a parser's buffer; digits that neither the type's carrier in Flink
     * nor Spark keeps are cut.
     */
    static long timestamp(char[] c, int from, int length, FType type, boolean iso) {
        boolean zoned = type.kind == FType.Kind.TIMESTAMP_LTZ;
        long fast = common(c, from, length - (zoned ? 1 : 0), iso ? 'T' : ' ');
        if (fast != Long.MIN_VALUE && (!zoned || c[from + length - 1] == 'Z')) {
            return cut(fast, type.precision);
        }
        TemporalAccessor t = (iso ? (zoned ? ISO_Z : ISO) : (zoned ? SQL_Z : SQL)).parse(new String(c, from, length));
        LocalDateTime time = LocalDateTime.of(t.query(TemporalQueries.localDate()), t.query(TemporalQueries.localTime()));
        return micros(time, type.precision);
    }

    static long micros(LocalDateTime t, int precision) {
        return cut(t.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + t.getNano() / 1000, precision);
    }

    /** Flink holds a timestamp of at most three digits in milliseconds. */
    static long cut(long micros, int precision) {
        return precision <= 3 ? Math.floorDiv(micros, 1000L) * 1000 : micros;
    }

    /** The spelling nearly all data has, {@code yyyy-MM-dd HH:mm:ss[.f{1,9}]} up to day 28; else Long.MIN_VALUE. */
    private static long common(char[] c, int at, int length, char separator) {
        if (length < 19 || length == 20 || length > 29 || c[at + 10] != separator || c[at + 4] != '-' || c[at + 7] != '-'
            || c[at + 13] != ':' || c[at + 16] != ':' || (length > 19 && c[at + 19] != '.')) {
            return Long.MIN_VALUE;
        }
        int year = digits(c, at, 4), month = digits(c, at + 5, 2), day = digits(c, at + 8, 2);
        int hour = digits(c, at + 11, 2), minute = digits(c, at + 14, 2), second = digits(c, at + 17, 2);
        int fraction = length > 19 ? digits(c, at + 20, length - 20) : 0;
        if ((year | fraction) < 0 || month < 1 || month > 12 || day < 1 || day > 28 || hour < 0 || hour > 23
            || minute < 0 || minute > 59 || second < 0 || second > 59) {
            return Long.MIN_VALUE;
        }
        for (int n = length - 20; n < 9 && length > 19; n++) {
            fraction *= 10;
        }
        long seconds = LocalDate.of(year, month, day).toEpochDay() * 86400 + hour * 3600 + minute * 60 + second;
        return seconds * 1_000_000 + fraction / 1000;
    }

    private static int digits(char[] c, int from, int count) {
        int n = 0;
        for (int i = from; i < from + count; i++) {
            int d = c[i] - '0';
            if (d < 0 || d > 9) {
                return -1;
            }
            n = n * 10 + d;
        }
        return n;
    }

    static String date(int days) { return LocalDate.ofEpochDay(days).toString(); }

    /** {@code HH:mm:ss} and as few digits of the fraction as there are. */
    static String time(int millis) { return SQL_TIME.format(LocalTime.ofNanoOfDay(millis * 1_000_000L)); }

    /** Appends {@code yyyy-MM-dd HH:mm:ss} with the shortest fraction, and {@code Z} when zoned. */
    static void write(Bytes out, long micros, boolean iso, boolean zoned) {
        long seconds = Math.floorDiv(micros, 1_000_000L);
        int fraction = (int) Math.floorMod(micros, 1_000_000L);
        long days = Math.floorDiv(seconds, 86400L);
        int ofDay = (int) Math.floorMod(seconds, 86400L);
        write(out, LocalDate.ofEpochDay(days));
        out.add(iso ? 'T' : ' ').two(ofDay / 3600).add(':').two(ofDay / 60 % 60).add(':').two(ofDay % 60);
        if (fraction != 0) {
            out.add('.');
            for (int unit = 100_000; fraction > 0; unit /= 10) {
                out.add('0' + fraction / unit);
                fraction %= unit;
            }
        }
        if (zoned) {
            out.add('Z');
        }
    }

    static String text(long micros, boolean iso, boolean zoned) {
        Bytes out = new Bytes();
        write(out, micros, iso, zoned);
        return new String(out.toArray(), java.nio.charset.StandardCharsets.US_ASCII);
    }

    static void write(Bytes out, LocalDate d) {
        if (d.getYear() < 0 || d.getYear() > 9999) {
            out.ascii(d.toString());
        } else {
            out.two(d.getYear() / 100).two(d.getYear() % 100).add('-').two(d.getMonthValue()).add('-').two(d.getDayOfMonth());
        }
    }
}
