package flinkddl;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Where a read of Kafka starts and stops, as options of Spark's Kafka source. What {@code flinkddl/runtime/offsets.py}
 * is to jobs, this is to DataFrames; the two agree.
 *
 * <p>Each of {@code flinkddl.start} and {@code flinkddl.stop} is a JSON object of strings. {@code mode} is
 * earliest-offset (start only), latest-offset, group-offsets ({@code group}; for a start {@code reset}, which is
 * earliest, latest or none), timestamp ({@code timestamp} in epoch milliseconds), specific-offsets ({@code offsets} as
 * {@code partition:0,offset:5;...}, and the {@code group} to which -3 refers), topic-offsets (start only:
 * {@code offsets} as JSON, topic to partition to offset; other partitions are new and read from their beginning) or
 * unbounded (stop only). Without a mode it is earliest-offset and unbounded. {@code flinkddl.discovery=0}: a stream
 * keeps to the partitions that are there when it starts.
 */
final class KafkaPositions {
    static final String STARTING = "startingOffsets", ENDING = "endingOffsets";
    static final String ASSIGN = "assign", DISCOVERY = "flinkddl.discovery", START = "flinkddl.start";

    private static final long EARLIEST = -2, LATEST = -1, COMMITTED = -3;
    private static final Map<String, String> WORDS = Map.of("earliest-offset", "earliest", "latest-offset", "latest");
    private static final Map<String, Long> RESETS = Map.of("earliest", EARLIEST, "latest", LATEST);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Cluster cluster;
    private final Map<String, String> start;
    private final Map<String, String> stop;
    private final List<TopicPartition> partitions;
    private Map<TopicPartition, Long> begin;
    private Map<TopicPartition, Long> end;

    private KafkaPositions(Cluster cluster, CaseInsensitiveStringMap options) {
        this.cluster = cluster;
        start = read(options.get(START), new TypeReference<>() { });
        stop = read(options.get("flinkddl.stop"), new TypeReference<>() { });
        partitions = partitions(options);
    }

    /** The start of a stream. Words do for the ends of a topic: the stream asks for them itself. */
    static Map<String, String> ofStream(CaseInsensitiveStringMap options) {
        Map<String, String> start = read(options.get(START), new TypeReference<>() { });
        String word = WORDS.get(start.getOrDefault("mode", "earliest-offset"));
        if (word != null) {
            return Map.of(STARTING, word);
        }
        try (Cluster cluster = new Cluster(options)) {
            return Map.of(STARTING, json(new KafkaPositions(cluster, options).starts()));
        }
    }

    /** What a stream keeps to that looks for no new partitions: those of this moment. */
    static Map<String, String> assigned(CaseInsensitiveStringMap options) {
        try (Cluster cluster = new Cluster(options)) {
            Map<String, TreeSet<Integer>> found = new TreeMap<>();
            for (TopicPartition p : new KafkaPositions(cluster, options).partitions) {
                found.computeIfAbsent(p.topic(), t -> new TreeSet<>()).add(p.partition());
            }
            if (found.isEmpty()) {
                throw new IllegalStateException("no topic matches '" + wanted(options)
                    + "', and with 'scan.topic-partition-discovery.interval' = '0' none would ever be found");
            }
            return Map.of(ASSIGN, write(found));
        }
    }

    /** Both ends of a batch in numbers that lie in the topics, no start behind its stop, found by one look. */
    static Map<String, String> ofBatch(CaseInsensitiveStringMap options) {
        try (Cluster cluster = new Cluster(options)) {
            KafkaPositions p = new KafkaPositions(cluster, options);
            Map<TopicPartition, Long> starts = p.starts(), stops = p.stops(), low = p.begin(), high = p.end();
            Map<TopicPartition, Long> last = p.each(t ->
                Math.min(Math.max(stops.getOrDefault(t, low.get(t)), low.get(t)), high.get(t)));
            Map<TopicPartition, Long> first = p.each(t -> {
                long from = starts.get(t);
                from = from == EARLIEST ? low.get(t) : from == LATEST ? high.get(t) : from;
                return Math.min(Math.max(from, low.get(t)), last.get(t));
            });
            return Map.of(STARTING, json(first), ENDING, json(last));
        }
    }

