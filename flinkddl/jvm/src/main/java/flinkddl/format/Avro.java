package flinkddl.format;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.ResolvingDecoder;
import org.apache.spark.sql.catalyst.InternalRow;

/** The formats {@code avro}, and with a registry {@code avro-confluent} and {@code debezium-avro-confluent}. */
final class Avro extends Codec {
    /** The column {@code op} and the rows around it, as debezium-avro-confluent has them. */
    private final FType type;
    private final Schema schema;
    private final boolean json;
    private final Registry registry;
    private final boolean spare;
    private final Cdc cdc;
    private final GenericDatumReader<GenericRecord> reader;
    private final Map<Integer, GenericDatumReader<GenericRecord>> byWriter = new HashMap<>();
    private final GenericDatumWriter<GenericRecord> writer;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private BinaryEncoder encoder;
    private int writerId = -1;

    Avro(Spec spec) {
        cdc = spec.format == Format.DEBEZIUM_AVRO_CONFLUENT ? new Cdc(spec) : null;
        type = cdc == null ? spec.type : cdc.envelope();
        boolean legacy = spec.format.registered() || !"false".equals(spec.option("timestamp_mapping.legacy", "true"));
        String given = spec.option("schema", null);
        schema = given != null ? new Schema.Parser().parse(given)
            : AvroData.schema(type.withNullable(cdc != null), AvroData.TOP, legacy);
        json = "json".equals(spec.option("encoding", "binary"));
        registry = spec.format.registered() ? new Registry(spec) : null;
        spare = type.holes() && given == null && !json;
        reader = reader(schema);
        writer = new GenericDatumWriter<>(schema);
    }

    private GenericDatumReader<GenericRecord> reader(Schema writer) {
        return new GenericDatumReader<>(writer, spare ? AvroData.spare(type, schema, writer) : schema);
    }

    @Override void decode(byte[] message, List<InternalRow> rows) throws IOException {
        if (message == null) {
            return;
        }
        InternalRow row;
        try {
            row = AvroData.row(read(message), type);
            if (cdc == null) {
                rows.add(row);
            } else {
                cdc.emit(row, rows);
            }
        } catch (IOException | RuntimeException e) {
            throw new IOException(
                (cdc == null ? "Failed to deserialize Avro record." : "Can't deserialize Debezium Avro message.")
                    + (writerId < 0 ? "" : " Its writer's schema has the id " + writerId + " in the registry."), e);
        }
    }

    private GenericRecord read(byte[] message) throws IOException {
        writerId = -1;
        if (registry == null) {
            String text = json ? new String(message, StandardCharsets.UTF_8) : null;
            return read(reader,
                () -> json ? DecoderFactory.get().jsonDecoder(schema, text) : new AvroInput(message, 0, spare));
        }
        if (message.length == 0) {
            throw new EOFException();
        }
        if (message[0] != 0) {
            throw new IOException("Unknown data format. Magic number does not match");
        }
        if (message.length < 5) {
            throw new EOFException();
        }
        writerId = ByteBuffer.wrap(message, 1, 4).getInt();
        GenericDatumReader<GenericRecord> r = byWriter.get(writerId);
        if (r == null) {
            r = reader(registry.byId(writerId));
            byWriter.put(writerId, r);
        }
        return read(r, () -> new AvroInput(message, 5, spare));
    }

    private static GenericRecord read(GenericDatumReader<GenericRecord> r, Input in) throws IOException {
        try {
            return r.read(null, in.open());
        } catch (IOException | RuntimeException e) {
            new Slow(r.getSchema(), r.getExpected()).read(null, in.open());
            throw e;
        }
    }

    private interface Input {
        Decoder open() throws IOException;
    }

    /** Avro's reader field by field, which knows where it stands when it fails; for a message that has failed. */
    private static final class Slow extends GenericDatumReader<GenericRecord> {
        Slow(Schema writer, Schema reader) { super(writer, reader, new GenericData().setFastReaderEnabled(false)); }

        @Override protected void readField(Object r, Schema.Field f, Object old, ResolvingDecoder in, Object state)
            throws IOException {
            try {
                super.readField(r, f, old, in, state);
            } catch (IOException | RuntimeException e) {
                throw new IOException("Fail to deserialize at field: " + f.name() + ".", e);
            }
        }
    }

    @Override byte[] encode(InternalRow row) throws IOException {
        out.reset();
        try {
            if (registry != null) {
                out.write(ByteBuffer.allocate(5).putInt(1, registry.idOf(schema)).array());
            }
            InternalRow envelope = cdc == null ? row : cdc.wrap(row);
            GenericData.Record datum = AvroData.record(envelope, type, schema);
            Encoder to = json ? EncoderFactory.get().jsonEncoder(schema, out)
                : (encoder = EncoderFactory.get().binaryEncoder(out, encoder));
            writer.write(datum, to);
            to.flush();
        } catch (AvroRuntimeException | NullPointerException e) {
            throw new IOException("Failed to serialize row.", e);
        }
        return out.toByteArray();
    }
}
