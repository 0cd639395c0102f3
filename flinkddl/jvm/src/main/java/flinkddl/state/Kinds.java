package flinkddl.state;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.types.StructType;

/** The kinds of nodes that a stage knows, a line a kind: how one is made of the types of its arguments. */
final class Kinds {
    private static final Map<String, Function<StructType, Kind>> TABLE = Map.of(
        "aggregate", Aggregate::new,
        "anti", in -> new Join("anti", in),
        "full", in -> new Join("full", in),
        "inner", in -> new Join("inner", in),
        "latest", Latest::new,
        "left", in -> new Join("left", in),
        "over", Over::new,
        "semi", in -> new Join("semi", in),
        "top", Top::new
    );

    private Kinds() { }

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
