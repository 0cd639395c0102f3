package com.acme;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * Its argument. Soon after a query has begun in a process it fails, then at each five-hundredth call, which is further
 * apart than a task of these jobs has calls, so that no task fails each time.
 */
public class FailsAtTimes extends ScalarFunction {
    private static final AtomicLong CALLS = new AtomicLong();
    private static final long FIRST = 50;
    private static final long EVERY = 500;

    public Long eval(Long value) {
        long call = CALLS.incrementAndGet();
        if (call % EVERY == FIRST) {
            throw new IllegalStateException("call " + call + " of this process fails");
        }
        return value;
    }
}
