package flinkddl.state;

import java.util.Map;
import java.util.function.Function;
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
        Map.entry("latest", Latest::new),
        Map.entry("left", in -> new Join("left", in)),
        Map.entry("leftif", in -> new JoinIf("left", in)),
        Map.entry("over", Over::new),
        Map.entry("semi", in -> new Join("semi", in)),
        Map.entry("semiif", in -> new JoinIf("semi", in)),
        Map.entry("session", Session::new),
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
        Map.entry("windowtop", in -> new Held("top", in))
    );
    private static final Map<String, String> CONDITIONAL = Map.of("antiif", "anti", "fullif", "full", "leftif", "left", "semiif", "semi");
    private static final String TIMED = "window";
    static final String SESSION = "session";

    private Kinds() { }

    /** Of a kind that takes a {@link Condition} the one that has the same rows as results; null of another. */
    static String conditional(String name) { return CONDITIONAL.get(name.startsWith(TIMED) ? name.substring(TIMED.length()) : name); }

    /** Of a kind that fires by event time the one that takes its first arguments and has its results; null of another. */
    static String timed(String name) {
        String plain = conditional(name);
        if (name.equals(SESSION)) {
            return "aggregate";
        }
        if (!name.startsWith(TIMED)) {
            return null;
        }
        return plain != null ? plain : name.equals(TIMED) ? "aggregate" : name.substring(TIMED.length());
    }

    /** How many arguments of such a kind, its last ones, say when it fires. */
    static int times(String name) { return name.equals(SESSION) ? Session.MORE : 1; }

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
