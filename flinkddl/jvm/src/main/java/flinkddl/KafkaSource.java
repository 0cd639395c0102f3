package flinkddl;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The Spark format {@code flinkddl.KafkaSource}: Spark's own Kafka source, except that it looks up where to start and
 * stop when it is read, not when the DataFrame is made. A view over it can be kept: each query and each stream that
 * reads it finds the offsets of its own time.
 *
 * <p>Options: those of Spark's source, with {@code flinkddl.start} and {@code flinkddl.stop} ({@link KafkaPositions})
 * in the place of Spark's {@code starting...} and {@code ending...} ones, which are dropped. A stream looks its start
 * up once in the life of a checkpoint; it ends by its trigger, so the stop only tells it that there is one. With
 * {@code flinkddl.discovery=0} it keeps to the partitions that are there whenever it starts. With
 * {@code flinkddl.leader-epoch} it hands that over ({@link LeaderEpochs}), and without a start reads from where Spark's
 * own options say.
 *
 * <p>Spark's connector is loaded by name: whoever compiles this needs none, and over Spark Connect, where this class
 * comes out of a session's jar, it is the one on the server's class path.
 */
public final class KafkaSource implements TableProvider {
    private static final String CONNECTOR = "org.apache.spark.sql.kafka010.KafkaSourceProvider";

    private TableProvider connector;

    private synchronized TableProvider connector() {
        if (connector == null) {
            connector = load(Thread.currentThread().getContextClassLoader(), KafkaSource.class.getClassLoader());
        }
        return connector;
    }

    private static TableProvider load(ClassLoader... loaders) {
        for (ClassLoader loader : loaders) {
            try {
                return (TableProvider) Class.forName(CONNECTOR, true, loader).getDeclaredConstructor().newInstance();
            } catch (ClassNotFoundException e) {
                continue;
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(CONNECTOR, e);
            }
        }
        throw new IllegalStateException("Spark's Kafka connector (spark-sql-kafka-0-10) is not on the class path");
    }

    @Override public StructType inferSchema(CaseInsensitiveStringMap options) {
        return connector().inferSchema(with(options, Map.of()));
    }

    @Override public boolean supportsExternalMetadata() { return connector().supportsExternalMetadata(); }

    @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        CaseInsensitiveStringMap options = with(new CaseInsensitiveStringMap(properties), Map.of());
        Table table = connector().getTable(schema, partitioning, options.asCaseSensitiveMap());
        return new Topics((SupportsRead) table, "kafka " + KafkaPositions.wanted(options));
    }

    /** What Spark's source is told: no option of ours, no position but these, and one way to name partitions. */
    private static CaseInsensitiveStringMap with(CaseInsensitiveStringMap options, Map<String, String> positions) {
        Map<String, String> told = new HashMap<>(options.asCaseSensitiveMap());
        String positioned = late(options) ? "|(starting|ending)(offsets|timestamp|offsetsbytimestamp)" : "";
        told.keySet().removeIf(key -> key.toLowerCase(Locale.ROOT).matches("flinkddl\\..*" + positioned));
        if (positions.containsKey(KafkaPositions.ASSIGN)) {
            told.keySet().removeIf(key -> key.toLowerCase(Locale.ROOT).startsWith("subscribe"));
        }
        told.putAll(positions);
        return new CaseInsensitiveStringMap(told);
    }

    private static boolean late(CaseInsensitiveStringMap options) {
        return options.containsKey(KafkaPositions.START) || !options.containsKey(LeaderEpochs.OPTION);
    }

    private record Topics(SupportsRead delegate, String name) implements SupportsRead {
        @Override public String toString() { return name; }

        @Override public Column[] columns() { return delegate.columns(); }

        @Override public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
        }

        @Override public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new Late(delegate, options);
        }
    }

    /** No record: its options may hold a password. */
    private static final class Late implements Scan {
        private final SupportsRead table;
        private final CaseInsensitiveStringMap options;
        private final Scan plain;
        private final boolean late;
        private final boolean epochs;
        private Batch batch;

        Late(SupportsRead table, CaseInsensitiveStringMap options) {
            this.table = table;
            this.options = options;
            late = late(options);
            epochs = options.getBoolean(LeaderEpochs.OPTION, false);
            plain = scan(Map.of());
        }

        private Scan scan(Map<String, String> positions) {
            return table.newScanBuilder(with(options, positions)).build();
        }

        @Override public StructType readSchema() { return plain.readSchema(); }

        @Override public String description() { return plain.description(); }

        @Override public CustomMetric[] supportedCustomMetrics() { return plain.supportedCustomMetrics(); }

        @Override public CustomTaskMetric[] reportDriverMetrics() { return plain.reportDriverMetrics(); }

        @Override public ColumnarSupportMode columnarSupportMode() { return plain.columnarSupportMode(); }

        /** Each copy of a plan asks for it, also just to be compared; as a scan belongs to one plan, once is enough. */
        @Override public synchronized Batch toBatch() {
            if (batch == null) {
                Batch found = scan(late ? KafkaPositions.ofBatch(options) : Map.of()).toBatch();
                batch = epochs ? LeaderEpochs.told(found) : found;
            }
            return batch;
        }

        /** The connector's own stream, since Spark asks its class what it can do. */
        @Override public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            MicroBatchStream stream = scan(late ? positions(checkpointLocation) : Map.of())
                .toMicroBatchStream(checkpointLocation);
            return epochs ? LeaderEpochs.told(stream) : stream;
        }

        private Map<String, String> positions(String checkpointLocation) {
            Map<String, String> told = new HashMap<>();
            if ("0".equals(options.get(KafkaPositions.DISCOVERY))) {
                told.putAll(KafkaPositions.assigned(options));
            }
            Map<String, String> read = new HashMap<>(options.asCaseSensitiveMap());
            read.putAll(told);
            told.putAll(started(checkpointLocation) ? Map.of(KafkaPositions.STARTING, "earliest")
                : KafkaPositions.ofStream(new CaseInsensitiveStringMap(read)));
            return told;
        }

        /** Whether the stream has noted its first offsets below its checkpoint; after that it asks for no start. */
        private static boolean started(String checkpointLocation) {
            try {
                Path first = new Path(new Path(checkpointLocation), "0");
                return first.getFileSystem(SparkSession.active().sessionState().newHadoopConf()).exists(first);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
