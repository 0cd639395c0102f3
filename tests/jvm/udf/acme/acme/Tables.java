package acme;

import java.util.concurrent.CompletableFuture;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.AsyncScalarFunction;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.types.Row;

public class Tables {
    public static class Split extends TableFunction<String> {
        public void eval(String s) {
            if (s != null) {
                for (String w : s.split(" ")) {
                    collect(w);
                }
            }
        }
    }

    @FunctionHint(output = @DataTypeHint("ROW<word STRING, length INT>"))
    public static class SplitRow extends TableFunction<Row> {
        public void eval(String s) {
            if (s != null && !s.isEmpty()) {
                for (String w : s.split(" ")) {
                    collect(Row.of(w, w.length()));
                }
            }
        }

        public void eval(String s, String separator) {
            if (s == null) {
                return;
            }
            for (String w : s.split(separator)) {
                collect(Row.of(w, w.length()));
            }
        }
    }

    @DataTypeHint(value = "ROW<word STRING, length INT NOT NULL>", bridgedTo = RowData.class)
    public static class SplitRowData extends TableFunction<RowData> {
        public void eval(String s) {
            if (s != null) {
                for (String w : s.split(" ")) {
                    collect(GenericRowData.of(StringData.fromString(w), w.length()));
                }
            }
        }
    }

    public static class Word {
        public String word;
        public Long n;

        public Word() {}

        public Word(String word, Long n) {
            this.word = word;
            this.n = n;
        }
    }

    public static class SplitPojo extends TableFunction<Word> {
        public void eval(String s) {
            if (s != null) {
                for (String w : s.split(" ")) {
                    collect(new Word(w, (long) w.length()));
                }
            }
        }
    }

    public static class Range extends TableFunction<Integer> {
        public void eval(int n) {
            for (int i = 0; i < n; i++) {
                collect(i);
            }
        }

        public void eval(Integer a, Integer b) {
            if (a != null && b != null) {
                for (int i = a; i < b; i++) {
                    collect(i);
                }
            }
        }
    }

    public static class PerMethod extends TableFunction<Row> {
        @FunctionHint(output = @DataTypeHint("ROW<v STRING>"))
        public void eval(String s) {
            collect(Row.of(s));
        }

        @FunctionHint(output = @DataTypeHint("ROW<n1 BIGINT, twice BIGINT>"))
        public void eval(Long n) {
            collect(Row.of(n, n == null ? null : 2 * n));
        }
    }

    @FunctionHint(input = {@DataTypeHint("STRING"), @DataTypeHint("INT")}, output = @DataTypeHint("STRING"))
    @FunctionHint(input = @DataTypeHint("STRING"), output = @DataTypeHint("STRING"))
    public static class Global extends TableFunction<String> {
        public void eval(Object... arguments) {
            for (Object o : arguments) {
                collect(String.valueOf(o));
            }
        }
    }

    public static class Nothing extends TableFunction<String> {
        public void eval() {
            collect("one");
            collect(null);
        }
    }

    public abstract static class Each<T> extends TableFunction<T> {
        public void eval(T value, int times) {
            for (int i = 0; i < times; i++) {
                collect(value);
            }
        }
    }

    public static class EachLong extends Each<Long> {}

    public static class Later extends AsyncScalarFunction {
        public void eval(CompletableFuture<String> result, Integer n) {
            result.complete("later " + n);
        }
    }
}
