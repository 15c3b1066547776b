package interop;

import static interop.Interop.await;
import static interop.Interop.same;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What the checks of share groups do again and again: groups that begin with the first record, polls, commits. */
final class Shares {
  static final Map<String, String> EXPLICIT = Map.of("share.acknowledgement.mode", "explicit");

  private Shares() {}

  /** A share group that begins with the first record, and whatever else is wished. */
  static String group(Interop at, Map<String, String> wishes) throws Exception {
    String group = at.fresh("group");
    Map<String, String> all = new HashMap<>(Map.of("share.auto.offset.reset", "earliest"));
    all.putAll(wishes);
    configure(at, group, all);
    return group;
  }

  static String group(Interop at) throws Exception {
    return group(at, Map.of());
  }

  static void configure(Interop at, String group, Map<String, String> wishes) throws Exception {
    List<AlterConfigOp> changes = new ArrayList<>();
    wishes.forEach((key, value) -> changes.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
    Map<ConfigResource, Collection<AlterConfigOp>> of = Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), changes);
    at.admin.incrementalAlterConfigs(of).all().get();
  }

  /** Settings of both; the later wins. */
  static Map<String, String> with(Map<String, String> one, String... pairs) {
    Map<String, String> all = new HashMap<>(one);
    for (int n = 0; n < pairs.length; n += 2) {
      all.put(pairs[n], pairs[n + 1]);
    }
    return all;
  }

  /** Every record of the polls it took to have at least so many; each is acknowledged so, if a type is given. */
  static List<ConsumerRecord<byte[], byte[]>> atLeast(
      ShareConsumer<byte[], byte[]> consumer, int count, AcknowledgeType type) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    await(count + " shared records", () -> {
      for (var record : consumer.poll(Duration.ofMillis(200))) {
        records.add(record);
        if (type != null) {
          consumer.acknowledge(record, type);
        }
      }
      return records.size() >= count;
    });
    return records;
  }

  static List<ConsumerRecord<byte[], byte[]>> take(ShareConsumer<byte[], byte[]> consumer, int count, AcknowledgeType type) {
    var records = atLeast(consumer, count, type);
    same(count, records.size());
    return records;
  }

  /** The first poll that has records, untouched. */
  static ConsumerRecords<byte[], byte[]> somePoll(ShareConsumer<byte[], byte[]> consumer) {
    List<ConsumerRecords<byte[], byte[]>> polled = new ArrayList<>();
    await("a poll with records", () -> {
      var records = consumer.poll(Duration.ofMillis(200));
      if (!records.isEmpty()) {
        polled.add(records);
      }
      return !polled.isEmpty();
    });
    return polled.get(0);
  }

  /** The same consumer, and every call of the interface's methods is written down. */
  @SuppressWarnings("unchecked")
  static <V> ShareConsumer<byte[], V> watched(ShareConsumer<byte[], V> consumer, Set<String> called) {
    InvocationHandler pass = (proxy, method, args) -> {
      called.add(signature(method));
      try {
        return method.invoke(consumer, args);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    };
    Class<?>[] face = {ShareConsumer.class};
    return (ShareConsumer<byte[], V>) Proxy.newProxyInstance(Shares.class.getClassLoader(), face, pass);
  }

  static String signature(Method method) {
    return method.getName() + List.of(method.getParameterTypes());
  }

  static List<Long> offsets(Iterable<ConsumerRecord<byte[], byte[]>> records) {
    List<Long> offsets = new ArrayList<>();
    records.forEach(record -> offsets.add(record.offset()));
    return offsets;
  }

  static List<Short> counts(Iterable<ConsumerRecord<byte[], byte[]>> records) {
    List<Short> counts = new ArrayList<>();
    records.forEach(record -> counts.add(record.deliveryCount().orElseThrow()));
    return counts;
  }

  /** Everything acknowledged so far is stored; any partition's refusal fails the check. */
  static void commit(ShareConsumer<byte[], byte[]> consumer) {
    consumer.commitSync().forEach((partition, refused) -> same(Optional.empty(), refused));
  }

  /** The one partition's refusal. */
  static KafkaException refusal(Map<TopicIdPartition, Optional<KafkaException>> outcome) {
    same(1, outcome.size());
    return outcome.values().iterator().next().orElseThrow(() -> new AssertionError("expected a refusal"));
  }

  /** Where a group stands in a partition, if it says. */
  static Optional<SharePartitionOffsetInfo> stands(Interop at, String group, TopicPartition partition) {
    try {
      var spec = Map.of(group, new ListShareGroupOffsetsSpec().topicPartitions(List.of(partition)));
      return Optional.ofNullable(at.admin.listShareGroupOffsets(spec).partitionsToOffsetInfo(group).get().get(partition));
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * So many records of the partition are left to do. The stored start moves with the write after the one that
   * ended its records, so it is the lag that tells.
   */
  static void awaitLag(Interop at, String group, String topic, long left) {
    await(group + " to have " + left + " left", () -> hasLag(at, group, topic, left));
  }

  static boolean hasLag(Interop at, String group, String topic, long left) {
    return stands(at, group, new TopicPartition(topic, 0)).flatMap(SharePartitionOffsetInfo::lag).map(lag -> lag == left).orElse(false);
  }
}
