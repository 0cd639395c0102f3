package flinkddl;

import flinkddl.faker.Fake;
import flinkddl.format.Formats;
import flinkddl.scalar.ScalarCast;
import flinkddl.scalar.ScalarJson;
import flinkddl.scalar.ScalarMath;
import flinkddl.scalar.ScalarText;
import flinkddl.scalar.ScalarTimes;
import flinkddl.state.Held;
import flinkddl.state.Install;
import flinkddl.state.Pack;
import flinkddl.state.Stage;
import flinkddl.state.Stages;
import flinkddl.state.StagesMissing;
import flinkddl.state.Tick;
import flinkddl.udf.JavaFunctions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog {@code flinkddl}: every kernel of ours under its SQL name. A family is one class with a {@code register};
 * an aggregate that keeps state is found by the name of its class, one that keeps it by key by its kind (state/Kinds); a
 * Java function of the user by a name that says all of it (udf/JavaSpec).
 */
public final class Functions implements FunctionCatalog {
    /** One line a family; on a merge conflict keep the lines of both sides. */
    private static final List<Consumer<Map<String, UnboundFunction>>> FAMILIES = List.of(
        Formats::register,
        ScalarMath::register, ScalarText::register, ScalarCast::register, ScalarTimes::register, ScalarJson::register,
        ScalarWatermark::register,
        Pack::register,
        StagesMissing::register,
        Tick::register,
        Fake::register
    );

    private static final Map<String, UnboundFunction> TABLE = new TreeMap<>();

    static {
        FAMILIES.forEach(family -> family.accept(TABLE));
    }

    private String name;

    @Override public void initialize(String catalog, CaseInsensitiveStringMap options) {
        name = catalog;
        Install.install();
    }

    @Override public String name() { return name; }

    @Override public Identifier[] listFunctions(String[] namespace) {
        return TABLE.keySet().stream().map(n -> Identifier.of(new String[0], n)).toArray(Identifier[]::new);
    }

    @Override public UnboundFunction loadFunction(Identifier id) {
        UnboundFunction java = JavaFunctions.find(id.name());
        if (java != null) {
            return java;
        }
        String key = id.name().toLowerCase(Locale.ROOT);
        UnboundFunction found = TABLE.containsKey(key) ? TABLE.get(key) : Retract.find(key);
        found = found == null ? Stage.find(key, Retract::find) : found;
        found = found == null ? Stages.find(key, Retract::find) : found;
        found = found == null ? Held.find(key, Retract::find) : found;
        if (found == null) {
            throw new IllegalArgumentException("no function " + id.name() + " in catalog " + name);
        }
        return found;
    }
}