    /** The topics of a read as its options name them: for people. */
    static String wanted(CaseInsensitiveStringMap options) {
        String assigned = options.get("assign");
        if (assigned != null) {
            return String.join(",", new TreeSet<>(assigned(assigned).keySet()));
        }
        return options.getOrDefault("subscribe", options.getOrDefault("subscribePattern", ""));
    }

    private static Map<String, List<Integer>> assigned(String text) { return read(text, new TypeReference<>() { }); }

    private List<TopicPartition> partitions(CaseInsensitiveStringMap options) {
        String assigned = options.get("assign"), pattern = options.get("subscribePattern");
        if (assigned == null) {
            return cluster.partitions(pattern != null ? cluster.matching(Pattern.compile(pattern))
                : Stream.of(options.getOrDefault("subscribe", "").split(",")).map(String::trim)
                    .filter(t -> !t.isEmpty()).toList());
        }
        Map<String, List<Integer>> wanted = assigned(assigned);
        List<TopicPartition> there = cluster.partitions(wanted.keySet()), found = new ArrayList<>();
        wanted.forEach((topic, numbers) -> numbers.forEach(n -> found.add(new TopicPartition(topic, n))));
        found.stream().filter(p -> !there.contains(p)).findFirst().ifPresent(p -> {
            throw new IllegalStateException("topic '" + p.topic() + "' has no partition " + p.partition()
                + " (bootstrap servers " + cluster.servers + ")");
        });
        return found;
    }

    private Map<TopicPartition, Long> begin() {
        begin = begin == null ? cluster.offsets(partitions, OffsetSpec.earliest()) : begin;
        return begin;
    }

    private Map<TopicPartition, Long> end() {
        end = end == null ? cluster.offsets(partitions, OffsetSpec.latest()) : end;
        return end;
    }

    /** The first offset to read of each partition; EARLIEST and LATEST stand for themselves. */
    private Map<TopicPartition, Long> starts() {
        String mode = start.getOrDefault("mode", "earliest-offset");
        return switch (mode) {
            case "earliest-offset" -> each(p -> EARLIEST);
            case "latest-offset" -> each(p -> LATEST);
            case "timestamp" -> at(start);
            case "group-offsets" -> committed(start, start.getOrDefault("reset", "none").toLowerCase(Locale.ROOT),
                ": set 'properties.auto.offset.reset' to 'earliest' or 'latest', or another 'scan.startup.mode'");
            case "specific-offsets" -> specificStarts();
            case "topic-offsets" -> {
                Map<String, Map<Integer, Long>> fixed = read(need(start, "offsets"), new TypeReference<>() { });
                yield each(p -> fixed.getOrDefault(p.topic(), Map.of()).getOrDefault(p.partition(), EARLIEST));
            }
            default -> throw new IllegalArgumentException("unknown start mode '" + mode + "'");
        };
    }

    /** The exclusive end of each partition; one without an end is not read at all. */
    private Map<TopicPartition, Long> stops() {
        String mode = stop.getOrDefault("mode", "unbounded");
        return switch (mode) {
            case "unbounded", "latest-offset" -> end();
            case "timestamp" -> at(stop);
            case "group-offsets" -> committed(stop, "none", "");
            case "specific-offsets" -> specificStops();
            default -> throw new IllegalArgumentException("unknown stop mode '" + mode + "'");
        };
    }

    /** The first offset whose timestamp is at or after a time, else the end. */
    private Map<TopicPartition, Long> at(Map<String, String> position) {
        long millis = Long.parseLong(need(position, "timestamp"));
        if (millis < 0) {
            throw new IllegalArgumentException("no record has the negative timestamp " + millis);
        }
        Map<TopicPartition, Long> found = cluster.offsets(partitions, OffsetSpec.forTimestamp(millis));
        return each(p -> found.get(p) >= 0 ? found.get(p) : end().get(p));
    }

    private Map<TopicPartition, Long> committed(Map<String, String> position, String reset, String help) {
        String group = need(position, "group");
        Map<TopicPartition, Long> committed = cluster.committed(group);
        return each(p -> {
            Long found = committed.getOrDefault(p, RESETS.get(reset));
            if (found == null) {
                throw new IllegalStateException("the group '" + group + "' has committed no offset for partition "
                    + p.partition() + " of topic '" + p.topic() + "'" + help);
            }
            return found;
        });
    }

