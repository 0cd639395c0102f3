package flinkddl.scalar;

import java.text.ParseException;
import java.text.SimpleDateFormat;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Date;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.unsafe.types.UTF8String;

/** Dates and times. A timestamp is wall time as microseconds since 1970; zones are applied before and after in SQL. */
public final class ScalarTimes {
    private static final DateTimeFormatter DEFAULT = new DateTimeFormatterBuilder()
        .appendPattern("yyyy-[MM][M]-[dd][d]").optionalStart().appendPattern(" [HH][H]:[mm][m]:[ss][s]")
        .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true).optionalEnd().toFormatter(Locale.US);
    private static final DateTimeFormatter ISO = new DateTimeFormatterBuilder().appendPattern("yyyy-MM-dd'T'HH:mm:ss")
        .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true).toFormatter(Locale.US);
    private static final Map<String, DateTimeFormatter> FORMATTERS = new ConcurrentHashMap<>();
    private static final ThreadLocal<Map<String, SimpleDateFormat>> SIMPLE = ThreadLocal.withInitial(HashMap::new);

    private ScalarTimes() {}

    public static void register(Map<String, UnboundFunction> table) { Scalar.registerAll(table, ScalarTimes.class); }

    static LocalDateTime local(long micros) {
        long second = Math.floorDiv(micros, 1_000_000L);
        return LocalDateTime.ofEpochSecond(second, (int) (micros - second * 1_000_000L) * 1000, ZoneOffset.UTC);
    }

    static long micros(LocalDateTime t) { return t.toEpochSecond(ZoneOffset.UTC) * 1_000_000L + t.getNano() / 1000; }

    private static DateTimeFormatter formatter(UTF8String pattern) {
        return FORMATTERS.computeIfAbsent(pattern.toString(), p -> DateTimeFormatter.ofPattern(p, Locale.US));
    }

    /** The older formatter that Flink uses for its text functions: lenient, ignores what follows. */
    private static SimpleDateFormat simple(Object pattern, Object zone) {
        return SIMPLE.get().computeIfAbsent(pattern + "\0" + zone, k -> {
            SimpleDateFormat f = new SimpleDateFormat(pattern.toString(), Locale.US);
            f.setTimeZone(TimeZone.getTimeZone(zone.toString()));
            return f;
        });
    }

    private static Long parse(UTF8String s, Object pattern, Object zone) {
        try {
            return s == null || pattern == null || zone == null ? null : simple(pattern, zone).parse(s.toString()).getTime();
        } catch (ParseException e) {
            return null;
        }
    }

    private static UTF8String format(Long millis, Object pattern, Object zone) {
        return millis == null || pattern == null || zone == null ? null
            : ScalarText.utf(simple(pattern, zone).format(new Date(millis)));
    }

    /** What Flink reads without a pattern: {@code yyyy-M-d[ H:m:s[.fff]]}; null for anything else. */
    static Long parseDefault(String s, boolean nanos) {
        try {
            return fields(DEFAULT.parse(s), nanos);
        } catch (DateTimeException e) {
            return null;
        }
    }

    private static int field(TemporalAccessor t, ChronoField f, int otherwise) { return t.isSupported(f) ? t.get(f) : otherwise; }

    /** The wall time of parsed fields; what is missing comes from 1970-01-01 00:00:00. With {@code nanos} no digit may be lost. */
    private static long fields(TemporalAccessor t, boolean nanos) {
        LocalDate d = t.query(TemporalQueries.localDate());
        if (d == null) {
            int year = field(t, ChronoField.YEAR, field(t, ChronoField.YEAR_OF_ERA, 1970));
            d = LocalDate.of(year, field(t, ChronoField.MONTH_OF_YEAR, 1), field(t, ChronoField.DAY_OF_MONTH, 1));
        }
        LocalTime clock = t.query(TemporalQueries.localTime());
        if (clock == null) {
            clock = LocalTime.of(field(t, ChronoField.HOUR_OF_DAY, 0), field(t, ChronoField.MINUTE_OF_HOUR, 0),
                field(t, ChronoField.SECOND_OF_MINUTE, 0), field(t, ChronoField.NANO_OF_SECOND, 0));
        }
        if (nanos && clock.getNano() % 1000 != 0) {
            throw new ArithmeticException("Spark holds microseconds, and " + clock + " has more digits; use a precision of at most 6");
        }
        return micros(d.plusDays(t.query(DateTimeFormatter.parsedExcessDays()).getDays()).atTime(clock));
    }

    /** TO_TIMESTAMP: by the pattern, else in the default form, else NULL (or a failure when {@code strict}). */
    public static final class ParseTimestamp extends Scalar {
        public static Long invoke(UTF8String s, UTF8String pattern, boolean strict, boolean nanos) {
            if (s == null || pattern == null) {
                return null;
            }
            try {
                return fields(formatter(pattern).parse(s.toString()), nanos);
            } catch (IllegalArgumentException e) { // the pattern itself is wrong
                return null;
            } catch (DateTimeException e) {
                Long fallback = parseDefault(s.toString(), nanos);
                if (fallback == null && strict) {
                    throw new IllegalArgumentException("Text '" + s + "' could not be parsed as '" + pattern + "'");
                }
                return fallback;
            }
        }
    }

    public static final class FormatTimestamp extends Scalar {
        public static UTF8String invoke(long micros, UTF8String pattern) {
            return pattern == null ? null : ScalarText.utf(formatter(pattern).format(local(micros)));
        }
    }

    /** {@code reformat(text, from pattern, from zone, to pattern, to zone)}: DATE_FORMAT of text, CONVERT_TZ. */
    public static final class Reformat extends Scalar {
        public static UTF8String invoke(UTF8String s, UTF8String from, UTF8String zone, UTF8String to, UTF8String toZone) {
            if (s == null || from == null || zone == null || to == null || toZone == null) {
                return null;
            }
            simple(to, toZone); // a wrong pattern fails whatever the text is
            return format(parse(s, from, zone), to, toZone);
        }
    }

    public static final class FromUnixtime extends Scalar {
        public static UTF8String invoke(long seconds, UTF8String pattern, UTF8String zone) {
            return format(seconds * 1000, pattern, zone);
        }
    }

    public static final class UnixTimestamp extends Scalar {
        public static Long invoke(UTF8String s, UTF8String pattern, UTF8String zone) {
            Long millis = parse(s, pattern, zone);
            return millis != null ? Long.valueOf(millis / 1000) : s == null || pattern == null ? null : Long.MIN_VALUE;
        }
    }

    /** TO_DATE: days since 1970, NULL where the text does not follow the pattern (Flink gives garbage for some). */
    public static final class ParseDate extends Scalar {
        public static Integer invoke(UTF8String s, UTF8String pattern) {
            Long millis = parse(s, pattern, "UTC");
            return millis == null ? null : Integer.valueOf((int) Math.floorDiv(millis, 86_400_000L));
        }
    }

    /** FLOOR and CEIL to a unit; for DAY and longer ones CEIL drops the time of day first, as Flink does. */
    public static final class RoundTimestamp extends Scalar {
        private enum Unit {
            MILLISECOND(ChronoUnit.MILLIS, 0), SECOND(ChronoUnit.SECONDS, 0), MINUTE(ChronoUnit.MINUTES, 0), HOUR(ChronoUnit.HOURS, 0),
            DAY(ChronoUnit.DAYS, 0), WEEK(null, 0), MONTH(null, 1), QUARTER(null, 3), YEAR(null, 12), DECADE(null, 120),
            CENTURY(null, 1200), MILLENNIUM(null, 12000);

            final ChronoUnit clock;
            final int months;

            Unit(ChronoUnit clock, int months) {
                this.clock = clock;
                this.months = months;
            }

            LocalDate floor(LocalDate d) {
                if (this == WEEK) {
                    return d.minusDays(d.getDayOfWeek().getValue() % 7);
                }
                if (months < 12) {
                    return d.withDayOfMonth(1).minusMonths((d.getMonthValue() - 1) % months);
                }
                int first = this == CENTURY || this == MILLENNIUM ? 1 : 0; // they begin with the year 1, decades with 0
                return LocalDate.of(d.getYear() - Math.floorMod(d.getYear() - first, months / 12), 1, 1);
            }

            LocalDate next(LocalDate floor) { return this == WEEK ? floor.plusWeeks(1) : floor.plusMonths(months); }
        }

        public static long invoke(long value, UTF8String unitText, boolean ceil) {
            Unit unit = Unit.valueOf(unitText.toString());
            LocalDateTime t = local(value);
            if (unit.clock != null) {
                LocalDateTime floor = t.truncatedTo(unit.clock);
                return micros(ceil && floor.isBefore(t) ? floor.plus(1, unit.clock) : floor);
            }
            LocalDate d = t.toLocalDate();
            LocalDate floor = unit.floor(d);
            return micros((ceil && floor.isBefore(d) ? unit.next(floor) : floor).atStartOfDay());
        }
    }

    /** TIMESTAMPDIFF in months, as Calcite counts: whole days first, then one less when only the time of day is short. */
    public static final class MonthsBetween extends Scalar {
        public static long invoke(long from, long to) {
            LocalDateTime a = local(from);
            LocalDateTime b = local(to);
            LocalDate first = a.toLocalDate();
            LocalDate last = b.toLocalDate();
            long months = first.isAfter(last) ? -months(last, first) : months(first, last);
            boolean shorter = first.plusMonths(months).equals(last)
                && b.toLocalTime().truncatedTo(ChronoUnit.MILLIS).isBefore(a.toLocalTime().truncatedTo(ChronoUnit.MILLIS));
            return shorter ? months - 1 : months;
        }

        /** A clamped end of month counts as a full month. */
        private static long months(LocalDate first, LocalDate last) {
            long months = (last.getYear() - first.getYear()) * 12L + last.getMonthValue() - first.getMonthValue();
            return months - (first.plusMonths(months).isAfter(last) ? 1 : 0);
        }
    }

    public static final class FloorTo extends Scalar {
        public static long invoke(long value, long unit) { return value - Math.floorMod(value, unit); }
    }

    /** A timestamp as JSON writes it: {@code 2024-01-01T00:00:00[.fff]}. */
    public static final class IsoText extends Scalar {
        public static UTF8String invoke(long micros) { return ScalarText.utf(ISO.format(local(micros))); }
    }
}
