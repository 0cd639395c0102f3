package flinkddl;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.Collections;

/**
 * Prints what a key or trust store holds as PEM, for a client that is not written in Java. The store is read as the Kafka
 * client reads it (SslFactory's FileBasedStore), by whatever security provider knows its type.
 *
 * <p>Arguments: {@code key} or {@code trust}, the store's type, its file. Standard input: the store's password and the
 * key's, each {@code +password} or {@code -} for none, parted by a NUL: command lines are public. Exit code 1 with the
 * reason on standard error.
 */
final class Stores {
    private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, new byte[] {'\n'});

    private Stores() { }

    public static void main(String[] arguments) {
        try {
            byte[] given = System.in.readAllBytes();
            String[] passwords = new String(given, StandardCharsets.UTF_8).split("\0", 2);
            char[] password = password(passwords[0]);
            char[] own = password(passwords[1]);
            KeyStore store = open(arguments[1], arguments[2], password);
            if (arguments[0].equals("trust")) {
                trusted(store, System.out);
            } else {
                key(store, own == null ? password : own, System.out);
            }
        } catch (GeneralSecurityException | IOException e) {
            System.err.println(e.getMessage() == null ? e.toString() : e.getMessage());
            System.exit(1);
        }
    }

    private static char[] password(String text) {
        return text.startsWith("+") ? text.substring(1).toCharArray() : null;
    }

    private static KeyStore open(String type, String file, char[] password)
            throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(type);
        try (InputStream in = new FileInputStream(file)) {
            store.load(in, password);
        }
        return store;
    }

    /** As in Java's PKIX trust manager: certificate entries, and of key entries the key's own certificate. */
    private static void trusted(KeyStore store, PrintStream out) throws GeneralSecurityException {
        for (String alias : Collections.list(store.aliases())) {
            Certificate found = store.getCertificate(alias);
            if (found != null) {
                pem("CERTIFICATE", found.getEncoded(), out);
            }
        }
    }

    /** The first key with its chain; a Java client with several takes the first that the broker accepts. */
    private static void key(KeyStore store, char[] password, PrintStream out) throws GeneralSecurityException {
        for (String alias : Collections.list(store.aliases())) {
            if (!store.isKeyEntry(alias) || store.getCertificateChain(alias) == null) {
                continue;
            }
            Key key = store.getKey(alias, password);
            pem("PRIVATE KEY", key.getEncoded(), out);
            for (Certificate link : store.getCertificateChain(alias)) {
                pem("CERTIFICATE", link.getEncoded(), out);
            }
            return;
        }
    }

    private static void pem(String what, byte[] bytes, PrintStream out) {
        out.print("-----BEGIN " + what + "-----\n" + LINES.encodeToString(bytes) + "\n-----END " + what + "-----\n");
    }
}
