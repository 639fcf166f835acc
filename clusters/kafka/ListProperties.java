import java.util.Locale;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints the properties of a broker or controller ("server") or of a topic ("topic"): name, tab, type. */
public class ListProperties {
    public static void main(String[] arguments) {
        ConfigDef known = switch (arguments[0]) {
            case "server" -> AbstractKafkaConfig.CONFIG_DEF;
            case "topic" -> LogConfig.configDefCopy();
            default -> throw new IllegalArgumentException("server or topic, not " + arguments[0]);
        };
        for (String name : new TreeSet<>(known.names())) {
            System.out.println(name + "\t" + known.configKeys().get(name).type.name().toLowerCase(Locale.ROOT));
        }
    }
}
