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

    /** Microseconds since 1970 in UTC; digits that neither the type's carrier in Flink nor Spark keeps are cut. */
    static long timestamp(String s, int precision, boolean iso, boolean zoned) {
        long fast = common(s, precision, iso ? 'T' : ' ', zoned);
        if (fast != Long.MIN_VALUE) {
            return fast;
        }
        TemporalAccessor t = (iso ? (zoned ? ISO_Z : ISO) : (zoned ? SQL_Z : SQL)).parse(s);
        return micros(LocalDateTime.of(t.query(TemporalQueries.localDate()), t.query(TemporalQueries.localTime())), precision);
    }

    static long micros(LocalDateTime t, int precision) {
        return cut(t.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + t.getNano() / 1000, precision);
    }

    /** Flink holds a timestamp of at most three digits in milliseconds. */
    static long cut(long micros, int precision) {
        return precision <= 3 ? Math.floorDiv(micros, 1000L) * 1000 : micros;
    }

    /** The spelling nearly all data has, {@code yyyy-MM-dd HH:mm:ss[.f{1,9}]} up to day 28; else Long.MIN_VALUE. */
    private static long common(String s, int precision, char separator, boolean zoned) {
        int end = s.length() - (zoned ? 1 : 0);
        if (end < 19 || end == 20 || end > 29 || s.charAt(10) != separator || s.charAt(4) != '-' || s.charAt(7) != '-'
            || s.charAt(13) != ':' || s.charAt(16) != ':' || (zoned && s.charAt(end) != 'Z')
            || (end > 19 && s.charAt(19) != '.')) {
            return Long.MIN_VALUE;
        }
        int year = digits(s, 0, 4), month = digits(s, 5, 7), day = digits(s, 8, 10);
        int hour = digits(s, 11, 13), minute = digits(s, 14, 16), second = digits(s, 17, 19);
        int fraction = end > 19 ? digits(s, 20, end) : 0;
        if ((year | fraction) < 0 || month < 1 || month > 12 || day < 1 || day > 28 || hour < 0 || hour > 23
            || minute < 0 || minute > 59 || second < 0 || second > 59) {
            return Long.MIN_VALUE;
        }
        for (int n = end - 20; n < 9 && end > 19; n++) {
            fraction *= 10;
        }
        long seconds = LocalDate.of(year, month, day).toEpochDay() * 86400 + hour * 3600 + minute * 60 + second;
        return cut(seconds * 1_000_000 + fraction / 1000, precision);
    }

    private static int digits(String s, int from, int to) {
        int n = 0;
        for (int i = from; i < to; i++) {
            int d = s.charAt(i) - '0';
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
