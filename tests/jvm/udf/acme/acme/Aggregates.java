package acme;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.functions.TableAggregateFunction;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

public class Aggregates {
    public static class WeightedAvgAccum {
        public long sum = 0;
        public int count = 0;
    }

    public static class WeightedAvg extends AggregateFunction<Long, WeightedAvgAccum> {
        @Override
        public WeightedAvgAccum createAccumulator() {
            return new WeightedAvgAccum();
        }

        @Override
        public Long getValue(WeightedAvgAccum acc) {
            return acc.count == 0 ? null : acc.sum / acc.count;
        }

        public void accumulate(WeightedAvgAccum acc, Long v, Integer w) {
            if (v != null && w != null) {
                acc.sum += v * w;
                acc.count += w;
            }
        }

        public void retract(WeightedAvgAccum acc, Long v, Integer w) {
            if (v != null && w != null) {
                acc.sum -= v * w;
                acc.count -= w;
            }
        }
    }

    public static class Sampled extends WeightedAvg {
        @Override
        public boolean isDeterministic() {
            return false;
        }
    }

    public static class DistinctAccum {
        public MapView<String, Integer> seen = new MapView<>();
        public ListView<String> order = new ListView<>();
        public long count;
    }

    public static class Distinct extends AggregateFunction<Long, DistinctAccum> {
        @Override
        public DistinctAccum createAccumulator() {
            return new DistinctAccum();
        }

        @Override
        public Long getValue(DistinctAccum acc) {
            return acc.count;
        }

        public void accumulate(DistinctAccum acc, String s) throws Exception {
            if (s == null) {
                return;
            }
            Integer n = acc.seen.get(s);
            if (n == null) {
                acc.count++;
            }
            acc.seen.put(s, n == null ? 1 : n + 1);
        }

        public void retract(DistinctAccum acc, String s) throws Exception {
            if (s == null) {
                return;
            }
            int n = acc.seen.get(s) - 1;
            if (n == 0) {
                acc.seen.remove(s);
                acc.count--;
            } else {
                acc.seen.put(s, n);
            }
        }
    }

    public static class Longest extends AggregateFunction<String, Row> {
        @Override
        public Row createAccumulator() {
            return Row.of((Object) null);
        }

        @Override
        public String getValue(Row acc) {
            return (String) acc.getField(0);
        }

        @FunctionHint(accumulator = @DataTypeHint("ROW<s STRING>"))
        public void accumulate(Row acc, String s) {
            if (s != null && (acc.getField(0) == null || s.length() > ((String) acc.getField(0)).length())) {
                acc.setField(0, s);
            }
        }
    }

    public static class Calls {
        public String all = "";
    }

    /** Says which of its methods were called with what, in their order. */
    public static class Trace extends AggregateFunction<String, Calls> {
        @Override
        public Calls createAccumulator() {
            return new Calls();
        }

        @Override
        public String getValue(Calls acc) {
            return acc.all;
        }

        public void accumulate(Calls acc, String s) {
            acc.all += "+" + s;
        }

        public void accumulate(Calls acc, String s, Integer n) {
            acc.all += "+" + s + n;
        }

        public void retract(Calls acc, String s) {
            acc.all += "-" + s;
        }

        public void retract(Calls acc, String s, Integer n) {
            acc.all += "-" + s + n;
        }
    }

    public abstract static class Mean<T> extends AggregateFunction<Double, Tuple2<Double, T>> {}

    public static class Average extends Mean<Long> {
        @Override
        public Tuple2<Double, Long> createAccumulator() {
            return Tuple2.of(0.0, 0L);
        }

        @Override
        public Double getValue(Tuple2<Double, Long> acc) {
            return acc.f1 == 0 ? null : acc.f0 / acc.f1;
        }

        public void accumulate(Tuple2<Double, Long> acc, Double v) {
            if (v != null) {
                acc.f0 += v;
                acc.f1++;
            }
        }

        public void retract(Tuple2<Double, Long> acc, Double v) {
            if (v != null) {
                acc.f0 -= v;
                acc.f1--;
            }
        }
    }

    public static class Top2Accum {
        public Integer first;
        public Integer second;
    }

    public static class Top2 extends TableAggregateFunction<Integer, Top2Accum> {
        @Override
        public Top2Accum createAccumulator() {
            return new Top2Accum();
        }

        public void accumulate(Top2Accum acc, Integer v) {
            if (v == null) {
                return;
            }
            if (acc.first == null || v > acc.first) {
                acc.second = acc.first;
                acc.first = v;
            } else if (acc.second == null || v > acc.second) {
                acc.second = v;
            }
        }

        public void emitValue(Top2Accum acc, Collector<Integer> out) {
            if (acc.first != null) {
                out.collect(acc.first);
            }
            if (acc.second != null) {
                out.collect(acc.second);
            }
        }
    }
}