    /**
     * Given offsets; a partition that is not listed starts where its group stands, else at the beginning. An offset
     * that the topic does not hold (any more) means the beginning too, unless the read ends before it anyway.
     */
    private Map<TopicPartition, Long> specificStarts() {
        Map<Integer, Long> given = specific(start);
        String group = start.getOrDefault("group", "");
        Map<TopicPartition, Long> committed = group.isEmpty() ? Map.of() : cluster.committed(group);
        boolean bounded = !stop.getOrDefault("mode", "unbounded").equals("unbounded");
        Map<TopicPartition, Long> low = begin(), high = end();
        return each(p -> {
            long stands = committed.getOrDefault(p, EARLIEST), offset = given.getOrDefault(p.partition(), stands);
            if (offset == COMMITTED) {
                return stands;
            }
            if (offset == EARLIEST || offset == LATEST) {
                return offset;
            }
            if (offset > high.get(p) && bounded) {
                return high.get(p);
            }
            return low.get(p) <= offset && offset <= high.get(p) ? offset : EARLIEST;
        });
    }

    /** Given offsets; -1 stands for the end and -3 for where the group stands, as in Flink's own numbers. */
    private Map<TopicPartition, Long> specificStops() {
        Map<Integer, Long> given = specific(stop);
        String group = stop.getOrDefault("group", "");
        boolean asks = given.containsValue(COMMITTED) && !group.isEmpty();
        Map<TopicPartition, Long> committed = asks ? cluster.committed(group) : Map.of(), stops = new HashMap<>();
        for (TopicPartition p : partitions) {
            Long offset = given.get(p.partition());
            if (offset == null) {
                continue;
            }
            long found = offset == LATEST ? end().get(p)
                : offset == COMMITTED ? committed.getOrDefault(p, offset) : offset;
            if (found < 0) {
                throw new IllegalStateException("there is no stop offset " + offset + " for partition " + p.partition()
                    + " of topic '" + p.topic() + "': give an offset of 0 or more; -1 stands for the end");
            }
            stops.put(p, found);
        }
        return stops;
    }

    private Map<TopicPartition, Long> each(ToLongFunction<TopicPartition> place) {
        Map<TopicPartition, Long> out = new HashMap<>();
        partitions.forEach(p -> out.put(p, place.applyAsLong(p)));
        return out;
    }

    private static Map<Integer, Long> specific(Map<String, String> position) {
        Map<Integer, Long> out = new HashMap<>();
        for (String item : need(position, "offsets").split(";")) {
            if (!item.isEmpty()) {
                String[] pair = item.replace("partition:", "").replace("offset:", "").split(",");
                out.put(Integer.valueOf(pair[0]), Long.valueOf(pair[1]));
            }
        }
        return out;
    }

    private static String need(Map<String, String> position, String key) {
        String value = position.get(key);
        if (value == null) {
            throw new IllegalArgumentException("the position '" + position.get("mode") + "' has no '" + key + "'");
        }
        return value;
    }

    /** An object of JSON; an empty one for no text. */
    private static <T> T read(String text, TypeReference<T> type) {
        try {
            return JSON.readValue(text == null || text.isBlank() ? "{}" : text, type);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("an option of the Kafka source is no JSON as it should be: " + text, e);
        }
    }

    private static String json(Map<TopicPartition, Long> offsets) {
        Map<String, Map<Integer, Long>> topics = new TreeMap<>();
        offsets.forEach((p, at) -> topics.computeIfAbsent(p.topic(), t -> new TreeMap<>()).put(p.partition(), at));
        return write(topics);
    }

