package com.acme;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * Its argument. Soon after a process has begun it fails, then at each five-hundredth call, which is further apart than
 * a task of these jobs has calls, so that no task fails each time. It leaves a file where the process runs.
 */
public class FailsAtTimes extends ScalarFunction {
    private static final AtomicLong CALLS = new AtomicLong();
    private static final long FIRST = 50;
    private static final long EVERY = 500;

    public Long eval(Long value) {
        long call = CALLS.incrementAndGet();
        if (call % EVERY == FIRST) {
            try {
                Files.createFile(Path.of("task-failed-" + ProcessHandle.current().pid() + "-" + call));
            } catch (IOException e) {
                throw new IllegalStateException("no file to count this failure by", e);
            }
            throw new IllegalStateException("call " + call + " of this process fails");
        }
        return value;
    }
}
