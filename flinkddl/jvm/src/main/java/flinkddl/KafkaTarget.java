package flinkddl;

import java.io.Serializable;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.sql.types.StructType;

/**
 * What a {@link KafkaSink} write was asked for; travels to the tasks. {@code transactionalId} is null without
 * transactions; {@code query} is Spark's id of the query, kept in its checkpoint. {@code marks}: batches of the query may
 * be repeated; not so those of a batch job. {@code local}: all tasks run in this JVM. {@code buffer}: how many
 * keys a writer holds back to write only the last row of each, 0 for none.
 */
record KafkaTarget(
    Map<String, String> client, String topic, boolean fixed, int parallelism, int buffer, String transactionalId, String query,
    boolean marks, StructType schema, boolean local) implements Serializable {

    private static final String PREFIX = "kafka.";

    static KafkaTarget of(Map<String, String> options, String query, StructType schema, boolean local) {
        // sorted: the text of a hash map of 12 or 24 entries is another once it has travelled, and with it sessionKey()
        TreeMap<String, String> client = new TreeMap<>();
        // What Kafka 4 clients do by default, Flink's among them: small batches wait a moment for more.
        client.put("linger.ms", "5");
        options.forEach((k, v) -> {
            if (k.startsWith(PREFIX)) {
                client.put(k.substring(PREFIX.length()), v);
            }
        });
        client.put("key.serializer", ByteArraySerializer.class.getName());
        client.put("value.serializer", ByteArraySerializer.class.getName());
        return new KafkaTarget(
            client, options.get("topic"), "fixed".equals(options.get("partitioner")),
            number(options, "parallelism"), number(options, "buffer-rows"), options.get("transactional-id"), query, true,
            schema, local);
    }

    private static int number(Map<String, String> options, String name) {
        return Integer.parseInt(options.getOrDefault(name, "0"));
    }

    KafkaTarget withoutMark() {
        return new KafkaTarget(client, topic, fixed, parallelism, buffer, transactionalId, query, false, schema, local);
    }

    /** Shows in plans, event logs and Spark's pages: nothing of the client's properties, which hold passwords. */
    @Override public String toString() { return "KafkaTarget[topic=" + topic + ", transactionalId=" + transactionalId + "]"; }

    boolean transactional() { return transactionalId != null; }

    /** Whether the tasks of this JVM write into one transaction, which the driver commits. */
    boolean shared() { return transactional() && local; }

    /** Whether one task writes and commits everything. */
    boolean alone() { return transactional() && !local; }

    /** The consumer group whose offset is the number of batches written. */
    String group() { return transactionalId + "-" + query; }

    /** Targets with the same key share a producer. */
    String sessionKey() { return client + " " + group(); }
}