    private static String write(Object value) {
        try {
            return JSON.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a Kafka source asks its cluster. Its errors name no property but the bootstrap servers. */
    private static final class Cluster implements AutoCloseable {
        private static final String PREFIX = "kafka.", REQUEST = "request.timeout.ms", CALL = "default.api.timeout.ms";
        private static final String PATIENCE = "15000";

        final String servers;
        private final long millis;
        private final ListOffsetsOptions isolation;
        private final Admin admin;

        Cluster(CaseInsensitiveStringMap options) {
            Map<String, Object> config = new HashMap<>();
            options.forEach((key, value) -> {
                String name = key.startsWith(PREFIX) ? key.substring(PREFIX.length()) : "";
                // a consumer's properties would be warned of; those of a security plug-in have names that nobody lists
                if (AdminClientConfig.configNames().contains(name) || name.matches("(security|sasl|ssl)\\..*")) {
                    config.put(name, value);
                }
            });
            servers = options.getOrDefault(PREFIX + "bootstrap.servers", "");
            millis = Long.parseLong((String) config.getOrDefault(CALL, config.getOrDefault(REQUEST, PATIENCE)));
            config.put(CALL, String.valueOf(millis));
            config.put(REQUEST, String.valueOf(Math.min(millis, options.getLong(PREFIX + REQUEST, millis))));
            // a reader of committed records never gets to the end of an open transaction
            boolean committed = options.getOrDefault(PREFIX + "isolation.level", "").equals("read_committed");
            isolation = new ListOffsetsOptions(
                committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED);
            admin = open(config);
        }

        /** The cause is not kept: it may quote a piece of a login that is not written as it should be. */
        private Admin open(Map<String, Object> config) {
            try {
                return Admin.create(config);
            } catch (KafkaException e) {
                Throwable cause = e;
                while (cause.getCause() != null && !(cause instanceof ConfigException)) {
                    cause = cause.getCause();
                }
                throw new IllegalStateException("the properties of the Kafka client are wrong (bootstrap servers "
                    + servers + "): "
                    + (cause instanceof ConfigException ? cause.getMessage() : cause.getClass().getSimpleName()));
            }
        }

        @Override public void close() { admin.close(Duration.ZERO); }

        /** The topics whose whole name matches, as Spark's source takes them: internal ones left out. */
        List<String> matching(Pattern pattern) {
            return ask(admin.listTopics().names()).stream().filter(t -> pattern.matcher(t).matches()).sorted().toList();
        }

        List<TopicPartition> partitions(Collection<String> topics) {
            Map<String, KafkaFuture<TopicDescription>> answers = admin.describeTopics(topics).topicNameValues();
            List<TopicPartition> found = new ArrayList<>();
            for (String topic : topics) {
                ask(answers.get(topic), topic).partitions()
                    .forEach(p -> found.add(new TopicPartition(topic, p.partition())));
            }
            return found;
        }

        /** One offset of each partition; -1 where no record is as late as a time that is asked for. */
        Map<TopicPartition, Long> offsets(List<TopicPartition> partitions, OffsetSpec spec) {
            Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
            partitions.forEach(p -> wanted.put(p, spec));
            Map<TopicPartition, Long> found = new HashMap<>();
            ask(admin.listOffsets(wanted, isolation).all()).forEach((p, answer) -> found.put(p, answer.offset()));
            return found;
        }

        /** The offsets that a group has committed; partitions without one are left out. */
        Map<TopicPartition, Long> committed(String group) {
            Map<TopicPartition, Long> found = new HashMap<>();
            ask(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).forEach((p, place) -> {
                if (place != null && place.offset() >= 0) {
                    found.put(p, place.offset());
                }
            });
            return found;
        }

        private <T> T ask(KafkaFuture<T> answer) { return ask(answer, ""); }

        private <T> T ask(KafkaFuture<T> answer, String topic) {
            try {
                return answer.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new UncheckedIOException(new InterruptedIOException()); // so that Spark knows a stopped query
            } catch (ExecutionException e) {
                Throwable cause = e.getCause();
                String where = " (bootstrap servers " + servers + ")";
                if (cause instanceof UnknownTopicOrPartitionException && !topic.isEmpty()) {
                    throw new IllegalStateException("topic '" + topic + "' does not exist" + where, cause);
                }
                if (cause instanceof TimeoutException) {
                    throw new IllegalStateException("the bootstrap servers " + servers + " were not reached within "
                        + (millis + 999) / 1000 + " s: " + cause.getMessage(), cause);
                }
                throw new IllegalStateException("Kafka refused: " + cause.getMessage() + where, cause);
            }
        }
    }
}
