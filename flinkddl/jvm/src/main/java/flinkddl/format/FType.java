package flinkddl.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A Flink type as a spec tells it: {@code "INT"}, {@code "INT!"} (NOT NULL), {@code ["DECIMAL",10,2]},
 * {@code ["ARRAY",t]}, {@code ["MAP",k,v]}, {@code ["ROW",["name",t],...]}, where {@code ["name",t,0]} is a field that
 * nobody reads. Carriers are those of sqltypes.py.
 */
final class FType {
    enum Kind {
        BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, CHAR, VARCHAR, BINARY, VARBINARY, DATE, TIME,
        TIMESTAMP, TIMESTAMP_LTZ, ARRAY, MAP, MULTISET, ROW, NULL
    }

    static final FType INT = new FType(Kind.INT, true, 0, 0, new FType[0], new String[0]);
    static final FType STRING = new FType(Kind.VARCHAR, false, 0, 0, new FType[0], new String[0]);

    final Kind kind;
    final boolean nullable;
    /** Precision or length; 0 where the kind has none. */
    final int precision;
    final int scale;
    final FType[] children;
    final String[] names;
    /** Whether its values are built; otherwise they are only checked, and NULL in the result. */
    final boolean built;
    private final byte[][] utf8;

    FType(Kind kind, boolean nullable, int precision, int scale, FType[] children, String[] names) {
        this(kind, nullable, precision, scale, children, names, true);
    }

    private FType(Kind kind, boolean nullable, int precision, int scale, FType[] children, String[] names, boolean built) {
        this.kind = kind;
        this.nullable = nullable;
        this.precision = precision;
        this.scale = scale;
        this.children = children;
        this.names = names;
        this.built = built;
        utf8 = Arrays.stream(names).map(n -> n.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    }

    /** The whole type, every field built. */
    static FType of(JsonNode n) { return of(n, true, false); }

    /** The type; {@code spare} leaves the fields that nobody reads unbuilt, with all that is in them. */
    static FType of(JsonNode n, boolean built, boolean spare) {
        String root = n.isArray() ? n.get(0).asText() : n.asText();
        boolean nullable = !root.endsWith("!");
        Kind kind = Kind.valueOf(nullable ? root : root.substring(0, root.length() - 1));
        boolean nested = kind.compareTo(Kind.ARRAY) >= 0 && kind != Kind.NULL;
        int size = nested ? n.size() - 1 : 0;
        FType[] children = new FType[kind == Kind.MULTISET ? 2 : size];
        String[] names = new String[kind == Kind.ROW ? size : 0];
        for (int i = 0; i < size; i++) {
            JsonNode child = n.get(i + 1);
            boolean read = kind != Kind.ROW || child.size() < 3 || !spare;
            children[i] = of(kind == Kind.ROW ? child.get(1) : child, built && read, spare);
            if (kind == Kind.ROW) {
                names[i] = child.get(0).asText();
            }
        }
        if (kind == Kind.MULTISET) {
            children[1] = INT;
        }
        int precision = nested ? 0 : n.path(1).asInt();
        return new FType(kind, nullable, precision, nested ? 0 : n.path(2).asInt(), children, names, built);
    }

    /** Whether this type or one inside it is of the kind. */
    boolean has(Kind k) {
        boolean found = kind == k;
        for (FType c : children) {
            found |= c.has(k);
        }
        return found;
    }

    /** Whether this type or one inside it is not built. */
    boolean holes() {
        boolean found = !built;
        for (FType c : children) {
            found |= c.holes();
        }
        return found;
    }

    byte[] utf8(int i) { return utf8[i]; }

    int size() { return children.length; }

    FType withNullable(boolean yes) { return new FType(kind, yes, precision, scale, children, names, built); }

    static FType row(boolean nullable, String[] names, FType... children) {
        return new FType(Kind.ROW, nullable, 0, 0, children, names);
    }
}
