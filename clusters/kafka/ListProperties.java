import java.util.TreeSet;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints the property names of a broker or controller ("server") or of a topic ("topic"), one a line. */
public class ListProperties {
    public static void main(String[] arguments) {
        var names = switch (arguments[0]) {
            case "server" -> AbstractKafkaConfig.CONFIG_DEF.names();
            case "topic" -> LogConfig.configNames();
            default -> throw new IllegalArgumentException("server or topic, not " + arguments[0]);
        };
        new TreeSet<>(names).forEach(System.out::println);
    }
}
