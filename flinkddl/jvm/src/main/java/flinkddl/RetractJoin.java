package flinkddl;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * {@code retract_inner | left | full | semi | anti(weight, matchable BOOLEAN, l STRUCT, r STRUCT)}: the rows of one
 * join key, each in {@code l} or {@code r}; gives the change of the join as {@code ARRAY<STRUCT<l, r, w>>}. With
 * {@code matchable} false (a NULL in the key) nothing matches.
 */
final class RetractJoin extends Retract<RetractJoin.Sides> {
    /** Which rows the join has. */
    enum Kind { INNER, LEFT, FULL, SEMI, ANTI }

    private final Kind kind;
    private final int left;
    private final int right;

    RetractJoin(Kind kind, StructType inputs) {
        super("retract_" + kind.name().toLowerCase(), inputs);
        this.kind = kind;
        left = struct(2).length();
        right = struct(3).length();
    }

    /** Both sides of one key. */
    public static final class Sides extends State {
        final RetractMultiset l = new RetractMultiset(false);
        final RetractMultiset r = new RetractMultiset(false);
        boolean apart;

        @Override void fold() {
            l.fold();
            r.fold();
        }

        @Override void lives(long own, long other) {
            super.lives(own, other);
            l.life(own);
            r.life(other);
        }

        @Override void forget(long idle) {
            l.forget();
            r.forget();
        }

        @Override void clear() {
            l.clear();
            r.clear();
        }

        @Override void write(DataOutput out) throws IOException {
            out.writeBoolean(apart);
            l.write(out);
            r.write(out);
        }

        @Override void read(DataInput in) throws IOException {
            apart = in.readBoolean();
            l.read(in);
            r.read(in);
        }
    }

    @Override public DataType resultType() {
        return new ArrayType(type("l", struct(2), "r", struct(3), "w", DataTypes.LongType), false);
    }

    @Override Sides create() { return new Sides(); }

    @Override Sides update(Sides s, InternalRow in) {
        s.apart |= !in.getBoolean(1);
        boolean isLeft = !in.isNullAt(2);
        (isLeft ? s.l : s.r).add(isLeft ? bytes(in, 2, left) : bytes(in, 3, right), in.getLong(0), 0);
        return s;
    }

    @Override Sides merge(Sides a, Sides b) {
        a.apart |= b.apart;
        a.l.merge(b.l);
        a.r.merge(b.r);
        return a;
    }

    @Override Object produceResult(Sides s) {
        List<Object> out = new ArrayList<>();
        if (kind != Kind.SEMI && kind != Kind.ANTI && !s.apart) {
            pairs(s, out);
        }
        boolean wantMatched = kind == Kind.SEMI;
        if (kind != Kind.INNER) {
            alone(s.l, matches(s.r, s.apart, true) == wantMatched, matches(s.r, s.apart, false) == wantMatched, true, out);
        }
        if (kind == Kind.FULL) {
            alone(s.r, !matches(s.l, s.apart, true), !matches(s.l, s.apart, false), false, out);
        }
        return new GenericArrayData(out.toArray());
    }

    private static boolean matches(RetractMultiset side, boolean apart, boolean old) {
        return !apart && side.size(old) != 0;
    }

    /** New pairs less old pairs: every pair with a change on either side. */
    private void pairs(Sides s, List<Object> out) {
        List<Map.Entry<RetractMultiset.Key, RetractMultiset.Entry>> changed = new ArrayList<>();
        for (Map.Entry<RetractMultiset.Key, RetractMultiset.Entry> r : s.r.entries.entrySet()) {
            if (r.getValue().pending != 0) {
                changed.add(r);
            }
        }
        for (Map.Entry<RetractMultiset.Key, RetractMultiset.Entry> l : s.l.entries.entrySet()) {
            RetractMultiset.Entry lw = l.getValue();
            for (Map.Entry<RetractMultiset.Key, RetractMultiset.Entry> r : lw.pending != 0 ? s.r.entries.entrySet() : changed) {
                RetractMultiset.Entry rw = r.getValue();
                long w = lw.weight(false) * rw.weight(false) - lw.weight(true) * rw.weight(true);
                emit(l.getKey(), r.getKey(), w, out);
            }
        }
    }

    /** Rows of one side alone, where they count before and after this batch. */
    private void alone(RetractMultiset side, boolean before, boolean after, boolean isLeft, List<Object> out) {
        if (!before && !after) {
            return;
        }
        side.entries.forEach((key, e) -> {
            long w = (after ? e.weight(false) : 0) - (before ? e.weight(true) : 0);
            emit(isLeft ? key : null, isLeft ? null : key, w, out);
        });
    }

    private void emit(RetractMultiset.Key l, RetractMultiset.Key r, long w, List<Object> out) {
        if (w != 0) {
            out.add(row(l == null ? null : view(l.bytes, left), r == null ? null : view(r.bytes, right), w));
        }
    }
}
