package flinkddl.udf.flink;

import flinkddl.scalar.LastRecord;
import flinkddl.udf.JavaSpec;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.flink.table.functions.UserDefinedFunction;
import org.apache.spark.TaskContext;

/** An object of a function's class, opened, and its methods. What it runs has the job's loader as the thread's own. */
final class Opened implements AutoCloseable {
    /** A call of a function; a Supplier that may throw. */
    interface Call {
        Object run() throws Throwable;
    }

    final JavaSpec spec;
    final ClassLoader job;
    final UserDefinedFunction function;

    Opened(JavaSpec spec, ClassLoader job) {
        this.spec = spec;
        this.job = job;
        function = create(spec, job);
        run("open", () -> {
            function.open(new Context(spec.parameters, job));
            return null;
        });
    }

    static UserDefinedFunction create(JavaSpec spec, ClassLoader job) {
        Class<?> found = Shape.load(spec.className, job);
        if (!UserDefinedFunction.class.isAssignableFrom(found)) {
            throw new IllegalStateException("FD890: the class '" + spec.className + "' is no function of Flink");
        }
        try {
            var maker = found.getDeclaredConstructor();
            maker.setAccessible(true);
            return (UserDefinedFunction) maker.newInstance();
        } catch (InvocationTargetException e) {
            throw failure(spec, "its constructor", e.getCause());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new IllegalStateException("FD890: no object of '" + spec.className + "' can be made: " + e, e);
        }
    }

    /** A method that takes its arguments as an array; a vararg method takes {@code count} of them. */
    MethodHandle method(String name, String descriptor, int count) {
        MethodHandle found = optional(name, descriptor, count);
        if (found == null) {
            String type = MethodType.fromMethodDescriptorString(descriptor, job).toString();
            throw new IllegalStateException("FD890: the class '" + spec.className + "' has no method " + name + type);
        }
        return found;
    }

    /** The same; null where the class has no such method. */
    MethodHandle optional(String name, String descriptor, int count) {
        try {
            MethodType type = MethodType.fromMethodDescriptorString(descriptor, job);
            Method found = find(function.getClass(), name, type.parameterArray());
            if (found == null) {
                return null;
            }
            found.setAccessible(true);
            MethodHandle handle = MethodHandles.lookup().unreflect(found).asFixedArity();
            handle = Modifier.isStatic(found.getModifiers()) ? handle : handle.bindTo(function);
            int fixed = type.parameterCount() - 1;
            handle = spec.varargs ? handle.asCollector(type.lastParameterType(), count - fixed) : handle;
            return handle.asType(MethodType.genericMethodType(count)).asSpreader(Object[].class, count);
        } catch (IllegalAccessException | TypeNotPresentException | LinkageError e) {
            throw new IllegalStateException("FD890: the methods of '" + spec.className + "' do not load: " + e, e);
        }
    }

    private static Method find(Class<?> c, String name, Class<?>[] types) {
        List<Method> all = new ArrayList<>();
        for (Class<?> at = c; at != null; at = at.getSuperclass()) {
            all.addAll(Arrays.asList(at.getDeclaredMethods()));
        }
        all.addAll(Arrays.asList(c.getMethods())); // those of interfaces
        return all.stream().filter(m -> m.getName().equals(name) && Arrays.equals(m.getParameterTypes(), types))
            .findFirst().orElse(null);
    }

    /** Runs a call under the job's loader; what it throws is told with the function's name and its place. */
    Object run(String what, Call call) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(job);
        try {
            return call.run();
        } catch (Throwable e) {
            throw failure(spec, what, e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    String signature() {
        return spec.method + MethodType.fromMethodDescriptorString(spec.descriptor, job).parameterList().stream()
            .map(Class::getSimpleName).collect(Collectors.joining(", ", "(", ")"));
    }

    /** An exception that says all there is: its causes would be of classes that only the job's loader knows. */
    static RuntimeException failure(JavaSpec spec, String what, Throwable e) {
        if (e instanceof OutOfMemoryError error) {
            throw error; // the executor's end, not the function's
        }
        if (e instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        String at = Arrays.stream(e.getStackTrace()).filter(f -> f.getClassName().startsWith(spec.className)).findFirst()
            .map(f -> " at " + f.getFileName() + ":" + f.getLineNumber()).orElse("");
        TaskContext task = TaskContext.get();
        String record = LastRecord.said();
        String where = task == null ? "" : ", in partition " + task.partitionId();
        where += record.isEmpty() ? "" : ", where the last record was that of " + record;
        StringBuilder causes = new StringBuilder();
        for (Throwable t = e; t != null && causes.length() < 2000; t = t.getCause()) {
            causes.append(": ").append(t.getClass().getName()).append(t.getMessage() == null ? "" : ": " + t.getMessage().replace('\n', ' '));
        }
        RuntimeException told = new IllegalStateException(
            "FD889: the Java function '" + spec.className + "' failed in " + what + at + where + causes);
        told.setStackTrace(e.getStackTrace());
        return told;
    }

    @Override public void close() {
        run("close", () -> {
            function.close();
            return null;
        });
    }
}
