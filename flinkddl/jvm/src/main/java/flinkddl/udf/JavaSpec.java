package flinkddl.udf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The planned call of a Java function, as {@code flinkddl/functions/java/spec.py} says it. In the place of {@code jars},
 * which are paths of the machine that plans, stand {@code files}, the names under which Spark ships them
 * (spark/java_functions.py). {@code parameters} are Flink's job parameters.
 */
public final class JavaSpec {
    /** How a name of the catalog begins that is a spec itself. */
    public static final String BEGIN = "{\"class\":";

    public final String text;
    public final String className;
    public final String kind;
    public final String method;
    public final String descriptor;
    public final boolean varargs;
    public final List<String> arguments;
    public final List<String> bridges;
    public final String result;
    public final String resultBridge;
    public final boolean deterministic;
    public final boolean distinct;
    public final boolean over;
    public final List<String> files;
    public final Map<String, String> parameters = new LinkedHashMap<>();

    JavaSpec(String text) {
        this.text = text;
        try {
            JsonNode n = new ObjectMapper().readTree(text);
            className = n.get("class").asText();
            kind = n.get("kind").asText();
            method = n.get("method").asText();
            descriptor = n.get("descriptor").asText();
            varargs = n.path("varargs").asBoolean();
            arguments = texts(n.path("arguments"));
            bridges = texts(n.path("bridges"));
            result = n.get("result").asText();
            resultBridge = n.get("result_bridge").asText();
            deterministic = n.path("deterministic").asBoolean(true);
            distinct = n.path("distinct").asBoolean();
            over = n.path("over").asBoolean();
            files = texts(n.path("files"));
            n.path("parameters").properties().forEach(e -> parameters.put(e.getKey(), e.getValue().asText()));
        } catch (IOException e) {
            throw new IllegalArgumentException("bad spec " + text, e);
        }
    }

    boolean aggregates() { return kind.endsWith("aggregate"); }

    private static List<String> texts(JsonNode array) {
        List<String> all = new ArrayList<>();
        array.forEach(n -> all.add(n.asText()));
        return all;
    }
}
