package flinkddl;

import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
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
 * The Spark format {@code flinkddl.KafkaSink}: what Spark's own Kafka sink lacks, namely transactions, a {@code timestamp}
 * column, the partitioner {@code fixed} and a number of writers.
 *
 * <p>Options: {@code kafka.*} for the producer, {@code topic} unless the rows name theirs, {@code partitioner=fixed},
 * {@code parallelism}, {@code buffer-rows}, and {@code transactional-id}, which makes it exactly-once. Columns: {@code value}, and as wanted
 * {@code key}, {@code topic}, {@code headers}, {@code timestamp}.
 *
 * <p>Why exactly-once holds. All rows of a micro-batch are one Kafka transaction, and so is the mark "batch n of query q
 * is written": the offset n + 1 of a consumer group that belongs to this query alone, sent with
 * sendOffsetsToTransaction. So the batch is visible if and only if its mark is. Spark writes the offsets of a batch to its
 * log first, then runs it, then calls commit, and only then notes the batch as done; after a crash it runs the first batch
 * that is not noted again, over the same offsets. There are three cases. Died before the transaction was committed: the
 * next run's initTransactions (same transactional id) aborts what was left, no mark is found, the batch is written. Died
 * after it: initTransactions waits until the transaction has ended, the mark is found, the rows of the replayed batch are
 * dropped. Died after Spark's note: the batch is not run again. As the mark stands for the whole batch, it does not matter
 * whether the replay has the same tasks or the same order of rows. A run that was thought dead cannot commit after the
 * next one began: initTransactions has fenced its producer, and the mark is read after that.
 *
 * <p>One transaction needs one producer. In local mode all tasks are threads of one JVM and share it, and the driver
 * commits ({@link KafkaSession}). On a cluster the rows go to one task, which commits itself; a second attempt of that
 * task, and the task of a batch that comes to another executor than the batch before, fences the one before it and then
 * looks for the mark, as a second run does.
 *
 * <p>The broker forgets marks after {@code offsets.retention.minutes} (a week). It matters only to a job that died
 * between the two commits and is started again after that time.
 *
 * <p>The mark interface of update mode is Spark's, without a method and the only one outside its public packages.
 */
public final class KafkaSink implements TableProvider {
    @Override public StructType inferSchema(CaseInsensitiveStringMap options) { return new StructType(); }

    @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Topic();
    }

    private static final class Topic implements SupportsWrite {
        @Override public String name() { return "Kafka"; }

        @Override @SuppressWarnings("deprecation") public StructType schema() { return new StructType(); }

        @Override public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.STREAMING_WRITE, TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
        }

        @Override public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { return new Builder(info); }
    }

    private record Builder(LogicalWriteInfo info) implements SupportsStreamingUpdateAsAppend {
        @Override public String toString() { return "KafkaSink"; }

        @Override public Write build() {
            boolean local = SparkContext.getOrCreate().isLocal();
            return new Plan(KafkaTarget.of(info.options().asCaseSensitiveMap(), info.queryId(), info.schema(), local));
        }
    }

    /** The shuffle in front of the writers, where there must be one: rows of a key stay together and in order. */
    private record Plan(KafkaTarget target) implements RequiresDistributionAndOrdering {
        @Override public Distribution requiredDistribution() {
            boolean keyed = target.schema().getFieldIndex("key").isDefined();
            return requiredNumPartitions() == 0 ? Distributions.unspecified()
                : Distributions.clustered(new Expression[] {Expressions.column(keyed ? "key" : "value")});
        }

        @Override public int requiredNumPartitions() { return target.alone() ? 1 : target.parallelism(); }

        @Override public SortOrder[] requiredOrdering() { return new SortOrder[0]; }

        @Override public StreamingWrite toStreaming() { return new Batches(target); }

        @Override public BatchWrite toBatch() { return new Once(target.withoutMark()); }
    }

    private record Batches(KafkaTarget target) implements StreamingWrite {
        @Override public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            KafkaTarget target = this.target;
            return (partition, task, epoch) -> new KafkaWriter(target, partition, epoch);
        }

        @Override public void commit(long epoch, WriterCommitMessage[] messages) {
            if (target.shared()) {
                KafkaSession.commit(target, epoch, messages);
            }
        }

        @Override public void abort(long epoch, WriterCommitMessage[] messages) { KafkaSession.abandon(target); }
    }

    private record Once(KafkaTarget target) implements BatchWrite {
        @Override public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            KafkaTarget target = this.target;
            return (partition, task) -> new KafkaWriter(target, partition, 0);
        }

        @Override public void commit(WriterCommitMessage[] messages) {
            if (target.shared()) {
                KafkaSession.commit(target, 0, messages);
            }
            KafkaSession.abandon(target);
        }

        @Override public void abort(WriterCommitMessage[] messages) { KafkaSession.abandon(target); }
    }
}
