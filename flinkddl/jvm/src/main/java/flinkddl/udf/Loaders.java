package flinkddl.udf;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.spark.SparkFiles;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Class loaders of Java functions. Flink's classes are in one, and with them the part of ours that is linked against
 * them; below it each job has one of its own, in which the user's jars come first, except for what Flink itself takes
 * from above (its {@code classloader.parent-first-patterns}). The names of shipped jars hold their checksum: two versions of
 * a class do not meet, not even in one job.
 */
final class Loaders {
    private static final String LINKED = "flinkddl.udf.flink.";
    /** A setting of a job's session, of no meaning but that another job has another (runtime/session/java_jars.py). */
    private static final String JOB = "spark.flinkddl.java.job";
    /** Not scala: values that cross are never of it, and a jar for Scala 2.12 brings its own. */
    private static final String[] FROM_ABOVE = {
        "java.", "javax.annotation.", "javax.xml.", "jdk.", "sun.", "flinkddl.", "org.apache.flink.", "org.xml.", "org.w3c.",
        "org.slf4j.", "org.apache.log4j.", "org.apache.logging.", "org.apache.commons.logging.", "ch.qos.logback."};

    private static ClassLoader flink;
    private static final Map<List<String>, WeakReference<ClassLoader>> JOBS = new HashMap<>();

    private Loaders() { }

    /** Ours that is linked against Flink. */
    static Flink flink() {
        try {
            Class<?> linked = Class.forName(LINKED + "Linked", true, flinkLoader());
            return (Flink) linked.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The loader of the job at hand for the jars of a spec. */
    static synchronized ClassLoader job(JavaSpec spec) {
        List<String> key = new ArrayList<>(spec.files);
        key.add(SQLConf.get().getConfString(JOB, ""));
        WeakReference<ClassLoader> kept = JOBS.get(key);
        ClassLoader found = kept == null ? null : kept.get();
        if (found == null) {
            JOBS.values().removeIf(r -> r.get() == null);
            found = new OwnFirst(spec.files, flinkLoader(), n -> Stream.of(FROM_ABOVE).noneMatch(n::startsWith));
            JOBS.put(key, new WeakReference<>(found));
        }
        return found;
    }

    private static synchronized ClassLoader flinkLoader() {
        if (flink == null) {
            ClassLoader ours = Loaders.class.getClassLoader();
            flink = new OwnFirst(jars(ours), ours, n -> n.startsWith(LINKED) || n.startsWith("org.apache.flink."));
        }
        return flink;
    }

    /** The names of Flink's jars, as our own jar has them from the lock file (jvm/build.py). */
    private static List<String> jars(ClassLoader ours) {
        try (InputStream in = ours.getResourceAsStream("flinkddl/udf/flink-jars.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A file that came with the job. Over Connect each session has a folder of its own, which a task is not told; a name
     * says all of a jar's content, so that any folder's will do.
     */
    private static File shipped(String name) {
        File own = new File(SparkFiles.get(name));
        if (own.isFile()) {
            return own;
        }
        File[] found = new File(SparkFiles.getRootDirectory()).listFiles(f -> new File(f, name).isFile());
        if (found == null || found.length == 0) {
            throw new IllegalStateException("FD890: the jar '" + name + "' of a Java function did not come with the job");
        }
        return new File(found[0], name);
    }

    /** A loader that looks into its own jars first for the names of {@code own}, and last for the others. */
    private static final class OwnFirst extends URLClassLoader {
        private final Predicate<String> own;

        OwnFirst(List<String> files, ClassLoader parent, Predicate<String> own) {
            super(urls(files), parent);
            this.own = own;
            findResource("nothing"); // opens every jar: a session over Connect takes its files with it
        }

        private static URL[] urls(List<String> files) {
            return files.stream().map(OwnFirst::url).toArray(URL[]::new);
        }

        private static URL url(String name) {
            try {
                return shipped(name).toURI().toURL();
            } catch (MalformedURLException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> found = findLoadedClass(name);
                if (found == null && own.test(name)) {
                    try {
                        found = findClass(name);
                    } catch (ClassNotFoundException e) {
                        found = null; // the parent may have it
                    }
                }
                return found == null ? super.loadClass(name, resolve) : found;
            }
        }

        @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.startsWith(LINKED)) {
                return super.findClass(name);
            }
            try (InputStream in = Loaders.class.getClassLoader().getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        @Override public URL getResource(String name) {
            URL found = findResource(name);
            return found == null ? super.getResource(name) : found;
        }
    }
}
