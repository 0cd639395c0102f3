package flinkddl;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** One task's writer of a {@link KafkaSink}: rows to records of the shared producer. */
final class KafkaWriter implements DataWriter<InternalRow> {
    private final KafkaTarget target;
    private final int task;
    private final long epoch;
    private final KafkaSession session;
    private final boolean wanted;
    private final int key;
    private final int value;
    private final int topic;
    private final int headers;
    private final int timestamp;
    private final Map<String, Integer> fixed = new HashMap<>();
    private final Map<ByteBuffer, ProducerRecord<byte[], byte[]>> held = new LinkedHashMap<>();
    private String lastTopic;
    private volatile Exception failure;

    KafkaWriter(KafkaTarget target, int task, long epoch) {
        this.target = target;
        this.task = task;
        this.epoch = epoch;
        session = KafkaSession.of(target, epoch);
        key = place(target.schema(), "key");
        value = place(target.schema(), "value");
        topic = place(target.schema(), "topic");
        headers = place(target.schema(), "headers");
        timestamp = place(target.schema(), "timestamp");
        try {
            wanted = !target.transactional() || session.begin(epoch, task);
        } catch (RuntimeException e) {
            session.leave();
            throw e;
        }
    }

    private static int place(StructType schema, String column) {
        scala.Option<Object> found = schema.getFieldIndex(column);
        return found.isDefined() ? (Integer) found.get() : -1;
    }

    @Override public void write(InternalRow row) {
        if (!wanted) {
            return;
        }
        fail();
        String to = topic < 0 ? target.topic() : row.getUTF8String(topic).toString();
        if (!to.equals(lastTopic)) {
            lastTopic = to;
            session.writtenTo(to);
        }
        Integer partition = target.fixed() ? fixed.computeIfAbsent(to, this::fixedPartition) : null;
        Long time = timestamp < 0 || row.isNullAt(timestamp) ? null : Math.floorDiv(row.getLong(timestamp), 1000L);
        var record = new ProducerRecord<>(to, partition, time, binary(row, key), binary(row, value), headers(row));
        if (target.buffer() == 0) {
            send(record);
        } else {
            // Flink's buffer: the last row per key, sent when so many keys are here and at the end of the batch.
            held.put(ByteBuffer.wrap(record.key()), record);
            if (held.size() >= target.buffer()) {
                sendHeld();
            }
        }
    }

    private void send(ProducerRecord<byte[], byte[]> record) {
        session.producer.send(record, (metadata, error) -> {
            if (error != null && failure == null) {
                failure = error;
            }
        });
    }

    private void sendHeld() {
        held.values().forEach(this::send);
        held.clear();
    }

    private static byte[] binary(InternalRow row, int column) {
        return column < 0 || row.isNullAt(column) ? null : row.getBinary(column);
    }

    private List<Header> headers(InternalRow row) {
        if (headers < 0 || row.isNullAt(headers)) {
            return null;
        }
        ArrayData entries = row.getArray(headers);
        List<Header> out = new ArrayList<>(entries.numElements());
        for (int i = 0; i < entries.numElements(); i++) {
            InternalRow entry = entries.getStruct(i, 2);
            out.add(new RecordHeader(entry.getUTF8String(0).toString(), binary(entry, 1)));
        }
        return out;
    }

    /** Flink's {@code fixed}: all rows of a writer go to one partition, writers take them in turn. */
    private int fixedPartition(String topic) {
        int[] partitions = session.producer.partitionsFor(topic).stream().mapToInt(PartitionInfo::partition).sorted().toArray();
        return partitions[task % partitions.length];
    }

    private void fail() {
        if (failure != null) {
            throw new IllegalStateException("a record was not written: " + failure.getMessage(), failure);
        }
    }

    @Override public WriterCommitMessage commit() {
        sendHeld();
        if (target.alone()) {
            session.commit(epoch);
        } else if (!target.transactional()) {
            session.producer.flush();
        }
        fail();
        return new KafkaSession.Written(session.id);
    }

    @Override public void abort() { session.abandon(); }

    @Override public void close() { session.leave(); }
}
