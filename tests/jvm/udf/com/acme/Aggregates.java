package com.acme;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.functions.TableAggregateFunction;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/** Aggregate functions in the shape in which people write them. */
public final class Aggregates {
    private Aggregates() { }

    /** Of Flink's documentation. */
    public static class WeightedAvgAccumulator {
        public long sum = 0;
        public int count = 0;
    }

    public static class WeightedAvg extends AggregateFunction<Long, WeightedAvgAccumulator> {
        @Override public WeightedAvgAccumulator createAccumulator() { return new WeightedAvgAccumulator(); }

        @Override public Long getValue(WeightedAvgAccumulator acc) { return acc.count == 0 ? null : acc.sum / acc.count; }

        public void accumulate(WeightedAvgAccumulator acc, Long value, Integer weight) {
            acc.sum += value * weight;
            acc.count += weight;
        }

        public void retract(WeightedAvgAccumulator acc, Long value, Integer weight) {
            acc.sum -= value * weight;
            acc.count -= weight;
        }

        public void merge(WeightedAvgAccumulator acc, Iterable<WeightedAvgAccumulator> it) {
            for (WeightedAvgAccumulator a : it) {
                acc.count += a.count;
                acc.sum += a.sum;
            }
        }

        public void resetAccumulator(WeightedAvgAccumulator acc) {
            acc.count = 0;
            acc.sum = 0L;
        }
    }

    /** No merge, and a map that the state keeps. */
    public static class Distinct {
        public MapView<String, Integer> counts = new MapView<>();
        public long distinct;
    }

    public static class CountDistinct extends AggregateFunction<Long, Distinct> {
        @Override public Distinct createAccumulator() { return new Distinct(); }

        @Override public Long getValue(Distinct acc) { return acc.distinct; }

        public void accumulate(Distinct acc, String key) throws Exception {
            if (key == null) {
                return;
            }
            Integer n = acc.counts.get(key);
            acc.counts.put(key, n == null ? 1 : n + 1);
            acc.distinct += n == null ? 1 : 0;
        }

        public void retract(Distinct acc, String key) throws Exception {
            if (key == null) {
                return;
            }
            int n = acc.counts.get(key);
            if (n == 1) {
                acc.counts.remove(key);
                acc.distinct--;
            } else {
                acc.counts.put(key, n - 1);
            }
        }
    }

    public static class Collecting {
        public ListView<String> list = new ListView<>();
    }

    /** Order, a vararg-free hint, and a result that is an array. */
    @FunctionHint(output = @DataTypeHint("ARRAY<STRING>"))
    public static class Collect extends AggregateFunction<String[], Collecting> {
        @Override public Collecting createAccumulator() { return new Collecting(); }

        @Override public String[] getValue(Collecting acc) { return acc.list.getList().toArray(new String[0]); }

        public void accumulate(Collecting acc, String s) throws Exception { acc.list.add(s); }

        public void retract(Collecting acc, String s) throws Exception { acc.list.remove(s); }
    }

    /** A tuple as accumulator, a ROW as result. */
    @FunctionHint(accumulator = @DataTypeHint("ROW<f0 DECIMAL(20, 2), f1 BIGINT>"), output = @DataTypeHint("ROW<total DECIMAL(20, 2), n BIGINT>"))
    public static class Total extends AggregateFunction<Row, Row> {
        @Override public Row createAccumulator() { return Row.of(BigDecimal.ZERO, 0L); }

        @Override public Row getValue(Row acc) { return Row.of(acc.getField(0), acc.getField(1)); }

        public void accumulate(Row acc, @DataTypeHint("DECIMAL(10, 2)") BigDecimal v) {
            if (v != null) {
                acc.setField(0, ((BigDecimal) acc.getField(0)).add(v));
                acc.setField(1, (Long) acc.getField(1) + 1);
            }
        }
    }

    /** Old style: a tuple, generics, no hints. */
    public static class MaxOf extends AggregateFunction<Double, Tuple2<Double, Boolean>> {
        @Override public Tuple2<Double, Boolean> createAccumulator() { return Tuple2.of(0.0, false); }

        @Override public Double getValue(Tuple2<Double, Boolean> acc) { return acc.f1 ? acc.f0 : null; }

        public void accumulate(Tuple2<Double, Boolean> acc, Double v) {
            if (v != null && (!acc.f1 || v > acc.f0)) {
                acc.f0 = v;
                acc.f1 = true;
            }
        }

        public void merge(Tuple2<Double, Boolean> acc, Iterable<Tuple2<Double, Boolean>> others) {
            others.forEach(o -> {
                if (o.f1) {
                    accumulate(acc, o.f0);
                }
            });
        }
    }

    /** Nested collections in the accumulator. */
    public static class Nested {
        public Map<String, List<Integer>> values = new TreeMap<>();
        public WeightedAvgAccumulator inner = new WeightedAvgAccumulator();
        public int[] histogram = new int[4];
        public String last;
    }

    public static class Everything extends AggregateFunction<String, Nested> {
        @Override public Nested createAccumulator() { return new Nested(); }

        @Override public String getValue(Nested acc) {
            return new java.util.TreeMap<>(acc.values) + " " + acc.inner.sum + " " + java.util.Arrays.toString(acc.histogram) + " " + acc.last;
        }

        public void accumulate(Nested acc, String key, Integer v) {
            acc.values.computeIfAbsent(key, k -> new ArrayList<>()).add(v);
            acc.inner.sum += v;
            acc.histogram[Math.floorMod(v, 4)]++;
            acc.last = key;
        }
    }

    public static class Failing extends AggregateFunction<Long, WeightedAvgAccumulator> {
        @Override public WeightedAvgAccumulator createAccumulator() { return new WeightedAvgAccumulator(); }

        @Override public Long getValue(WeightedAvgAccumulator acc) { throw new IllegalStateException("no value"); }

        public void accumulate(WeightedAvgAccumulator acc, Long v) { }
    }

    /** Nothing but rows. */
    public static class Count extends AggregateFunction<Long, WeightedAvgAccumulator> {
        @Override public WeightedAvgAccumulator createAccumulator() { return new WeightedAvgAccumulator(); }

        @Override public Long getValue(WeightedAvgAccumulator acc) { return acc.sum; }

        public void accumulate(WeightedAvgAccumulator acc) { acc.sum++; }

        public void retract(WeightedAvgAccumulator acc) { acc.sum--; }
    }

    public static class Top2Accumulator {
        public Integer first = Integer.MIN_VALUE;
        public Integer second = Integer.MIN_VALUE;
    }

    public static class Top2 extends TableAggregateFunction<Tuple2<Integer, Integer>, Top2Accumulator> {
        @Override public Top2Accumulator createAccumulator() { return new Top2Accumulator(); }

        public void accumulate(Top2Accumulator acc, Integer v) {
            if (v > acc.first) {
                acc.second = acc.first;
                acc.first = v;
            } else if (v > acc.second) {
                acc.second = v;
            }
        }

        public void merge(Top2Accumulator acc, Iterable<Top2Accumulator> it) {
            for (Top2Accumulator other : it) {
                accumulate(acc, other.first);
                accumulate(acc, other.second);
            }
        }

        public void emitValue(Top2Accumulator acc, Collector<Tuple2<Integer, Integer>> out) {
            if (acc.first != Integer.MIN_VALUE) {
                out.collect(Tuple2.of(acc.first, 1));
            }
            if (acc.second != Integer.MIN_VALUE) {
                out.collect(Tuple2.of(acc.second, 2));
            }
        }
    }

}
