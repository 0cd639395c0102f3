package flinkddl;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;

/**
 * The leader epoch of a record as its last header, empty where the client knows none: Spark's source hands over what
 * stands in a record, and not what Kafka's client knows of it (ConsumerRecord.leaderEpoch, which Flink reads).
 *
 * <p>Spark takes no option {@code kafka.interceptor.classes}, as one may change keys and values; this one does not. So
 * it goes into the properties that Spark has made for the consumers of its executors.
 */
public final class LeaderEpochs implements ConsumerInterceptor<byte[], byte[]> {
    static final String OPTION = "flinkddl.leader-epoch";
    private static final String PROPERTIES = "executorKafkaParams";

    @Override public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
        for (ConsumerRecord<byte[], byte[]> record : records) {
            String epoch = record.leaderEpoch().map(String::valueOf).orElse("");
            record.headers().add(OPTION, epoch.getBytes(StandardCharsets.US_ASCII));
        }
        return records;
    }

    @Override public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) { }

    @Override public void close() { }

    @Override public void configure(Map<String, ?> configs) { }

    static MicroBatchStream told(MicroBatchStream stream) {
        tell(stream);
        return stream;
    }

    static Batch told(Batch batch) {
        return new Batch() {
            @Override public InputPartition[] planInputPartitions() {
                InputPartition[] partitions = batch.planInputPartitions();
                for (InputPartition partition : partitions) {
                    tell(partition);
                }
                return partitions;
            }

            @Override public PartitionReaderFactory createReaderFactory() { return batch.createReaderFactory(); }
        };
    }

    @SuppressWarnings("unchecked")
    private static void tell(Object holder) {
        try {
            Field field = holder.getClass().getDeclaredField(PROPERTIES);
            field.setAccessible(true);
            ((Map<String, Object>) field.get(holder)).merge(
                ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG, LeaderEpochs.class.getName(),
                (before, own) -> before.equals(own) ? before : before + "," + own);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this version of Spark's Kafka connector hides the properties of its"
                + " consumers: leave 'leader-epoch' out of the table", e);
        }
    }
}
