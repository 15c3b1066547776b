package bench;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;

/**
 * How long a group that was never heard of waits for its first record: ADDRESS TOPIC GROUP COUNT.
 *
 * <p>One fresh group after the other in this JVM; the first is not counted, as the classes are loaded with it. Prints the
 * microseconds of each from subscribe() to the first record in hand. The topic has records and has been consumed before.
 */
public final class FirstRecord {
  private static final long PATIENCE_NS = 60_000_000_000L;

  private FirstRecord() {}

  public static void main(String[] args) throws Exception {
    for (int n = 0; n <= Integer.parseInt(args[3]); n++) {
      String group = args[2] + "-" + n;
      fromTheBeginning(args[0], group);
      long micros = first(args[0], args[1], group);
      if (n > 0) {
        System.out.println(micros);
      }
    }
  }

  private static long first(String address, String topic, String group) {
    try (KafkaShareConsumer<byte[], byte[]> consumer = Sharers.implicit(address, group)) {
      long began = System.nanoTime();
      consumer.subscribe(List.of(topic));
      while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {
        if (System.nanoTime() - began > PATIENCE_NS) {
          throw new IllegalStateException("no record within a minute");
        }
      }
      return (System.nanoTime() - began) / 1000;
    }
  }

  private static void fromTheBeginning(String address, String group) throws Exception {
    var wish = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
    Map<ConfigResource, Collection<AlterConfigOp>> wishes =
        Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(wish));
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
      admin.incrementalAlterConfigs(wishes).all().get();
    }
  }
}
