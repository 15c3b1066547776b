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
 * <p>One fresh group after the other in this JVM. Before that a group that is not counted has one consumer after the other,
 * so that classes are loaded and compiled: a new JVM takes longer for its first consumers than a broker may take. Prints the
 * microseconds of each from subscribe() to the first record in hand. The topic has records and has been consumed before.
 */
public final class FirstRecord {
  private static final long PATIENCE_NS = 60_000_000_000L;
  /** Each has the same records, which may not be delivered more often. */
  private static final int WARM_CONSUMERS = 9;
  private static final String DELIVERIES = "10";

  private FirstRecord() {}

  public static void main(String[] args) throws Exception {
    String warm = args[2] + "-warm";
    fromTheBeginning(args[0], warm);
    for (int n = 0; n < WARM_CONSUMERS; n++) {
      first(args[0], args[1], warm);
    }
    for (int n = 0; n < Integer.parseInt(args[3]); n++) {
      String group = args[2] + "-" + n;
      fromTheBeginning(args[0], group);
      System.out.println(first(args[0], args[1], group));
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
    Collection<AlterConfigOp> wished = List.of(
        set("share.auto.offset.reset", "earliest"), set("share.delivery.count.limit", DELIVERIES));
    Map<ConfigResource, Collection<AlterConfigOp>> wishes =
        Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), wished);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
      admin.incrementalAlterConfigs(wishes).all().get();
    }
  }

  private static AlterConfigOp set(String key, String value) {
    return new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
  }
}
