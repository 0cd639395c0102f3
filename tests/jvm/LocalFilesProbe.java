import java.net.URI;
import java.util.EnumSet;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options.CreateOpts;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** Does the same by both of Hadoop's ways to files, as Hadoop has them or by ours, and prints what each call says. */
public class LocalFilesProbe {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        if (args[0].equals("ours")) {
            conf.set("fs.file.impl", "flinkddl.state.LocalFiles");
            conf.set("fs.AbstractFileSystem.file.impl", "flinkddl.state.LocalFiles$Context");
        }
        Path folder = new Path(args[1]);
        FileSystem fs = FileSystem.get(URI.create("file:///"), conf);
        FileSystem local = FileSystem.getLocal(conf); // Spark casts it
        System.out.println(local instanceof LocalFileSystem);
        Path made = new Path(folder, "fs/a/b");
        say("mkdirs", () -> fs.mkdirs(made));
        say("mkdirs 700", () -> fs.mkdirs(new Path(folder, "fs/closed"), new FsPermission((short) 0700)));
        say("write", () -> written(fs, new Path(made, "one")));
        say("write again", () -> written(fs, new Path(made, "one")));
        say("write 600", () -> FileSystem.create(fs, new Path(made, "two"), new FsPermission((short) 0600)).getPos());
        for (short mode : new short[] {0, 0421, 0124, 0777}) {
            Path file = new Path(made, "mode" + mode);
            written(fs, file);
            fs.setPermission(file, new FsPermission(mode));
        }
        say("rename", () -> fs.rename(new Path(made, "one"), new Path(folder, "fs/one")));
        statuses(folder, p -> fs.getFileLinkStatus(p));
        say("read", () -> fs.open(new Path(folder, "fs/one")).readUTF());

        FileContext context = FileContext.getFileContext(folder.toUri(), conf);
        Path temp = new Path(folder, "context/.temp");
        Path done = new Path(folder, "context/done");
        for (int n = 0; n < 2; n++) {
            say("create", () -> {
                EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE);
                try (var out = context.create(temp, flags, CreateOpts.createParent())) {
                    out.writeUTF("rows");
                }
                return "";
            });
            say("rename over", () -> renamed(context, temp, done, Rename.OVERWRITE));
        }
        say("create", () -> {
            context.create(temp, EnumSet.of(CreateFlag.CREATE)).close();
            return "";
        });
        say("rename on", () -> renamed(context, temp, done));
        say("rename none", () -> renamed(context, new Path(folder, "context/none"), done, Rename.OVERWRITE));
        say("mkdir", () -> {
            context.mkdir(new Path(folder, "context/x/y"), new FsPermission((short) 0750), true);
            return "";
        });
        say("name", () -> context.util().exists(new Path(folder, "context/a:b")));
        say("exists", () -> context.util().exists(done));
        say("list", () -> context.util().listStatus(new Path(folder, "context")).length);
        statuses(folder, p -> context.getFileLinkStatus(p));
        say("read", () -> context.open(done).readUTF());
        say("delete", () -> context.delete(new Path(folder, "context/x"), true));
    }

    interface Asked {
        FileStatus of(Path path) throws Exception;
    }

    static void statuses(Path folder, Asked asked) {
        for (String name : new String[] {"fs/one", "fs", "link", "dangling", "folder", "none"}) {
            say("status of " + name, () -> {
                FileStatus found = asked.of(new Path(folder, name));
                String target = found.isSymlink() ? found.getSymlink().getName() : "";
                return found.getPath().getName() + " " + found.isDirectory() + " " + found.getLen() + " " + target;
            });
        }
    }

    static String renamed(FileContext context, Path from, Path to, Rename... how) throws Exception {
        context.rename(from, to, how);
        return "";
    }

    static String written(FileSystem fs, Path file) throws Exception {
        try (var out = fs.create(file, true)) {
            out.writeUTF("some rows");
        }
        return file.getName();
    }

    static void say(String what, Callable<Object> call) {
        String answer;
        try {
            answer = String.valueOf(call.call());
        } catch (Exception error) {
            answer = error.getClass().getName();
        }
        System.out.println(what + ": " + answer);
    }
}
