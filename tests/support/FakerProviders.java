import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.*;
import java.util.stream.Collectors;
import java.util.zip.*;
import net.datafaker.Faker;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;

/**
 * Prints what Datafaker's expressions can name, a line each: "provider Name method(types;types)!", with a mark where
 * its no-argument form fails ('-' as provider.method, '!' as Provider.method too), "enum", and "data", the keys of its
 * English files, with a full stop behind one that holds others.
 */
public class FakerProviders {
    static final Map<String, String> ENUMS = new TreeMap<>();
    static final Set<String> NOT = Set.of("equals", "hashCode", "toString", "getFaker", "getClass");
    static Faker faker = new Faker(new Random(1));

    public static void main(String[] args) throws Exception {
        System.out.println("provider " + "- " + methods("", Faker.class));
        TreeMap<String, Method> providers = new TreeMap<>();
        for (Method m : Faker.class.getMethods()) {
            boolean provider = m.getReturnType().getName().startsWith("net.datafaker.providers.");
            if (m.getParameterCount() == 0 && provider && !Modifier.isStatic(m.getModifiers()) && !NOT.contains(m.getName())) {
                providers.put(m.getName(), m);
            }
        }
        for (var p : providers.entrySet()) {
            Class<?> c = p.getValue().invoke(faker).getClass();
            System.out.println("provider " + p.getKey() + "/" + c.getSimpleName() + " " + methods(p.getKey(), c));
        }
        ENUMS.forEach((name, values) -> System.out.println("enum " + name + " " + values));
        TreeMap<String, TreeSet<String>> data = data();
        data.forEach((key, keys) -> System.out.println("data " + key + " " + String.join(" ", keys)));
    }

    static String methods(String provider, Class<?> c) {
        TreeMap<String, TreeSet<String>> out = new TreeMap<>();
        for (Method m : c.getMethods()) {
            boolean asks = m.getDeclaringClass() != Object.class && m.getReturnType() != void.class && !m.isBridge();
            if (!asks || NOT.contains(m.getName()) || c == Faker.class && m.getParameterCount() == 0) {
                continue;
            }
            String types = Arrays.stream(m.getParameterTypes()).map(FakerProviders::type).collect(Collectors.joining(","));
            types = m.isVarArgs() ? types.replaceAll("\\[\\]$", "...") : types;
            out.computeIfAbsent(m.getName(), k -> new TreeSet<>()).add(types);
        }
        return out.entrySet().stream().map(e -> e.getKey() + "(" + String.join(";", e.getValue()) + ")"
            + (e.getValue().contains("") ? mark(provider, c.getSimpleName(), e.getKey()) : "")).collect(Collectors.joining(" "));
    }

    static String mark(String provider, String type, String method) {
        return !fails("#{" + provider + "." + method + "}") ? "" : fails("#{" + type + "." + method + "}") ? "!" : "-";
    }

    static boolean fails(String expression) {
        try {
            for (int i = 0; i < 50; i++) {
                faker.expression(expression);
            }
            return false;
        } catch (RuntimeException e) {
            return true;
        }
    }

    static String type(Class<?> c) {
        if (c.isArray()) {
            return type(c.getComponentType()) + "[]";
        }
        if (c.isEnum()) {
            ENUMS.put(c.getSimpleName(), Arrays.stream(c.getEnumConstants()).map(o -> ((Enum<?>) o).name()).collect(Collectors.joining(" ")));
        }
        return c.getSimpleName();
    }

    static TreeMap<String, TreeSet<String>> data() throws Exception {
        TreeMap<String, TreeSet<String>> out = new TreeMap<>();
        LoaderOptions options = new LoaderOptions();
        options.setMaxAliasesForCollections(10000);
        options.setCodePointLimit(100_000_000);
        try (ZipFile zip = new ZipFile(Faker.class.getProtectionDomain().getCodeSource().getLocation().getPath())) {
            for (ZipEntry e : Collections.list(zip.entries())) {
                if (e.getName().matches("en(/.*)?\\.yml")) {
                    Map<String, Object> root = new Yaml(options).load(zip.getInputStream(e));
                    if (((Map<?, ?>) root.get("en")).get("faker") instanceof Map<?, ?> top) {
                        top.forEach((k, v) -> walk(v, "", out.computeIfAbsent(k.toString(), x -> new TreeSet<>())));
                    }
                }
            }
        }
        return out;
    }

    static void walk(Object value, String path, Set<String> keys) {
        if (value instanceof Map<?, ?> map) {
            map.forEach((k, v) -> {
                keys.add(path + k + (v instanceof Map ? "." : ""));
                walk(v, path + k + ".", keys);
            });
        }
    }
}
