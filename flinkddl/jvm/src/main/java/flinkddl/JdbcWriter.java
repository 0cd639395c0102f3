package flinkddl;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * One task's writer of a {@link JdbcSink}: a connection, and a buffer that is sent and committed when it is full.
 *
 * <p>Options: {@code url}, {@code driver} (a class), {@code connection.*} (the driver's properties), {@code buffer-rows},
 * {@code retries}; the SQL texts {@code put}, {@code delete} and, where the database has no "insert or update",
 * {@code update}, each with {@code .columns}, the columns of its parameters; {@code key.columns}; {@code time.columns}
 * (milliseconds of the day). A column {@code __deleted} says that the row's key is gone.
 */
final class JdbcWriter implements DataWriter<InternalRow> {
    private static final long PAUSE_MS = 1000;
    private static final Map<String, Integer> NULLS = Map.of("boolean", Types.BOOLEAN, "tinyint", Types.SMALLINT,
        "smallint", Types.SMALLINT, "int", Types.INTEGER, "bigint", Types.BIGINT, "float", Types.REAL, "double", Types.DOUBLE,
        "binary", Types.VARBINARY, "date", Types.DATE, "timestamp_ntz", Types.TIMESTAMP);

    private final Map<String, String> options;
    private final StructType schema;
    private final scala.Function1<Object, Object> converter;
    private final int[] keys;
    private final int[] times;
    private final int deleted;
    private final Map<Object, Object[]> held = new LinkedHashMap<>();
    private Connection connection;

    JdbcWriter(Map<String, String> options, StructType schema) {
        this.options = options;
        this.schema = schema;
        converter = CatalystTypeConverters.createToScalaConverter(schema);
        keys = places(options, "key");
        times = places(options, "time");
        deleted = schema.getFieldIndex("__deleted").isDefined() ? schema.fieldIndex("__deleted") : -1;
    }

    static int[] places(Map<String, String> options, String name) {
        return Arrays.stream(options.getOrDefault(name + ".columns", "").split(",")).filter(s -> !s.isEmpty())
            .mapToInt(Integer::parseInt).toArray();
    }

    @Override public void write(InternalRow row) {
        Row external = (Row) converter.apply(row);
        Object[] values = new Object[schema.length()];
        for (int i = 0; i < values.length; i++) {
            values[i] = external.get(i) instanceof LocalDateTime wall ? wallTime(wall) : external.get(i);
        }
        for (int i : times) {
            values[i] = values[i] == null ? null : Time.valueOf(LocalTime.ofNanoOfDay((Integer) values[i] * 1_000_000L));
        }
        // the last row of a key counts
        held.put(keys.length == 0 ? held.size() : Arrays.stream(keys).mapToObj(k -> comparable(values[k])).toList(), values);
        if (held.size() == Integer.parseInt(options.get("buffer-rows"))) {
            send();
        }
    }

    private static Object comparable(Object value) { return value instanceof byte[] b ? ByteBuffer.wrap(b) : value; }

    private static Timestamp wallTime(LocalDateTime wall) {
        Timestamp stamp = Timestamp.valueOf(wall);
        if (!stamp.toLocalDateTime().equals(wall)) {
            throw new IllegalStateException("the time " + wall + " does not exist in Java's zone; use -Duser.timezone=UTC");
        }
        return stamp;
    }

    /** Sends what is held; a failed attempt is rolled back and made again over a new connection. */
    private void send() {
        int retries = Integer.parseInt(options.get("retries"));
        for (int attempt = 0; !held.isEmpty(); attempt++) {
            try {
                if (connection == null) {
                    connection = connect();
                }
                sendOnce();
                connection.commit();
                held.clear();
            } catch (SQLException e) {
                close();
                if (attempt >= retries) {
                    Exception cause = e.getNextException() == null ? e : e.getNextException();
                    throw new IllegalStateException("rows were not written to the database: " + cause.getMessage(), e);
                }
                pause(PAUSE_MS * (attempt + 1));
            }
        }
    }

    /** Opens a connection by the driver's class: DriverManager does not see the jars that Spark was given. */
    private Connection connect() throws SQLException {
        Properties properties = new Properties();
        options.forEach((key, value) -> {
            if (key.startsWith("connection.")) {
                properties.setProperty(key.substring("connection.".length()), value);
            }
        });
        String name = options.get("driver");
        try {
            Class<?> driver = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
            Connection made = ((Driver) driver.getDeclaredConstructor().newInstance()).connect(options.get("url"), properties);
            if (made == null) {
                throw new SQLException("the JDBC driver '" + name + "' does not take this url");
            }
            made.setAutoCommit(false);
            return made;
        } catch (ReflectiveOperationException e) {
            throw new SQLException("the JDBC driver '" + name + "' is not on the class path", e);
        } catch (SQLException e) {
            throw withoutSecrets(e);
        }
    }

    /** Drivers quote the address, in which a password may stand; what a task throws goes into the event log. */
    private SQLException withoutSecrets(SQLException e) {
        String message = String.valueOf(e.getMessage());
        String shown = message.replace(options.get("url"), "the url");
        for (Map.Entry<String, String> option : options.entrySet()) {
            if (option.getKey().toLowerCase(Locale.ROOT).contains("password") && option.getValue().length() > 2) {
                shown = shown.replace(option.getValue(), "******");
            }
        }
        return shown.equals(message) ? e : new SQLException(shown, e.getSQLState(), e.getErrorCode());
    }

    /** The statements of the options, by their names in lower case. */
    private enum Change { PUT, UPDATE, DELETE }

    private void sendOnce() throws SQLException {
        List<Object[]> gone = held.values().stream().filter(r -> deleted >= 0 && (Boolean) r[deleted]).toList();
        List<Object[]> put = held.values().stream().filter(r -> deleted < 0 || !(Boolean) r[deleted]).toList();
        run(Change.DELETE, gone);
        run(Change.PUT, options.containsKey("update") ? run(Change.UPDATE, put) : put);
    }

    /** Runs a statement for each row; returns the rows for which an update found none to change. */
    private List<Object[]> run(Change change, List<Object[]> rows) throws SQLException {
        List<Object[]> missed = new ArrayList<>();
        if (rows.isEmpty()) {
            return missed;
        }
        String name = change.name().toLowerCase(Locale.ROOT);
        int[] places = places(options, name);
        try (PreparedStatement statement = connection.prepareStatement(options.get(name))) {
            for (Object[] row : rows) {
                bind(statement, row, places);
                if (change != Change.UPDATE) {
                    statement.addBatch();
                } else if (statement.executeUpdate() == 0) {
                    missed.add(row);
                }
            }
            if (change != Change.UPDATE) {
                statement.executeBatch();
            }
        }
        return missed;
    }

    private void bind(PreparedStatement statement, Object[] row, int[] places) throws SQLException {
        for (int n = 1; n <= places.length; n++) {
            Object value = row[places[n - 1]];
            if (value == null) {
                statement.setNull(n, nullType(places[n - 1]));
            } else {
                statement.setObject(n, value instanceof Byte b ? (Object) b.shortValue() : value);
            }
        }
    }

    private int nullType(int column) {
        String type = schema.fields()[column].dataType().catalogString();
        return Arrays.stream(times).anyMatch(t -> t == column) ? Types.TIME
            : NULLS.getOrDefault(type, type.startsWith("decimal") ? Types.DECIMAL : Types.VARCHAR);
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    @Override public WriterCommitMessage commit() {
        send();
        return new Done();
    }

    private record Done() implements WriterCommitMessage { }

    @Override public void abort() { close(); }

    @Override public void close() {
        try (Connection open = connection) {
            if (open != null) {
                open.rollback();
            }
        } catch (SQLException e) {
            // it is broken already; what failed before is the reason
        }
        connection = null;
    }
}
