package flinkddl.state;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's file system of this machine, with the same files in it, that starts no process.
 *
 * <p>Without its native library Hadoop runs {@code chmod} for each file and folder it makes and {@code readlink} for
 * each file it renames: some fifty processes a micro-batch. {@code java.nio} does the same in the process. Spark takes
 * it as {@code fs.file.impl}, and {@link Context} as {@code fs.AbstractFileSystem.file.impl}.
 */
public final class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    /** The same for Hadoop's FileContext, by which Spark writes checkpoints. */
    public static final class Context extends ChecksumFs {
        public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(new Delegate(uri, conf));
        }
    }

    private static final class Delegate extends DelegateToFileSystem {
        Delegate(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(uri, new Raw(), conf, "file", false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1; // "file" has none
        }

        @Override
        public boolean isValidName(String name) {
            return true; // what a name may be is the local file system's business, as in Hadoop's RawLocalFs
        }
    }

    private static final class Raw extends RawLocalFileSystem {
        private static final PosixFilePermission[] FROM_OTHERS_EXECUTE = {
            PosixFilePermission.OTHERS_EXECUTE, PosixFilePermission.OTHERS_WRITE, PosixFilePermission.OTHERS_READ,
            PosixFilePermission.GROUP_EXECUTE, PosixFilePermission.GROUP_WRITE, PosixFilePermission.GROUP_READ,
            PosixFilePermission.OWNER_EXECUTE, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_READ,
        };

        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            if (permission.getStickyBit()) {
                super.setPermission(path, permission); // java.nio has no word for it
                return;
            }
            Set<PosixFilePermission> allowed = EnumSet.noneOf(PosixFilePermission.class);
            for (int bit = 0; bit < FROM_OTHERS_EXECUTE.length; bit++) {
                if ((permission.toShort() & 1 << bit) != 0) allowed.add(FROM_OTHERS_EXECUTE[bit]);
            }
            try {
                Files.setPosixFilePermissions(pathToFile(path).toPath(), allowed);
            } catch (UnsupportedOperationException notPosix) {
                super.setPermission(path, permission);
            }
        }

        @Override
        public FileStatus getFileLinkStatus(Path path) throws IOException {
            return Files.isSymbolicLink(pathToFile(path).toPath()) ? super.getFileLinkStatus(path) : getFileStatus(path);
        }
    }
}
