package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.last;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.ProducerChecks.bytes;
import static interop.ProducerChecks.send;
import static interop.Shares.EXPLICIT;
import static interop.Shares.atLeast;
import static interop.Shares.awaitLag;
import static interop.Shares.commit;
import static interop.Shares.configure;
import static interop.Shares.counts;
import static interop.Shares.group;
import static interop.Shares.offsets;
import static interop.Shares.somePoll;
import static interop.Shares.take;
import static interop.Shares.with;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupMaxSizeReachedException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.utils.Time;

/** What a member of a share group is given, and the rest of what KafkaShareConsumer can be asked. */
final class ShareConsumerChecks {
  private static final AcknowledgeType ACCEPT = AcknowledgeType.ACCEPT;
  private static final Map<String, String> LIMITED = with(EXPLICIT, "share.acquire.mode", "record_limit", "max.poll.records", "5");
  private static final Map<String, String> OPTIMISED = with(LIMITED, "share.acquire.mode", "batch_optimized");

  private ShareConsumerChecks() {}

  static void register() {
    check("share_subscription_is_what_was_subscribed_last", ShareConsumerChecks::subscription);
    check("share_polling_without_a_subscription_is_refused", ShareConsumerChecks::noSubscription);
    check("share_subscribing_to_other_topics_brings_other_records", ShareConsumerChecks::resubscribe);
    check("share_a_topic_that_comes_later_is_shared_too", ShareConsumerChecks::laterTopic);
    check("share_partitions_that_come_later_are_shared_too", ShareConsumerChecks::laterPartitions);
    check("share_an_impossible_topic_name_is_told", ShareConsumerChecks::impossibleTopic);
    check("share_a_group_of_another_kind_is_refused", ShareConsumerChecks::otherKind);
    check("share_a_full_group_refuses_members", ShareConsumerChecks::fullGroup);
    check("share_several_topics_and_partitions", ShareConsumerChecks::severalTopics);
    check("share_every_group_gets_every_record", ShareConsumerChecks::twoGroups);
    check("share_records_come_whole_in_every_compression", ShareConsumerChecks::whole);
    check("share_a_record_larger_than_a_fetch_comes", ShareConsumerChecks::largeRecord);
    check("share_many_members_on_one_partition", ShareConsumerChecks::manyMembers);
    check("share_record_limit_is_exact", ShareConsumerChecks::recordLimit);
    check("share_record_limit_leaves_the_rest_to_others", ShareConsumerChecks::recordLimitShares);
    check("share_batch_optimized_takes_whole_batches", ShareConsumerChecks::batchOptimized);
    check("share_a_group_begins_at_the_end_unless_told", ShareConsumerChecks::beginsAtTheEnd);
    check("share_a_group_may_begin_a_while_ago", ShareConsumerChecks::beginsAWhileAgo);
    check("share_the_window_of_records_in_flight_is_bounded", ShareConsumerChecks::window);
    check("share_who_does_not_poll_in_time_leaves_and_may_return", ShareConsumerChecks::slowPoller);
    check("share_lease_time_is_told", ShareConsumerChecks::leaseTime);
    check("share_metrics_count_what_happened", ShareConsumerChecks::metrics);
    check("share_own_metrics_may_be_registered", ShareConsumerChecks::ownMetrics);
    check("share_client_instance_id", ShareConsumerChecks::clientInstanceId);
    check("share_wakeup_ends_a_poll", ShareConsumerChecks::wakeup);
    check("share_wakeup_before_a_poll_ends_it", ShareConsumerChecks::wakeupFirst);
    check("share_a_closed_consumer_refuses_everything", ShareConsumerChecks::closed);
    check("share_a_consumer_belongs_to_one_thread", ShareConsumerChecks::oneThread);
    last("share_every_method_of_the_consumer_was_called", ShareConsumerChecks::everyMethod);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
  }

