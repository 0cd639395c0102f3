package com.acme;

import java.util.Map;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.types.Row;

/** Table functions in the shape in which people write them. */
public final class Tables {
    private Tables() { }

    @FunctionHint(output = @DataTypeHint("ROW<word STRING, length INT>"))
    public static class Split extends TableFunction<Row> {
        public void eval(String text) { eval(text, " "); }

        public void eval(String text, String separator) {
            if (text == null || text.isEmpty()) {
                return;
            }
            for (String word : text.split(separator)) {
                collect(Row.of(word, word.length()));
            }
        }
    }

    public static class Numbers extends TableFunction<Integer> {
        public void eval(int n) {
            for (int i = 0; i < n; i++) {
                collect(i % 3 == 2 ? null : i);
            }
        }
    }

    /** One object for all rows, and internal data. */
    @FunctionHint(output = @DataTypeHint(value = "ROW<k STRING, v BIGINT>", bridgedTo = RowData.class))
    public static class Reused extends TableFunction<RowData> {
        private final GenericRowData row = new GenericRowData(2);

        public void eval(Map<String, Long> map) {
            map.forEach((k, v) -> {
                row.setField(0, StringData.fromString(k));
                row.setField(1, v);
                collect(row);
            });
        }
    }

    public static class Pair {
        public String left;
        public Long right;

        public Pair() { }

        public Pair(String left, Long right) {
            this.left = left;
            this.right = right;
        }
    }

    public static class Pairs extends TableFunction<Pair> {
        public void eval(String... names) {
            long n = 0;
            for (String name : names) {
                collect(new Pair(name, n++));
            }
        }
    }

    public static class Finishing extends TableFunction<String> {
        public void eval(String s) { }

        @Override public void finish() { collect("late"); }
    }
}
