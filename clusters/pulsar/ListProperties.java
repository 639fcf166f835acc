import java.lang.annotation.Annotation;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Prints the properties that the code of a broker ("broker") or a bookie ("bookie") knows, one a line; for a broker's own,
 * tab and type too.
 */
public class ListProperties {
    private static final String STORAGE = "org.apache.bookkeeper.bookie.storage.ldb.";

    public static void main(String[] arguments) throws Exception {
        Set<String> names = new TreeSet<>();
        switch (arguments[0]) {
            case "broker" -> {
                fields("org.apache.pulsar.broker.ServiceConfiguration")
                        .filter(ListProperties::isProperty)
                        .forEach(field -> names.add(field.getName() + "\t" + type(field)));
                // A broker hands whatever follows the underscore to its BookKeeper client.
                constants("org.apache.bookkeeper.conf.ClientConfiguration")
                        .forEach(name -> names.add("bookkeeper_" + name));
            }
            case "bookie" -> {
                constants("org.apache.bookkeeper.conf.ServerConfiguration").forEach(names::add);
                constants(STORAGE + "DbLedgerStorage").forEach(names::add);
                constants(STORAGE + "SingleDirectoryDbLedgerStorage").forEach(names::add);
            }
            default -> throw new IllegalArgumentException("broker or bookie, not " + arguments[0]);
        }
        names.forEach(System.out::println);
    }

    private static Stream<Field> fields(String name) throws ClassNotFoundException {
        Stream<Field> found = Stream.empty();
        for (Class<?> one = Class.forName(name); one != Object.class; one = one.getSuperclass()) {
            if (one.getName().startsWith("org.apache.pulsar") || one.getName().startsWith("org.apache.bookkeeper")) {
                found = Stream.concat(found, Arrays.stream(one.getDeclaredFields()));
            }
        }
        return found;
    }

    private static String type(Field field) {
        return switch (field.getType().getSimpleName()) {
            case "Integer", "int" -> "int";
            case "Long", "long" -> "long";
            default -> field.getType().getSimpleName().toLowerCase(Locale.ROOT);
        };
    }

    private static boolean isProperty(Field field) {
        return Arrays.stream(field.getAnnotations())
                .map(Annotation::annotationType)
                .anyMatch(type -> type.getSimpleName().equals("FieldContext"));
    }

    private static Stream<String> constants(String name) throws Exception {
        Set<String> values = new TreeSet<>();
        for (Field field : fields(name).toList()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
                field.setAccessible(true);
                String value = (String) field.get(null);
                if (value != null && value.matches("[a-z][A-Za-z0-9_]{3,}")) {
                    values.add(value);
                }
            }
        }
        return values.stream();
    }
}
