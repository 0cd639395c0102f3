package flinkddl;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * A producer, shared by the tasks of this JVM that write to the same target, and the state of its transaction. A session
 * in which anything failed is closed and never used again: late tasks of a failed batch cannot write into the next one.
 */
final class KafkaSession {
    private static final Map<String, KafkaSession> OPEN = new HashMap<>();
    private static final long IDLE_NANOS = Duration.ofMinutes(10).toNanos();
    /** Flink's default, then what a broker allows if nobody told it otherwise. */
    private static final List<String> TIMEOUTS = List.of("3600000", "900000");

    /** What a task hands to the driver: the session that holds its rows. */
    record Written(String session) implements WriterCommitMessage { }

    final KafkaProducer<byte[], byte[]> producer;
    final String id = UUID.randomUUID().toString();
    private final KafkaTarget target;
    private final Set<Integer> begun = new HashSet<>();
    private long done;
    private long current = -1;
    private long last;
    private volatile String marked;
    private boolean closed;
    private int writers;
    private long used = System.nanoTime();

    private KafkaSession(KafkaTarget target) {
        this.target = target;
        producer = target.transactional() ? transactional(target) : new KafkaProducer<>(Map.copyOf(target.client()));
        done = target.transactional() && target.marks() ? mark(target) : -1;
    }

    /** The session of a target in which this task can write a batch; its caller is one more writer until {@link #leave}. */
    static synchronized KafkaSession of(KafkaTarget target, long epoch) {
        KafkaSession found = OPEN.get(target.sessionKey());
        if (found != null && found.overtaken(epoch)) {
            OPEN.remove(target.sessionKey());
            if (found.writers == 0) { // a task that still is in it ends it: the next producer fences it
                found.abandon();
            }
            found = null;
        }
        if (found == null) {
            closeIdle();
            found = new KafkaSession(target);
            OPEN.put(target.sessionKey(), found);
        }
        found.writers++;
        found.last = epoch;
        return found;
    }

    /**
     * Whether another executor may have written since: on a cluster the writing task goes from one to another, and each
     * fences the one before it. What a fenced producer is asked for fails late, some of it after a minute.
     */
    private boolean overtaken(long epoch) {
        TaskContext task = TaskContext.get();
        boolean again = task != null && task.attemptNumber() + task.stageAttemptNumber() > 0;
        return target.alone() && target.marks() && (again || epoch != last + 1);
    }

    void leave() {
        boolean left;
        synchronized (KafkaSession.class) {
            writers--;
            used = System.nanoTime();
            left = writers == 0 && OPEN.get(target.sessionKey()) != this;
        }
        if (left) { // another one has taken its place, and nobody else would end it
            abandon();
        }
    }

    private static void closeIdle() {
        long now = System.nanoTime();
        for (KafkaSession session : List.copyOf(OPEN.values())) {
            if (session.writers == 0 && session.current < 0 && now - session.used > IDLE_NANOS) {
                session.abandon();
            }
        }
    }

    private static KafkaProducer<byte[], byte[]> transactional(KafkaTarget target) {
        Map<String, Object> config = new HashMap<>(target.client());
        config.put("transactional.id", target.transactionalId());
        String given = target.client().get("transaction.timeout.ms");
        KafkaException refused = null;
        for (String timeout : given == null ? TIMEOUTS : List.of(given)) {
            config.put("transaction.timeout.ms", timeout);
            KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
            try {
                producer.initTransactions();
                return producer;
            } catch (KafkaException e) {
                producer.close(Duration.ZERO);
                if (!String.valueOf(e.getMessage()).contains("transaction.max.timeout.ms")) {
                    throw e;
                }
                refused = e;
            }
        }
        throw new KafkaException("set 'properties.transaction.timeout.ms' to what the broker allows: " + refused.getMessage());
    }

    /** The last batch of the query that is written, -1 for none. Waits for transactions that are just being ended. */
    private static long mark(KafkaTarget target) {
        Map<String, Object> config = new HashMap<>(target.client());
        config.keySet().removeIf(k -> k.endsWith("serializer") || k.equals("linger.ms"));
        try (Admin admin = Admin.create(config)) {
            return admin.listConsumerGroupOffsets(target.group(), new ListConsumerGroupOffsetsOptions().requireStable(true))
                .partitionsToOffsetAndMetadata().get().values().stream()
                .filter(o -> o != null).mapToLong(o -> o.offset() - 1).max().orElse(-1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException(e);
        } catch (ExecutionException e) {
            throw new KafkaException("the group '" + target.group() + "' cannot be read", e.getCause());
        }
    }

    /** Take part in the transaction of a batch; false when that batch is written already. */
    synchronized boolean begin(long epoch, int partition) {
        check();
        if (epoch <= done) {
            return false;
        }
        if (current != epoch) {
            if (current >= 0) {
                throw new IllegalStateException("batch " + current + " was never ended");
            }
            producer.beginTransaction();
            current = epoch;
            begun.clear();
        }
        if (!begun.add(partition)) {
            throw new IllegalStateException("task " + partition + " of batch " + epoch + " has failed, so the batch must be repeated");
        }
        return true;
    }

    /** A topic of the running transaction: its partition 0 carries the mark. */
    void writtenTo(String topic) { marked = topic; }

    /** Commit the transaction of a batch, with its mark. */
    synchronized void commit(long epoch) {
        check();
        if (epoch <= done) {
            return;
        }
        if (current != epoch) {
            throw new IllegalStateException("batch " + epoch + " is not the one that is open: " + current);
        }
        if (marked != null && target.marks()) {
            producer.flush(); // says when it was fenced; Kafka's client leaves what waits behind that without an answer
            Map<TopicPartition, OffsetAndMetadata> mark = Map.of(new TopicPartition(marked, 0), new OffsetAndMetadata(epoch + 1));
            producer.sendOffsetsToTransaction(mark, new ConsumerGroupMetadata(target.group()));
        }
        producer.commitTransaction();
        done = epoch;
        current = -1;
        marked = null;
    }

    private void check() {
        if (closed) {
            throw new IllegalStateException("another task of this batch has failed");
        }
    }

    /** The driver's commit: every task must have written into the session that is committed. */
    static void commit(KafkaTarget target, long epoch, WriterCommitMessage[] messages) {
        KafkaSession session;
        synchronized (KafkaSession.class) {
            session = OPEN.get(target.sessionKey());
        }
        for (WriterCommitMessage message : messages) {
            if (session == null || !(message instanceof Written w) || !w.session().equals(session.id)) {
                throw new IllegalStateException("the transaction of batch " + epoch + " was given up");
            }
        }
        try {
            session.commit(epoch);
        } catch (RuntimeException e) {
            session.abandon();
            throw e;
        }
    }

    static void abandon(KafkaTarget target) {
        KafkaSession session;
        synchronized (KafkaSession.class) {
            session = OPEN.get(target.sessionKey());
        }
        if (session != null) {
            session.abandon();
        }
    }

    /** Close for good. An open transaction is aborted if the broker answers, else by the next run or its timeout. */
    void abandon() {
        synchronized (KafkaSession.class) {
            OPEN.remove(target.sessionKey(), this);
        }
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        try {
            if (current >= 0) {
                producer.abortTransaction();
            }
        } catch (RuntimeException e) {
            // A fenced or broken producer cannot abort; whoever fenced it did.
        } finally {
            close();
        }
    }

    private void close() {
        try {
            producer.close(Duration.ZERO);
        } catch (RuntimeException e) {
            // Interrupted while closing: nothing of it is used any more.
        }
    }
}
