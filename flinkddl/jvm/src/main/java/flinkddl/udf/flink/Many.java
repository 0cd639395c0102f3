package flinkddl.udf.flink;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** Arrays, maps and multisets, of which the parts are converted one by one. */
final class Many {
    private Many() { }

    static Conv array(Shape s) {
        Shape part = s.parts().get(0);
        Conv each = Conv.of(part);
        ArrayData.ElementGetter getter = ArrayData.createElementGetter(part.type());
        return new Conv(Carriers.of(s.type()), v -> {
            org.apache.spark.sql.catalyst.util.ArrayData from = (org.apache.spark.sql.catalyst.util.ArrayData) v;
            return s.bridge().isArray() ? fill(Array.newInstance(s.bridge().getComponentType(), from.numElements()), from, each)
                : list(s.bridge(), Arrays.asList((Object[]) fill(new Object[from.numElements()], from, each)));
        }, v -> new GenericArrayData(back(elements(v, getter), each)));
    }

    private static Object fill(Object array, org.apache.spark.sql.catalyst.util.ArrayData from, Conv each) {
        for (int i = 0; i < from.numElements(); i++) {
            Array.set(array, i, each.at(from, i));
        }
        return array;
    }

    private static Object list(Class<?> bridge, List<Object> values) {
        if (bridge == ArrayData.class) {
            return new org.apache.flink.table.data.GenericArrayData(values.toArray());
        }
        List<Object> list = new ArrayList<>(values);
        if (bridge == ListView.class) {
            ListView<Object> view = new ListView<>();
            view.setList(list);
            return view;
        }
        return list;
    }

    private static Object[] elements(Object v, ArrayData.ElementGetter getter) {
        Object values = v instanceof ListView<?> view ? view.getList() : v;
        if (values instanceof Collection<?> list) {
            return list.toArray();
        }
        ArrayData data = values instanceof ArrayData d ? d : null;
        Object[] all = new Object[data == null ? Array.getLength(values) : data.size()];
        for (int i = 0; i < all.length; i++) {
            all[i] = data == null ? Array.get(values, i) : getter.getElementOrNull(data, i);
        }
        return all;
    }

    private static Object[] back(Object[] values, Conv each) {
        Object[] all = new Object[values.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = each.back(values[i]);
        }
        return all;
    }

    static Conv map(Shape s) {
        boolean multiset = s.parts().size() == 1;
        Shape count = Shape.of(new IntType(false), Integer.class);
        List<Shape> parts = multiset ? List.of(s.parts().get(0), count) : s.parts();
        Conv[] each = {Conv.of(parts.get(0)), Conv.of(parts.get(1))};
        ArrayData.ElementGetter[] getters = parts.stream().map(p -> getter(p.type())).toArray(ArrayData.ElementGetter[]::new);
        return new Conv(Carriers.of(s.type()), v -> {
            org.apache.spark.sql.catalyst.util.MapData from = (org.apache.spark.sql.catalyst.util.MapData) v;
            Map<Object, Object> map = new LinkedHashMap<>();
            for (int i = 0; i < from.numElements(); i++) {
                map.put(each[0].at(from.keyArray(), i), each[1].at(from.valueArray(), i));
            }
            return map(s.bridge(), map);
        }, v -> {
            Object[][] both = entries(v, getters);
            return new ArrayBasedMapData(
                new GenericArrayData(back(both[0], each[0])), new GenericArrayData(back(both[1], each[1])));
        });
    }

    private static ArrayData.ElementGetter getter(LogicalType type) { return ArrayData.createElementGetter(type); }

    private static Object map(Class<?> bridge, Map<Object, Object> map) {
        if (bridge == MapData.class) {
            return new GenericMapData(map);
        }
        if (bridge == MapView.class) {
            MapView<Object, Object> view = new MapView<>();
            view.setMap(map);
            return view;
        }
        return map;
    }

    private static Object[][] entries(Object v, ArrayData.ElementGetter[] getters) {
        if (v instanceof MapData data) {
            return new Object[][] {elements(data.keyArray(), getters[0]), elements(data.valueArray(), getters[1])};
        }
        Map<?, ?> map = v instanceof MapView<?, ?> view ? view.getMap() : (Map<?, ?>) v;
        return new Object[][] {map.keySet().toArray(), map.values().toArray()};
    }
}
