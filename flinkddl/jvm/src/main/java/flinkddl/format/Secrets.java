package flinkddl.format;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Settings of a session that hold secrets. Spark writes a session's settings into its event log as they are, with each
 * job; those of the application ({@code SparkConf}) it redacts there. So a value travels sealed, under a key that is a
 * setting of the application. The text is {@code sealed:} and in hexadecimal a nonce, a tag and the sealed bytes:
 * HMAC-SHA256 in counter mode, then authenticated (flinkddl/spark/sealing.py writes it).
 */
final class Secrets {
    static final String KEY = "spark.flinkddl.secret.key";
    private static final String SEALED = "sealed:";
    private static final int NONCE = 16;
    private static final int BLOCK = 32;

    private Secrets() { }

    static String of(String setting) {
        String value = SQLConf.get().getConfString(setting);
        return value.startsWith(SEALED) ? open(value.substring(SEALED.length()), SparkEnv.get().conf().get(KEY)) : value;
    }

    static String open(String text, String key) {
        byte[] all = HexFormat.of().parseHex(text);
        byte[] nonce = Arrays.copyOf(all, NONCE);
        byte[] tag = Arrays.copyOfRange(all, NONCE, NONCE + BLOCK);
        byte[] bytes = Arrays.copyOfRange(all, NONCE + BLOCK, all.length);
        if (!Arrays.equals(tag, hmac(key, "tag", nonce, bytes))) {
            throw new IllegalStateException("a secret was sealed under another '" + KEY + "'");
        }
        for (int i = 0; i < bytes.length; i += BLOCK) {
            byte[] block = hmac(key, "block " + i / BLOCK, nonce, new byte[0]);
            for (int j = i; j < Math.min(bytes.length, i + BLOCK); j++) {
                bytes[j] ^= block[j - i];
            }
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] hmac(String key, String what, byte[] nonce, byte[] rest) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update(what.getBytes(StandardCharsets.UTF_8));
            mac.update(nonce);
            return mac.doFinal(rest);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
