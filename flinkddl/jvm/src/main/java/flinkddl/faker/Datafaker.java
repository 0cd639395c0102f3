package flinkddl.faker;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Random;

/**
 * Datafaker, by name: its jars come into a session with the first faker table, below the class loader that has ours. A
 * thread has one, with its caches, for all columns.
 */
final class Datafaker {
    private static final ThreadLocal<Datafaker> OWN = new ThreadLocal<>();

    final Random random = new Random();
    /** The time in ms that expressions on the clock count from. */
    long now;
    private final ClassLoader loader;
    private final Object faker;
    private final Method expression;

    private Datafaker(ClassLoader loader) throws ReflectiveOperationException {
        this.loader = loader;
        Class<?> found = Class.forName("net.datafaker.Faker", true, loader);
        faker = found.getConstructor(Random.class).newInstance(random);
        expression = found.getMethod("expression", String.class);
    }

    static Datafaker ofThread() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        Datafaker own = OWN.get();
        if (own == null || own.loader != loader) {
            try {
                own = new Datafaker(loader);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("FD478: Datafaker is not on the class path of this session", e);
            }
            OWN.set(own);
        }
        return own;
    }

    /** Begins the value of one column in one row. */
    void begin(long seed, long millis) {
        random.setSeed(seed);
        now = millis;
    }

    String text(String template) throws Throwable {
        try {
            return (String) expression.invoke(faker, template);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
