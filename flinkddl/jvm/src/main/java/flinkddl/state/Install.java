package flinkddl.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings {@link StageRule} into the session at hand; a query gets a copy of its session's rules when it starts. The rule
 * is made of Spark's inner classes: another Spark than the one it was tested with, or one that lacks a class, keeps
 * today's aggregates, and whoever starts the job is told so ({@code stages_missing()}).
 */
public final class Install {
    private static final String TESTED = "4.3.";
    private static final String WANTED = "spark.flinkddl.stages.spark"; // for tests: another version

    private Install() { }

    /** Once a session; does nothing where it cannot be done. */
    public static void install() { missing(); }

    /** Install the rule where that is not done yet; says why it cannot be, "" where it is there. */
    static String missing() {
        try {
            SparkSession session = SparkSession.active();
            String wanted = session.conf().get(WANTED, TESTED);
            if (!session.version().startsWith(wanted)) {
                return "the operators by key were tested with Spark " + wanted + "x, this is " + session.version();
            }
            Rules.add(session.experimental());
            return "";
        } catch (LinkageError e) {
            return "this Spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION() + " is another build: " + e;
        } catch (Exception e) {
            return "there is no session to put the operators by key into: " + e.getMessage();
        }
    }

    /** A class of its own: what it names is looked for when it is first called. */
    private static final class Rules {
        static void add(ExperimentalMethods methods) {
            List<Rule<LogicalPlan>> rules = new ArrayList<>(CollectionConverters.asJava(methods.extraOptimizations()));
            if (rules.stream().noneMatch(StageRule.class::isInstance)) {
                StageRule.rehearse();
                rules.add(new StageRule());
                methods.extraOptimizations_$eq(CollectionConverters.asScala(rules).toList());
            }
        }
    }
}
