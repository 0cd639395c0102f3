package flinkddl.format;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Feeds a decode kernel: first line its spec, second its row type as DDL, then messages in hex; one answer a line. */
public final class BadInput {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        UTF8String spec = UTF8String.fromString(in.readLine());
        StructType inputs = new StructType().add("value", DataTypes.BinaryType).add("row", StructType.fromDDL("r " + in.readLine()).apply(0).dataType())
            .add("spec", DataTypes.StringType).add("topic", DataTypes.StringType)
            .add("partition", DataTypes.IntegerType).add("offset", DataTypes.LongType);
        Decode kernel = new Decode(inputs);
        UTF8String topic = UTF8String.fromString("t");
        long offset = 0;
        var out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; offset++) {
            try {
                out.append(line(kernel.invoke(HexFormat.of().parseHex(line), null, spec, topic, 0, offset).toString()));
            } catch (Throwable e) {
                out.append(line(e.getClass().getSimpleName() + " " + e.getMessage()));
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static String line(String text) {
        return text.substring(0, Math.min(300, text.length())).replaceAll("[\\r\\n]", " ") + "\n";
    }
}
