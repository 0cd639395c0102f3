package flinkddl.faker;

import java.sql.Timestamp;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code #{date.past '15','5','SECONDS'}} and {@code date.future}: Datafaker's own arithmetic from a given time, so that
 * a batch that is run again has the rows it had. All else that asks the clock is left to Datafaker.
 */
record Clock(boolean past, long least, long most) {
    private static final Pattern FORM = Pattern.compile(
        "#\\{date\\.(past|future)\\s+'(\\d{1,9})'\\s*,\\s*(?:'(\\d{1,9})'\\s*,\\s*)?'([A-Z]+)'\\s*\\}",
        Pattern.CASE_INSENSITIVE);

    /** The expression as a span of time, or null for any other and for what Datafaker would refuse. */
    static Clock of(String template) {
        Matcher m = FORM.matcher(template);
        if (!m.matches()) {
            return null;
        }
        try {
            TimeUnit unit = TimeUnit.valueOf(m.group(4));
            long least = m.group(3) == null ? 0 : Long.parseLong(m.group(3));
            // beyond the shortest distance: 1 ms where none is said (DateAndTime.past, .future)
            long span = unit.toMillis(Long.parseLong(m.group(2)) - least) - 1;
            long from = m.group(3) == null ? 1 : unit.toMillis(least);
            return span <= 0 ? null : new Clock(m.group(1).equalsIgnoreCase("past"), from, span);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    String text(Datafaker faker) {
        long distance = least + 1 + Math.floorMod(faker.random.nextLong(), most);
        return new Timestamp(past ? faker.now - distance : faker.now + distance).toString();
    }
}
