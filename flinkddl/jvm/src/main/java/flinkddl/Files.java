package flinkddl;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The Spark format {@code flinkddl.Files}: one operation on a small file, done by the driver with the file systems and the
 * settings that Spark opens a checkpoint with (the session's Hadoop configuration). Reading it is doing it; no task runs,
 * for the scan is a {@link LocalScan}. The one way to these file systems that Python has over Spark Connect too.
 *
 * <p>Options: {@code op} = resolve, make, list, read, write, create, move or remove; {@code at}, a path or URI; {@code text} to
 * write, or {@code to} for move. The one column {@code value} has one row, but a row a name for list and none for what is
 * not there.
 *
 * <p>write replaces a file whole, create leaves one that is there and says so: its row is {@code true} or {@code false}.
 * Both are atomic where the file system can do it. Where it renames, by a rename; local, by a hard link, which fails where
 * there is a file. An object store has no rename but puts a file whole, and create asks it to put only what is not there
 * (If-None-Match: S3A does since Hadoop 3.4.2, older versions look and then put, which two at once may both pass).
 */
public final class Files implements TableProvider {
    private static final StructType SCHEMA = new StructType().add("value", DataTypes.StringType);
    private static final Set<String> OBJECT_STORES = Set.of("s3a", "s3", "s3n", "gs", "oss", "obs", "cosn", "wasb", "wasbs");

    @Override public StructType inferSchema(CaseInsensitiveStringMap options) { return SCHEMA; }

    @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Operation();
    }

    private enum Op { RESOLVE, MAKE, LIST, READ, WRITE, CREATE, MOVE, REMOVE }

    private static final class Operation implements SupportsRead {
        @Override public String name() { return "flinkddl.Files"; }

        @Override @SuppressWarnings("deprecation") public StructType schema() { return SCHEMA; }

        @Override public Set<TableCapability> capabilities() { return Set.of(TableCapability.BATCH_READ); }

        @Override public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { return () -> new Rows(options); }
    }

    /** Its rows are kept, as Spark may ask for them twice. */
    private static final class Rows implements LocalScan {
        private final CaseInsensitiveStringMap options;
        private InternalRow[] rows;

        Rows(CaseInsensitiveStringMap options) { this.options = options; }

        @Override public StructType readSchema() { return SCHEMA; }

        @Override public synchronized InternalRow[] rows() {
            try {
                rows = rows != null ? rows : new Store(options).run(options).stream()
                    .map(text -> new GenericInternalRow(new Object[] {UTF8String.fromString(text)})).toArray(InternalRow[]::new);
                return rows;
            } catch (IOException e) {
                throw new IllegalStateException(e.getClass().getSimpleName() + ": " + e.getMessage(), e);
            }
        }
    }

    /** A path, the file system that it lies in, and where that really keeps it: viewfs shows folders of others. */
    private static final class Store {
        private final Configuration conf = SparkSession.active().sessionState().newHadoopConf();
        private final Path path;
        private final FileSystem files;
        private final Path real;

        Store(CaseInsensitiveStringMap options) throws IOException {
            Path at = new Path(options.get("at"));
            files = at.getFileSystem(conf);
            path = files.makeQualified(at);
            if (options.containsKey("text")) {
                files.mkdirs(path.getParent()); // what is not there does not say where it would really lie
            }
            real = resolved(path);
        }

        List<String> run(CaseInsensitiveStringMap options) throws IOException {
            Op op = Op.valueOf(options.get("op").toUpperCase(Locale.ROOT));
            return switch (op) {
                case RESOLVE -> List.of(path.toString());
                case MAKE -> done(files.mkdirs(path), op);
                case LIST -> names();
                case READ -> read();
                case WRITE, CREATE -> write(options.get("text").getBytes(StandardCharsets.UTF_8), op == Op.WRITE);
                case MOVE -> done(files.rename(path, new Path(options.get("to"))), op);
                case REMOVE -> done(files.delete(path, true) || !files.exists(path), op);
            };
        }

        private List<String> done(boolean done, Op op) throws IOException {
            if (!done) {
                throw new IOException("the file system did not " + op.name().toLowerCase(Locale.ROOT) + " '" + path + "'");
            }
            return List.of("true");
        }

        /** Resolves the nearest folder that is there, and appends the rest. */
        private Path resolved(Path p) throws IOException {
            try {
                return files.resolvePath(p);
            } catch (FileNotFoundException e) {
                return p.getParent() == null ? p : new Path(resolved(p.getParent()), p.getName());
            }
        }

        private boolean local() { return "file".equals(real.toUri().getScheme()); }

        private java.nio.file.Path nio() { return java.nio.file.Path.of(real.toUri().getPath()); }

        private List<String> names() throws IOException {
            try {
                return Arrays.stream(files.listStatus(path)).map(status -> status.getPath().getName()).toList();
            } catch (FileNotFoundException e) {
                return List.of();
            }
        }

        private List<String> read() throws IOException {
            try (InputStream in = local() ? java.nio.file.Files.newInputStream(nio()) : files.open(path)) {
                return List.of(new String(in.readAllBytes(), StandardCharsets.UTF_8));
            } catch (FileNotFoundException | java.nio.file.NoSuchFileException e) {
                return List.of();
            }
        }

        /**
         * Local files are written past Hadoop's file system, which would keep a checksum beside each that nobody else minds.
         * A file that holds what was to be written is this call's own, sent twice.
         */
        private List<String> write(byte[] text, boolean replace) throws IOException {
            boolean store = OBJECT_STORES.contains(real.toUri().getScheme());
            boolean done = local() ? writeLocal(text, replace) : store ? put(text, replace) : rename(text, replace);
            return List.of(String.valueOf(done || read().equals(List.of(new String(text, StandardCharsets.UTF_8)))));
        }

        private Path part() { return new Path(path.getParent(), "." + path.getName() + "." + UUID.randomUUID() + ".part"); }

        private boolean writeLocal(byte[] text, boolean replace) throws IOException {
            java.nio.file.Path target = nio();
            java.nio.file.Path part = target.resolveSibling(part().getName());
            java.nio.file.Files.write(part, text);
            try {
                if (replace) {
                    java.nio.file.Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
                } else {
                    link(part, target, text);
                }
                return true;
            } catch (FileAlreadyExistsException e) {
                return false;
            } finally {
                java.nio.file.Files.deleteIfExists(part);
            }
        }

        private static void link(java.nio.file.Path part, java.nio.file.Path target, byte[] text) throws IOException {
            try {
                java.nio.file.Files.createLink(target, part);
            } catch (FileAlreadyExistsException e) {
                throw e;
            } catch (IOException | UnsupportedOperationException e) { // a file system without links
                java.nio.file.Files.write(target, text, StandardOpenOption.CREATE_NEW);
            }
        }

        private boolean put(byte[] text, boolean replace) throws IOException {
            var builder = files.createFile(path).recursive().overwrite(replace);
            if (!replace) {
                builder.opt(Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
            }
            try (OutputStream out = builder.build()) {
                out.write(text);
            } catch (IOException e) {
                if (replace || !files.exists(path)) {
                    throw e;
                }
                return false;
            }
            return true;
        }

        private boolean rename(byte[] text, boolean replace) throws IOException {
            FileContext context = FileContext.getFileContext(path.toUri(), conf);
            Path part = part();
            try (OutputStream out = context.create(part, EnumSet.of(CreateFlag.CREATE), Options.CreateOpts.createParent())) {
                out.write(text);
            }
            try {
                context.rename(part, path, replace ? Options.Rename.OVERWRITE : Options.Rename.NONE);
                return true;
            } catch (org.apache.hadoop.fs.FileAlreadyExistsException e) {
                context.delete(part, false);
                return false;
            }
        }
    }
}
