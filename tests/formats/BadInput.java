package flinkddl.format;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Feeds decode kernels, block by block: a line with its spec, one with its row type as DDL, one with how many messages
 * follow, each of them in hex; one answer a line.
 */
public final class BadInput {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String spec; (spec = in.readLine()) != null; ) {
            System.out.write(answers(in, UTF8String.fromString(spec)).getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static String answers(BufferedReader in, UTF8String spec) throws Exception {
        StructType inputs = new StructType().add("value", DataTypes.BinaryType).add("row", StructType.fromDDL("r " + in.readLine()).apply(0).dataType())
            .add("spec", DataTypes.StringType).add("topic", DataTypes.StringType)
            .add("partition", DataTypes.IntegerType).add("offset", DataTypes.LongType);
        Decode kernel = new Decode(inputs);
        UTF8String topic = UTF8String.fromString("t");
        int count = Integer.parseInt(in.readLine());
        var out = new StringBuilder();
        for (long offset = 0; offset < count; offset++) {
            byte[] message = HexFormat.of().parseHex(in.readLine());
            try {
                out.append(line(kernel.invoke(message, null, spec, topic, 0, offset).toString()));
            } catch (Throwable e) {
                out.append(line(e.getClass().getSimpleName() + " " + e.getMessage()));
            }
        }
        return out.toString();
    }

    private static String line(String text) {
        return text.substring(0, Math.min(300, text.length())).replaceAll("[\\r\\n]", " ") + "\n";
    }
}
