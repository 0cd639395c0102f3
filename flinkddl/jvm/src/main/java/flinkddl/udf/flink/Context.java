package flinkddl.udf.flink;

import java.io.File;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.TaskInfoImpl;
import org.apache.flink.api.common.externalresource.ExternalResourceInfo;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.spark.TaskContext;

/** What a function may ask of its surroundings: job parameters; metrics go nowhere, files of Flink's cache there are none. */
final class Context extends FunctionContext {
    private final Map<String, String> parameters;
    private final ClassLoader job;

    Context(Map<String, String> parameters, ClassLoader job) {
        super(null, job, null);
        this.parameters = parameters;
        this.job = job;
    }

    @Override public TaskInfo getTaskInfo() {
        TaskContext task = TaskContext.get();
        int index = task == null ? 0 : task.partitionId();
        int tasks = task == null ? 1 : Math.max(task.numPartitions(), index + 1);
        return new TaskInfoImpl("flinkddl", tasks, index, tasks, task == null ? 0 : task.attemptNumber());
    }

    @Override public MetricGroup getMetricGroup() { return new UnregisteredMetricsGroup(); }

    @Override public File getCachedFile(String name) {
        throw new UnsupportedOperationException("FD890: there is no file '" + name + "': Spark has no cache of Flink's files");
    }

    @Override public String getJobParameter(String key, String otherwise) { return parameters.getOrDefault(key, otherwise); }

    @Override public Set<ExternalResourceInfo> getExternalResourceInfos(String resource) { return Set.of(); }

    @Override public ClassLoader getUserCodeClassLoader() { return job; }
}
