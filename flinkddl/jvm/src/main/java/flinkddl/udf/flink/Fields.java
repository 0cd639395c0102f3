package flinkddl.udf.flink;

import java.util.LinkedHashMap;
import java.util.List;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.RowUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** ROW: as Flink's Row, as its RowData, or as an object of a class with such fields. */
final class Fields {
    private Fields() { }

    static Conv row(Shape s) {
        Conv[] each = s.parts().stream().map(Conv::of).toArray(Conv[]::new);
        List<String> names = ((RowType) s.type()).getFieldNames();
        if (RowData.class.isAssignableFrom(s.bridge())) {
            return data(s, each);
        }
        if (s.bridge() != Row.class) {
            Pojo pojo = new Pojo(s.bridge(), names);
            return new Conv(Carriers.of(s.type()), v -> pojo.make(to((InternalRow) v, each)), v -> from(pojo.values(v), each));
        }
        LinkedHashMap<String, Integer> places = new LinkedHashMap<>();
        names.forEach(n -> places.put(n, places.size()));
        return new Conv(Carriers.of(s.type()),
            v -> RowUtils.createRowWithNamedPositions(RowKind.INSERT, to((InternalRow) v, each), places),
            v -> from(values((Row) v, names), each));
    }

    private static Conv data(Shape s, Conv[] each) {
        RowData.FieldGetter[] getters = new RowData.FieldGetter[each.length];
        for (int i = 0; i < each.length; i++) {
            getters[i] = RowData.createFieldGetter(s.parts().get(i).type(), i);
        }
        return new Conv(Carriers.of(s.type()), v -> GenericRowData.of(to((InternalRow) v, each)), v -> {
            Object[] values = new Object[each.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = getters[i].getFieldOrNull((RowData) v);
            }
            return from(values, each);
        });
    }

    private static Object[] to(InternalRow row, Conv[] each) {
        Object[] values = new Object[each.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = each[i].at(row, i);
        }
        return values;
    }

    private static Object from(Object[] values, Conv[] each) {
        for (int i = 0; i < values.length; i++) {
            values[i] = each[i].back(values[i]);
        }
        return new GenericInternalRow(values);
    }

    /** By place where the row has places, else by name. */
    private static Object[] values(Row row, List<String> names) {
        boolean named = row.getFieldNames(false) != null;
        int size = named ? names.size() : row.getArity();
        if (size != names.size()) {
            throw new IllegalArgumentException("a row of " + size + " fields in the place of " + names);
        }
        Object[] values = new Object[size];
        for (int i = 0; i < size; i++) {
            values[i] = named ? row.getField(names.get(i)) : row.getField(i);
        }
        return values;
    }
}