  private static void subscription(Interop at) throws Exception {
    try (var consumer = at.sharer(at.fresh("group"), Map.of())) {
      same(Set.of(), consumer.subscription());
      consumer.subscribe(List.of("one", "two"));
      same(Set.of("one", "two"), consumer.subscription());
      consumer.subscribe(List.of("three"));
      same(Set.of("three"), consumer.subscription());
      consumer.subscribe(List.of());
      same(Set.of(), consumer.subscription());
      consumer.subscribe(List.of("four"));
      consumer.unsubscribe();
      same(Set.of(), consumer.subscription());
      refused(IllegalArgumentException.class, () -> consumer.subscribe(null));
      refused(IllegalArgumentException.class, () -> consumer.subscribe(List.of(" ")));
    }
  }

  private static void noSubscription(Interop at) throws Exception {
    try (var consumer = at.sharer(at.fresh("group"), Map.of())) {
      refused(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(10)));
      same(Map.of(), consumer.commitSync());
    }
    refused(KafkaException.class, () -> at.sharer("", Map.of()).close());
  }

  private static void resubscribe(Interop at) throws Exception {
    String one = at.topic(1);
    String two = at.topic(1);
    String group = group(at);
    send(at, one, 0, 2, Map.of());
    send(at, two, 0, 3, Map.of());
    try (var consumer = at.sharer(group, EXPLICIT, one)) {
      take(consumer, 2, ACCEPT);
      consumer.subscribe(List.of(two));
      var records = take(consumer, 3, ACCEPT);
      same(Set.of(two), records.stream().map(ConsumerRecord::topic).collect(Collectors.toSet()));
      awaitLag(at, group, one, 0);
      consumer.unsubscribe();
      send(at, one, 0, 1, Map.of());
      consumer.subscribe(List.of(one, two));
      same(one, take(consumer, 1, ACCEPT).get(0).topic());
    }
  }

  private static void laterTopic(Interop at) throws Exception {
    String later = at.fresh("later");
    try (var consumer = at.sharer(group(at), with(EXPLICIT, "metadata.max.age.ms", "300", "allow.auto.create.topics", "false"), later)) {
      consumer.poll(Duration.ofMillis(200));
      at.admin.createTopics(List.of(new NewTopic(later, 1, (short) 1))).all().get();
      send(at, later, 0, 3, Map.of());
      take(consumer, 3, ACCEPT);
    }
  }

  private static void laterPartitions(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 1, Map.of());
    try (var consumer = at.sharer(group(at), with(EXPLICIT, "metadata.max.age.ms", "300"), topic)) {
      take(consumer, 1, ACCEPT);
      at.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
      await("leaders of the new partitions", () -> {
        try {
          return at.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size() == 3;
        } catch (InterruptedException | ExecutionException e) {
          throw new AssertionError(e);
        }
      });
      send(at, topic, 1, 2, Map.of());
      send(at, topic, 2, 2, Map.of());
      var records = take(consumer, 4, ACCEPT);
      same(Set.of(1, 2), records.stream().map(ConsumerRecord::partition).collect(Collectors.toSet()));
    }
  }

  private static void impossibleTopic(Interop at) throws Exception {
    try (var consumer = at.sharer(group(at), Map.of(), "no topic")) {
      refused(InvalidTopicException.class, () -> await("the refusal", () -> {
        consumer.poll(Duration.ofMillis(100));
        return false;
      }));
    }
  }

  private static void otherKind(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = at.fresh("group");
    try (var classic = at.consumer(group, Map.of())) {
      classic.subscribe(List.of(topic));
      await("a classic member", () -> {
        classic.poll(Duration.ofMillis(50));
        return !classic.assignment().isEmpty();
      });
      try (var consumer = at.sharer(group, Map.of(), topic)) {
        refused(org.apache.kafka.common.errors.GroupIdNotFoundException.class, () -> await("the refusal", () -> {
          consumer.poll(Duration.ofMillis(100));
          return false;
        }));
      }
    }
  }

  /** The broker of these checks lets ten into a group. */
  private static void fullGroup(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = group(at);
    List<ShareConsumer<byte[], byte[]>> members = new ArrayList<>();
    try {
      for (int n = 0; n < 10; n++) {
        members.add(at.sharer(group, Map.of(), topic));
      }
      await("ten members", () -> {
        members.forEach(member -> member.poll(Duration.ofMillis(10)));
        try {
          return at.admin.describeShareGroups(List.of(group)).all().get().get(group).members().size() == 10;
        } catch (InterruptedException | ExecutionException e) {
          throw new AssertionError(e);
        }
      });
      try (var eleventh = at.sharer(group, Map.of(), topic)) {
        refused(GroupMaxSizeReachedException.class, () -> await("the refusal", () -> {
          eleventh.poll(Duration.ofMillis(100));
          return false;
        }));
      }
    } finally {
      members.forEach(ShareConsumer::close);
    }
  }

  private static void severalTopics(Interop at) throws Exception {
    List<String> topics = List.of(at.topic(2), at.topic(1), at.topic(3));
    Map<String, Set<String>> expected = new TreeMap<>();
    int[] partitions = {2, 1, 3};
    for (int t = 0; t < topics.size(); t++) {
      for (int p = 0; p < partitions[t]; p++) {
        send(at, topics.get(t), p, 20, Map.of());
        var all = expected.computeIfAbsent(topics.get(t) + "-" + p, key -> new HashSet<>());
        for (int n = 0; n < 20; n++) {
          all.add("value-" + n);
        }
      }
    }
    try (var consumer = at.sharer(group(at), EXPLICIT, topics.toArray(String[]::new))) {
      Map<String, Set<String>> got = new TreeMap<>();
      take(consumer, 120, ACCEPT).forEach(record -> hold(
          got.computeIfAbsent(record.topic() + "-" + record.partition(), key -> new HashSet<>()).add(text(record.value())),
          "twice: " + record));
      same(expected, got);
      commit(consumer);
    }
  }

  private static void twoGroups(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 5, Map.of());
    try (var one = at.sharer(group(at), EXPLICIT, topic); var two = at.sharer(group(at), EXPLICIT, topic)) {
      same(List.of(0L, 1L, 2L, 3L, 4L), offsets(take(one, 5, AcknowledgeType.REJECT)));
      same(List.of(0L, 1L, 2L, 3L, 4L), offsets(take(two, 5, ACCEPT)));
    }
  }

  private static void whole(Interop at) throws Exception {
    String topic = at.topic(1);
    List<String> kinds = List.of("none", "gzip", "snappy", "lz4", "zstd");
    for (String kind : kinds) {
      try (var producer = at.producer(Map.of("compression.type", kind))) {
        var headers = List.<org.apache.kafka.common.header.Header>of(new RecordHeader("h", bytes(kind)), new RecordHeader("null", null));
        producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L, bytes("key"), bytes(kind.repeat(100)), headers)).get();
        producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_001L, null, null, List.of())).get();
      }
    }
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      var records = take(consumer, 10, ACCEPT);
      for (int n = 0; n < 5; n++) {
        var full = records.get(2 * n);
        same("key", text(full.key()));
        same(kinds.get(n).repeat(100), text(full.value()));
        same(1_700_000_000_000L, full.timestamp());
        same(kinds.get(n), text(full.headers().lastHeader("h").value()));
        hold(full.headers().lastHeader("null").value() == null, "a null header came as something");
        same(Optional.of(0), full.leaderEpoch());
        hold(records.get(2 * n + 1).key() == null && records.get(2 * n + 1).value() == null, "nulls came as something");
      }
    }
  }

  private static void largeRecord(Interop at) throws Exception {
    String topic = at.topic(1);
    byte[] large = new byte[700_000];
    Arrays.fill(large, (byte) 7);
    try (var producer = at.producer(Map.of())) {
      for (int n = 0; n < 3; n++) {
        producer.send(new ProducerRecord<>(topic, 0, null, large)).get();
      }
    }
    try (var consumer = at.sharer(group(at), with(EXPLICIT, "fetch.max.bytes", "1000"), topic)) {
      take(consumer, 3, ACCEPT).forEach(record -> hold(Arrays.equals(large, record.value()), "another record"));
    }
  }

  /** Eight threads share one partition; every record goes to one of them, and each of them gets some. */
  private static void manyMembers(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = group(at);
    int members = 8;
    int total = 400;
    ExecutorService threads = Executors.newFixedThreadPool(members);
    try {
      Set<Long> seen = java.util.concurrent.ConcurrentHashMap.newKeySet();
      List<Future<Integer>> each = new ArrayList<>();
      for (int n = 0; n < members; n++) {
        Callable<Integer> work = () -> shareUntil(at.sharer(group, LIMITED, topic), seen, total);
        each.add(threads.submit(work));
      }
      for (int n = 0; n < total / 10; n++) {
        send(at, topic, 0, 10, Map.of());
      }
      int sum = 0;
      for (var one : each) {
        int got = one.get();
        hold(got > 0, "a member got nothing");
        sum += got;
      }
      same(total, sum);
      same(total, seen.size());
      awaitLag(at, group, topic, 0);
    } finally {
      threads.shutdown();
    }
  }

  private static int shareUntil(ShareConsumer<byte[], byte[]> member, Set<Long> seen, int total) {
    int[] got = {0};
    try (member) {
      await("the end of the work", () -> {
        var records = member.poll(Duration.ofMillis(100));
        for (var record : records) {
          hold(seen.add(record.offset()), "delivered twice: " + record.offset());
          same((short) 1, record.deliveryCount().orElseThrow());
          member.acknowledge(record);
          got[0]++;
        }
        if (!records.isEmpty()) {
          commit(member);
        }
        return seen.size() >= total;
      });
    }
    return got[0];
  }

  private static void recordLimit(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 20, Map.of("linger.ms", "1000"));
    try (var consumer = at.sharer(group(at), LIMITED, topic)) {
      for (int round = 0; round < 4; round++) {
        var records = somePoll(consumer);
        same(5, records.count());
        same((long) round * 5, records.iterator().next().offset());
        records.forEach(consumer::acknowledge);
        commit(consumer);
      }
    }
  }

  private static void recordLimitShares(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 10, Map.of("linger.ms", "1000"));
    String group = group(at);
    try (var one = at.sharer(group, LIMITED, topic); var two = at.sharer(group, LIMITED, topic)) {
      var first = offsets(somePoll(one));
      var second = offsets(somePoll(two));
      same(List.of(5, 5), List.of(first.size(), second.size()));
      Set<Long> all = new HashSet<>(first);
      all.addAll(second);
      same(10, all.size());
    }
  }

  private static void batchOptimized(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 20, Map.of("linger.ms", "1000"));
    try (var consumer = at.sharer(group(at), OPTIMISED, topic)) {
      var records = somePoll(consumer);
      same(20, records.count()); // five were asked for; a batch is not cut
      records.forEach(consumer::acknowledge);
      commit(consumer);
    }
  }

  private static void beginsAtTheEnd(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = at.fresh("group");
    send(at, topic, 0, 5, Map.of());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
      await("a record that came after the group", () -> {
        try {
          send(at, topic, 0, 1, Map.of());
        } catch (Exception e) {
          throw new AssertionError(e);
        }
        consumer.poll(Duration.ofMillis(300)).forEach(record -> {
          got.add(record);
          consumer.acknowledge(record);
        });
        return !got.isEmpty();
      });
      hold(got.get(0).offset() >= 5, "an older record: " + got.get(0));
    }
  }

  private static void beginsAWhileAgo(Interop at) throws Exception {
    String topic = at.topic(1);
    long now = System.currentTimeMillis();
    try (var producer = at.producer(Map.of())) {
      for (int hours = 5; hours >= 0; hours--) {
        producer.send(new ProducerRecord<>(topic, 0, now - hours * 3_600_000L, null, bytes("" + hours))).get();
      }
    }
    String group = group(at, Map.of("share.auto.offset.reset", "by_duration:PT2H30M"));
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      same(List.of(3L, 4L, 5L), offsets(take(consumer, 3, ACCEPT)));
    }
  }

  private static void window(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 150, Map.of("batch.size", "0"));
    String group = group(at, Map.of("share.partition.max.record.locks", "100"));
    try (var one = at.sharer(group, EXPLICIT, topic); var two = at.sharer(group, EXPLICIT, topic)) {
      List<ConsumerRecord<byte[], byte[]>> held = new ArrayList<>();
      somePoll(one).forEach(held::add);
      Set<Long> others = new HashSet<>();
      await("the window to be full", () -> {
        two.poll(Duration.ofMillis(500)).forEach(record -> {
          others.add(record.offset());
          two.acknowledge(record);
        });
        return others.size() + held.size() >= 100;
      });
      same(100, others.size() + held.size());
      commit(two); // a window: what is done behind the first one that is held makes no room
      same(0, two.poll(Duration.ofMillis(700)).count());
      held.forEach(one::acknowledge);
      commit(one);
      same(50, take(two, 50, ACCEPT).size());
    }
  }

  private static void slowPoller(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 3, Map.of());
    String group = group(at, Map.of("share.record.lock.duration.ms", "1500"));
    try (var slow = at.sharer(group, with(EXPLICIT, "max.poll.interval.ms", "1000"), topic)) {
      take(slow, 3, ACCEPT);
      commit(slow);
      await("the member to be gone", () -> {
        try {
          return at.admin.describeShareGroups(List.of(group)).all().get().get(group).members().isEmpty();
        } catch (InterruptedException | ExecutionException e) {
          throw new AssertionError(e);
        }
      });
      send(at, topic, 0, 2, Map.of());
      same(List.of(3L, 4L), offsets(take(slow, 2, ACCEPT)));
    }
  }

  private static void leaseTime(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 1, Map.of());
    String group = group(at, Map.of("share.record.lock.duration.ms", "20000"));
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      same(Optional.empty(), consumer.acquisitionLockTimeoutMs());
      take(consumer, 1, ACCEPT);
      same(Optional.of(20_000), consumer.acquisitionLockTimeoutMs());
      commit(consumer);
      configure(at, group, Map.of("share.record.lock.duration.ms", "25000"));
      send(at, topic, 0, 1, Map.of());
      take(consumer, 1, ACCEPT);
      same(Optional.of(25_000), consumer.acquisitionLockTimeoutMs());
    }
  }

  private static double metric(ShareConsumer<?, ?> consumer, String group, String name) {
    return consumer.metrics().entrySet().stream()
        .filter(e -> e.getKey().group().equals(group) && e.getKey().name().equals(name))
        .map(e -> ((Number) e.getValue().metricValue()).doubleValue())
        .findFirst().orElseThrow(() -> new AssertionError("no metric " + name));
  }

  private static void metrics(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 7, Map.of());
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      take(consumer, 7, ACCEPT);
      commit(consumer);
      String fetches = "consumer-share-fetch-manager-metrics";
      same(7.0, metric(consumer, fetches, "records-consumed-total"));
      same(7.0, metric(consumer, fetches, "acknowledgements-send-total"));
      same(0.0, metric(consumer, fetches, "acknowledgements-error-total"));
      hold(metric(consumer, fetches, "bytes-consumed-total") > 70, "bytes");
      hold(metric(consumer, fetches, "fetch-total") >= 1, "fetches");
      hold(metric(consumer, "consumer-share-coordinator-metrics", "heartbeat-total") >= 2, "heartbeats");
      hold(metric(consumer, "consumer-share-coordinator-metrics", "rebalance-total") >= 1, "rebalances");
      hold(metric(consumer, "consumer-share-metrics", "poll-idle-ratio-avg") >= 0, "polls");
    }
  }

  private static void ownMetrics(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 1, Map.of());
    Measurable seven = (config, now) -> 7;
    var own = new KafkaMetric(new Object(), new MetricName("mine", "own", "", Map.of()), seven, new MetricConfig(), Time.SYSTEM);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      consumer.registerMetricForSubscription(own);
      consumer.registerMetricForSubscription(own);
      take(consumer, 1, ACCEPT);
      hold(consumer.metrics().keySet().stream().noneMatch(name -> name.name().equals("mine")), "it is for the subscription only");
      consumer.unregisterMetricFromSubscription(own);
      commit(consumer);
    }
  }

  private static void clientInstanceId(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.sharer(group(at), Map.of("enable.metrics.push", "false"), topic)) {
      refused(IllegalStateException.class, () -> consumer.clientInstanceId(Duration.ofSeconds(1)));
    }
    try (var consumer = at.sharer(group(at), Map.of(), topic)) {
      refused(IllegalArgumentException.class, () -> consumer.clientInstanceId(Duration.ofMillis(-1)));
      // the broker gathers no telemetry, so it names nobody; a consumer that asks is not harmed by that
      hold(consumer.clientInstanceId(Duration.ofMillis(700)) == null, "somebody named it");
      consumer.poll(Duration.ofMillis(100));
    }
  }

  /** So that a method that is new in the interface cannot be forgotten. */
  private static void everyMethod(Interop at) {
    Set<String> all = new TreeSet<>();
    for (var method : ShareConsumer.class.getMethods()) {
      all.add(Shares.signature(method));
    }
    all.removeAll(at.calledOfSharers);
    same(Set.of(), all);
  }

  private static void wakeup(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      var waker = new Thread(() -> {
        try {
          Thread.sleep(300); // so that it waits
        } catch (InterruptedException e) {
          return;
        }
        consumer.wakeup();
      });
      waker.start();
      refused(WakeupException.class, () -> consumer.poll(Duration.ofSeconds(30)));
      waker.join();
      send(at, topic, 0, 1, Map.of());
      take(consumer, 1, ACCEPT); // and it goes on
    }
  }

  private static void wakeupFirst(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      consumer.wakeup();
      refused(WakeupException.class, () -> consumer.poll(Duration.ofSeconds(10)));
      same(0, consumer.poll(Duration.ofMillis(10)).count());
    }
  }

  private static void closed(Interop at) throws Exception {
    String topic = at.topic(1);
    var consumer = at.sharer(group(at), EXPLICIT, topic);
    consumer.poll(Duration.ofMillis(10));
    consumer.close();
    consumer.close(Duration.ofSeconds(1));
    refused(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(10)));
    refused(IllegalStateException.class, () -> consumer.subscribe(List.of(topic)));
    refused(IllegalStateException.class, consumer::unsubscribe);
    refused(IllegalStateException.class, consumer::subscription);
    refused(IllegalStateException.class, consumer::commitSync);
    refused(IllegalStateException.class, consumer::commitAsync);
    refused(IllegalStateException.class, () -> consumer.acknowledge(topic, 0, 0, ACCEPT));
    refused(IllegalStateException.class, () -> consumer.setAcknowledgementCommitCallback(null));
  }

  private static void oneThread(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      Map<String, Throwable> seen = new HashMap<>();
      var poller = new Thread(() -> {
        try {
          consumer.poll(Duration.ofSeconds(20));
        } catch (WakeupException e) {
          seen.put("poller", e);
        }
      });
      poller.start();
      refused(ConcurrentModificationException.class, () -> await("the other thread to poll", () -> {
        consumer.subscription();
        return false;
      }));
      consumer.wakeup();
      poller.join();
      hold(seen.containsKey("poller"), "the poll was not woken");
    }
  }
}
