package flinkddl.format;

import java.util.Locale;
import java.util.function.Function;

/** The formats: an option's value is the name in lower case with hyphens. */
enum Format {
    JSON(Json::new), CSV(Csv::new), RAW(Raw::new), AVRO(Avro::new), AVRO_CONFLUENT(Avro::new), DEBEZIUM_AVRO_CONFLUENT(Avro::new),
    DEBEZIUM_JSON(Cdc::new), CANAL_JSON(Cdc::new), MAXWELL_JSON(Cdc::new), OGG_JSON(Cdc::new);

    final Function<Spec, Codec> codec;

    Format(Function<Spec, Codec> codec) { this.codec = codec; }

    static Format of(String name) { return valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_')); }

    /** Whether its schemas are those of a registry. */
    boolean registered() { return this == AVRO_CONFLUENT || this == DEBEZIUM_AVRO_CONFLUENT; }
}
