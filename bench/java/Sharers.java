package bench;

import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Share consumers as the rows want them. */
final class Sharers {
  private Sharers() {}

  static KafkaShareConsumer<byte[], byte[]> implicit(String address, String group) {
    return of(settings(address, group));
  }

  /** One record a poll, each acknowledged by a call. */
  static KafkaShareConsumer<byte[], byte[]> ofSingleJobs(String address, String group, int fetchMaxBytes) {
    Properties settings = settings(address, group);
    settings.put("share.acknowledgement.mode", "explicit");
    settings.put("share.acquire.mode", "record_limit");
    settings.put("max.poll.records", "1");
    if (fetchMaxBytes > 0) {
      settings.put("fetch.max.bytes", String.valueOf(fetchMaxBytes));
    }
    return of(settings);
  }

  private static Properties settings(String address, String group) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", address);
    settings.put("group.id", group);
    return settings;
  }

  private static KafkaShareConsumer<byte[], byte[]> of(Properties settings) {
    return new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }
}
