package flinkddl.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that are brought together before they are exchanged: how many of {@code ROWS} rows in {@code GROUPS} groups come
 * out of a task, and the sum of their values (of {@code totals} their weights), of each kind that does so, {@code latest}, {@code totals}, {@code top}; {@code lists} ask for their order. With
 * {@code again}, instead, of what comes out the groups, the sum of the newest value of each, and whether it is less than came in.
 */
public final class CombineProbe {
    private static final StructType LONG = new StructType().add("v", DataTypes.LongType);
    private static final StructType KEY = new StructType().add("c0", DataTypes.LongType);

    private CombineProbe() { }

    private static Rows arguments(String of) {
        StructType type = new StructType();
        if (of.equals("latest")) {
            StructType change = new StructType().add("o", new StructType().add("arrived", DataTypes.LongType)).add("r", LONG);
            return new Rows(type.add("c0", DataTypes.BooleanType).add("c1", change));
        }
        if (of.startsWith("top")) {
            StructType entry = new StructType().add("o", new StructType().add("a0", DataTypes.LongType)).add("r", LONG);
            return new Rows(type.add("c0", DataTypes.LongType).add("c1", DataTypes.LongType).add("c2", DataTypes.LongType)
                .add("c3", DataTypes.LongType).add("c4", DataTypes.BooleanType).add("c5", DataTypes.BooleanType).add("c6", entry));
        }
        StructType calls = new StructType().add("sum:0", DataTypes.LongType).add(of.equals("lists") ? "array:1" : "max:1", LONG);
        return new Rows(type.add("c0", DataTypes.LongType).add("c1", DataTypes.LongType).add("c2", calls));
    }

    private static InternalRow row(String of, long n) {
        InternalRow value = flinkddl.Retract.row(n);
        return switch (of) {
            case "latest" -> flinkddl.Retract.row(false, flinkddl.Retract.row(value, value));
            case "top", "toptaken", "topnone" -> flinkddl.Retract.row(
                1L, n, 1L, of.equals("topnone") ? 0L : 3L, false, !of.equals("toptaken"), flinkddl.Retract.row(value, value));
            default -> flinkddl.Retract.row(1L, n, flinkddl.Retract.row(n, value));
        };
    }

    public static void main(String[] given) {
        String of = given[0];
        long rows = Long.parseLong(given[1]);
        long groups = Long.parseLong(given[2]);
        Rows arguments = arguments(of);
        Rows key = new Rows(KEY);
        String kind = of.startsWith("top") ? "top" : of.equals("latest") ? of : "aggregate";
        KeyedStage.Node node = new KeyedStage.Node(1, Kinds.of(kind, arguments.type, new long[2]), key, arguments, 0);
        Combine combine = Combine.of(new Figures(1), new Given.Alone(node), node);
        if (combine == null) {
            System.out.println("each by itself");
            return;
        }
        List<UnsafeRow> in = new ArrayList<>();
        UnsafeProjection whole = UnsafeProjection.create(new StructType().add("row", arguments.type).add("key", KEY));
        for (long n = 0; n < rows; n++) {
            in.add(whole.apply(flinkddl.Retract.row(row(of, n), flinkddl.Retract.row(n % groups))).copy());
        }
        Collections.shuffle(in, new Random(1));
        Iterator<Object> out = combine.apply(CollectionConverters.asScala(reused(in)));
        long count = 0;
        long sum = 0;
        Map<ByteBuffer, Long> newest = new HashMap<>();
        while (out.hasNext()) {
            Combine.Pair pair = (Combine.Pair) out.next();
            count++;
            long value = value(of, pair.row);
            sum += value;
            newest.merge(ByteBuffer.wrap(pair.key), value, Math::max);
        }
        boolean again = given.length > 3;
        System.out.println(again ? newest.size() + " " + newest.values().stream().mapToLong(n -> n).sum() + " " + (count < rows) : count + " " + sum);
    }

    /** Rows one after the other in one place, as generated code gives them. */
    private static java.util.Iterator<Object> reused(List<UnsafeRow> rows) {
        UnsafeRow one = UnsafeRow.createFromByteArray(0, 2);
        return rows.stream().map(row -> {
            one.copyFrom(row);
            return (Object) one;
        }).iterator();
    }

    private static long value(String of, byte[] row) {
        return of.equals("latest") ? Rows.view(row, 0, row.length, 2).getStruct(1, 2).getStruct(1, 1).getLong(0)
            : Rows.view(row, 0, row.length, 7).getLong(of.equals("totals") ? 0 : 1);
    }
}
