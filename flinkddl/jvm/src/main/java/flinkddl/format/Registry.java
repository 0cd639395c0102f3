package flinkddl.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.apache.avro.Schema;

/** A client of Confluent's schema registry: schemas by id, ids of schemas by subject; each asked for once. */
final class Registry {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TYPE = "application/vnd.schemaregistry.v1+json";

    private final String[] urls;
    private final String subject;
    private final String authorization;
    private final HttpClient http;
    private final Map<Integer, Schema> schemas = new ConcurrentHashMap<>();
    private final Map<Schema, Integer> ids = new ConcurrentHashMap<>();

    Registry(Spec spec) {
        urls = spec.option("url", "").split(",");
        subject = spec.option("subject", "");
        authorization = authorization(spec);
        HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(30));
        SSLContext tls = tls(spec);
        http = (tls == null ? builder : builder.sslContext(tls)).build();
    }

    private static String authorization(Spec spec) {
        String token = spec.option("bearer-auth.token", spec.option("properties.bearer.auth.token", null));
        String user = spec.option("basic-auth.user-info", spec.option("properties.basic.auth.user.info", null));
        String source = spec.option("basic-auth.credentials-source", "");
        if (token != null) {
            return "Bearer " + token;
        }
        if (source.equals("URL") || user == null) {
            user = uri(spec.option("url", "").split(",")[0].trim()).getUserInfo();
        }
        return user == null ? null : "Basic " + Base64.getEncoder().encodeToString(user.getBytes(StandardCharsets.UTF_8));
    }

    private static SSLContext tls(Spec spec) {
        String keys = spec.option("ssl.keystore.location", null);
        String trusted = spec.option("ssl.truststore.location", null);
        if (keys == null && trusted == null) {
            return null;
        }
        try {
            KeyManagerFactory k = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            char[] password = spec.option("ssl.keystore.password", "").toCharArray();
            k.init(keys == null ? null : store(keys, password), password);
            TrustManagerFactory t = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            t.init(trusted == null ? null : store(trusted, spec.option("ssl.truststore.password", "").toCharArray()));
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(k.getKeyManagers(), t.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalArgumentException("cannot read the key or trust store of the schema registry", e);
        }
    }

    private static KeyStore store(String path, char[] password) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(path.endsWith(".p12") || path.endsWith(".pfx") ? "PKCS12" : "JKS");
        try (InputStream in = new FileInputStream(path)) {
            store.load(in, password);
        }
        return store;
    }

    /** Java's own message quotes the address, in which a password may stand. */
    private static URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("the address of the schema registry is no URL: " + e.getReason());
        }
    }

    /** The writer's schema. */
    Schema byId(int id) throws IOException {
        Schema known = schemas.get(id);
        if (known == null) {
            try {
                known = new Schema.Parser().parse(call("/schemas/ids/" + id, null).path("schema").asText());
            } catch (IOException e) {
                throw new IOException("Could not find schema with id " + id + " in registry", e);
            }
            schemas.put(id, known);
        }
        return known;
    }

    /** The id of our own schema, registered under the subject where it is new. */
    int idOf(Schema schema) throws IOException {
        Integer known = ids.get(schema);
        if (known == null) {
            String path = "/subjects/" + URLEncoder.encode(subject, StandardCharsets.UTF_8) + "/versions";
            String body = JSON.writeValueAsString(Map.of("schema", schema.toString()));
            try {
                known = call(path, body).path("id").asInt();
            } catch (IOException e) {
                throw new IOException("Could not register schema in registry under subject '" + subject + "'", e);
            }
            ids.put(schema, known);
        }
        return known;
    }

    /** Asks each address in turn; an answer that is not 2xx is final, an address out of reach is not. */
    private JsonNode call(String path, String body) throws IOException {
        IOException failed = null;
        for (String url : urls) {
            String base = url.trim().replaceFirst("//[^/@]*@", "//").replaceFirst("/+$", "");
            HttpRequest.Builder request = HttpRequest.newBuilder(uri(base + path)).timeout(Duration.ofSeconds(60))
                .header("Accept", TYPE).header("Content-Type", TYPE);
            if (authorization != null) {
                request.header("Authorization", authorization);
            }
            request.method(body == null ? "GET" : "POST", body == null ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofString(body));
            try {
                HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() / 100 != 2) {
                    throw new IllegalStateException("schema registry answered " + answer.statusCode() + ": " + answer.body());
                }
                return JSON.readTree(answer.body());
            } catch (IllegalStateException e) {
                throw new IOException(e.getMessage());
            } catch (IOException e) {
                failed = new IOException("schema registry at " + base + " is out of reach: " + e, e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException(e);
            }
        }
        throw failed;
    }
}
