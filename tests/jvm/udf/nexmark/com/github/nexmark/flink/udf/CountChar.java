package com.github.nexmark.flink.udf;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.ScalarFunction;

/** How often a character is in a text: name and signature of Nexmark's own, which q14 calls. */
public class CountChar extends ScalarFunction {
    public long eval(@DataTypeHint("STRING") StringData text, @DataTypeHint("STRING") StringData character) {
        long found = 0;
        byte wanted = character.toBytes()[0];
        for (byte b : text == null ? new byte[0] : text.toBytes()) {
            found += b == wanted ? 1 : 0;
        }
        return found;
    }
}
