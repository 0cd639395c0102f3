package flinkddl.state;

import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.StructType;

/** The kinds of nodes that a stage knows, a line a kind: how one is made of the types of its arguments. */
final class Kinds {
    private static final Map<String, Function<StructType, Kind>> TABLE = Map.ofEntries(
        Map.entry("aggregate", Aggregate::new),
        Map.entry("anti", in -> new Join("anti", in)),
        Map.entry("antiif", in -> new JoinIf("anti", in)),
        Map.entry("full", in -> new Join("full", in)),
        Map.entry("fullif", in -> new JoinIf("full", in)),
        Map.entry("inner", in -> new Join("inner", in)),
        Map.entry("intervalfull", in -> new IntervalJoin("full", in)),
        Map.entry("intervalfullif", in -> new IntervalJoin("full", in)),
        Map.entry("intervalinner", in -> new IntervalJoin("inner", in)),
        Map.entry("intervalleft", in -> new IntervalJoin("left", in)),
        Map.entry("intervalleftif", in -> new IntervalJoin("left", in)),
        Map.entry("latest", Latest::new),
        Map.entry("left", in -> new Join("left", in)),
        Map.entry("leftif", in -> new JoinIf("left", in)),
        Map.entry("over", Over::new),
        Map.entry("semi", in -> new Join("semi", in)),
        Map.entry("semiif", in -> new JoinIf("semi", in)),
        Map.entry("session", in -> new Session(in, false)),
        Map.entry("sessionlist", in -> new Session(in, true)),
        Map.entry("slices", Slices::new),
        Map.entry("temporalinner", TemporalJoin::new),
        Map.entry("top", Top::new),
        Map.entry("window", Window::new),
        Map.entry("windowanti", in -> new WindowJoin("anti", in)),
        Map.entry("windowantiif", in -> new WindowJoin("anti", in)),
        Map.entry("windowfull", in -> new WindowJoin("full", in)),
        Map.entry("windowfullif", in -> new WindowJoin("full", in)),
        Map.entry("windowinner", in -> new WindowJoin("inner", in)),
        Map.entry("windowleft", in -> new WindowJoin("left", in)),
        Map.entry("windowleftif", in -> new WindowJoin("left", in)),
        Map.entry("windowsemi", in -> new WindowJoin("semi", in)),
        Map.entry("windowsemiif", in -> new WindowJoin("semi", in)),
        Map.entry("windowtop", in -> new WindowTop("top", in))
    );
    private static final Map<String, String> CONDITIONAL = Map.of("antiif", "anti", "fullif", "full", "leftif", "left", "semiif", "semi");
    private static final Pattern TIMED = Pattern.compile("(session|slices|window|interval|temporal)([a-z]*)");

    private Kinds() { }

    /** Of a kind that takes a {@link Condition} the one that has the same rows as results; null of another. */
    static String conditional(String name) {
        Matcher timed = TIMED.matcher(name);
        return CONDITIONAL.get(timed.matches() ? timed.group(2) : name);
    }

    /** Of a kind that fires by event time the one that takes its first arguments and has its results; null of another. */
    static String timed(String name) {
        Matcher timed = TIMED.matcher(name);
        if (!timed.matches()) {
            return null;
        }
        String plain = conditional(name);
        return plain != null ? plain : timed.group(2).isEmpty() || session(name) ? "aggregate" : timed.group(2);
    }

    static boolean session(String name) { return name.startsWith("session"); }

    /** Whether results come with the bounds of their window. */
    static boolean bounded(String name) { return session(name) || name.equals("slices"); }

    /** How many arguments of such a kind, its last ones, say when it fires. */
    static int times(String name) {
        return session(name) ? Session.MORE : name.equals("slices") ? Slices.MORE : name.startsWith("interval") ? IntervalJoin.MORE : name.startsWith("temporal") ? TemporalJoin.MORE : 1;
    }

    /** Null for a kind that stays an aggregate; {@code lives} as in {@link Kind#lives}. */
    static Kind of(String name, StructType arguments, long[] lives) {
        Function<StructType, Kind> maker = TABLE.get(name);
        Kind kind = maker == null ? null : maker.apply(arguments);
        if (kind != null) {
            System.arraycopy(lives, 0, kind.lives, 0, lives.length);
        }
        return kind;
    }
}
