package interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Shows what a share consumer is given and what it answers, as a table: the experiment of many an article. A value that
 * no rule names is held. What was held is given back when the consumer closes.
 */
public final class ShareTable {
  private static final Map<AcknowledgeType, String> STATUS =
      Map.of(AcknowledgeType.ACCEPT, "ACKED", AcknowledgeType.RELEASE, "AVAIL", AcknowledgeType.REJECT, "ARCHV");
  private static final Duration WAIT = Duration.ofSeconds(60);

  private ShareTable() {}

  /**
   * Options in pairs: --bootstrap-server, --topic, --group; --max records a poll; --until so many were given; --say
   * VALUE=TYPE,...; --hold until this file exists.
   */
  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int n = 0; n < args.length; n += 2) {
      options.put(args[n], args[n + 1]);
    }
    Map<String, AcknowledgeType> rules = new HashMap<>();
    for (String rule : options.get("--say").split(",")) {
      rules.put(rule.split("=")[0], AcknowledgeType.valueOf(rule.split("=")[1]));
    }
    try (var consumer = new KafkaShareConsumer<>(config(options), new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(options.get("--topic")));
      System.out.println("Record | Status | Delivery Count");
      System.out.println("--------------------------------");
      show(consumer, rules, Integer.parseInt(options.get("--until")));
      hold(options.get("--hold"));
    }
  }

  private static Map<String, Object> config(Map<String, String> options) {
    return Map.of(
        "bootstrap.servers", options.get("--bootstrap-server"),
        "group.id", options.get("--group"),
        "share.acknowledgement.mode", "explicit",
        "share.acquire.mode", "record_limit",
        "max.poll.records", options.get("--max"));
  }

  private static void show(KafkaShareConsumer<String, String> consumer, Map<String, AcknowledgeType> rules, int until) {
    long deadline = System.nanoTime() + WAIT.toNanos();
    for (int given = 0; given < until && System.nanoTime() < deadline; ) {
      // a poll that ends before its fetch does leaves a wish behind, and the client takes what was just released
      for (var record : consumer.poll(WAIT)) {
        given++;
        var answer = rules.get(record.value());
        if (answer != null) {
          consumer.acknowledge(record, answer);
        }
        String status = answer == null ? "ACQRD" : STATUS.get(answer);
        System.out.printf("%s      | %s  | %s%n", record.value(), status, record.deliveryCount().get());
      }
      consumer.commitSync().forEach((partition, refused) -> refused.ifPresent(System.out::println));
    }
  }

  private static void hold(String file) throws InterruptedException {
    long deadline = System.nanoTime() + WAIT.toNanos();
    while (file != null && !Files.exists(Path.of(file)) && System.nanoTime() < deadline) {
      Thread.sleep(20);
    }
  }
}
