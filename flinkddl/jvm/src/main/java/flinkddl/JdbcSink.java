package flinkddl;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The Spark format {@code flinkddl.JdbcSink}: rows inserted, or with a {@code key} put and deleted by it, which Spark's
 * own JDBC writer cannot do. The options are those of {@link JdbcWriter}.
 *
 * <p>A batch that is run again after a failure puts its rows again: the same table with a key, at least once without, as
 * with Flink's sink. Rows of one key go to one task, so that two connections never wait for each other's rows.
 */
public final class JdbcSink implements TableProvider {
    @Override public StructType inferSchema(CaseInsensitiveStringMap options) { return new StructType(); }

    @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Rows();
    }

    private static final class Rows implements SupportsWrite {
        @Override public String name() { return "JDBC"; }

        @Override @SuppressWarnings("deprecation") public StructType schema() { return new StructType(); }

        @Override public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.STREAMING_WRITE, TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
        }

        @Override public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return new Builder(info); }
    }

    private record Builder(LogicalWriteInfo info) implements SupportsStreamingUpdateAsAppend {
        @Override public String toString() { return "JdbcSink"; }

        @Override public Write build() { return new Plan(Map.copyOf(info.options().asCaseSensitiveMap()), info.schema()); }
    }

    private record Plan(Map<String, String> options, StructType schema)
            implements RequiresDistributionAndOrdering, BatchWrite, StreamingWrite {
        /** Shows in plans and event logs, and the options hold the password. */
        @Override public String toString() { return "JdbcSink"; }

        @Override public Distribution requiredDistribution() {
            int[] by = JdbcWriter.places(options, requiredNumPartitions() > 0 && !options.containsKey("key") ? "put" : "key");
            return by.length == 0 ? Distributions.unspecified() : Distributions.clustered(Arrays.stream(by)
                .mapToObj(i -> Expressions.column("`" + schema.fields()[i].name().replace("`", "``") + "`"))
                .toArray(Expression[]::new));
        }

        @Override public int requiredNumPartitions() { return Integer.parseInt(options.getOrDefault("parallelism", "0")); }

        @Override public SortOrder[] requiredOrdering() { return new SortOrder[0]; }

        @Override public BatchWrite toBatch() { return this; }

        @Override public StreamingWrite toStreaming() { return this; }

        @Override public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            var options = this.options;
            var schema = this.schema;
            return (partition, task) -> new JdbcWriter(options, schema);
        }

        @Override public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            var options = this.options;
            var schema = this.schema;
            return (partition, task, epoch) -> new JdbcWriter(options, schema);
        }

        @Override public boolean useCommitCoordinator() { return true; }

        @Override public void commit(WriterCommitMessage[] messages) { }

        @Override public void abort(WriterCommitMessage[] messages) { }

        @Override public void commit(long epoch, WriterCommitMessage[] messages) { }

        @Override public void abort(long epoch, WriterCommitMessage[] messages) { }
    }
}
