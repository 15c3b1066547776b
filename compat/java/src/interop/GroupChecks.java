package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.Interop.take;
import static interop.ProducerChecks.send;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;

/** Classic groups with Java members: sharing, returning, fencing, committing. */
final class GroupChecks {
  private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

  private GroupChecks() {}

  static void register() {
    check("group_range_members_share_and_take_over", at -> comeAndGo(at, "RangeAssignor"));
    check("group_cooperative_members_share_and_take_over", at -> comeAndGo(at, "CooperativeStickyAssignor"));
    check("group_goes_on_where_it_committed", GroupChecks::commits);
    check("group_commits_asynchronously", GroupChecks::commitsAsync);
    check("group_static_member_returns_to_its_partitions", GroupChecks::staticMember);
    check("group_static_member_is_fenced_by_its_successor", GroupChecks::fenced);
    check("group_member_that_stalls_cannot_commit", GroupChecks::stalled);
    check("group_pattern_subscription_sees_later_topics", GroupChecks::pattern);
    check("group_new_partitions_are_assigned", GroupChecks::newPartitions);
  }

  private static Set<TopicPartition> union(List<Consumer<byte[], byte[]>> members) {
    Set<TopicPartition> held = new HashSet<>();
    members.forEach(m -> held.addAll(m.assignment()));
    return held;
  }

  /** Everybody polls until every partition has one holder and nobody holds more than a fair part. */
  private static void settle(List<Consumer<byte[], byte[]>> members, int partitions) {
    await(members.size() + " members to share " + partitions, () -> {
      members.forEach(m -> m.poll(Duration.ofMillis(20)));
      int total = members.stream().mapToInt(m -> m.assignment().size()).sum();
      int most = members.stream().mapToInt(m -> m.assignment().size()).max().orElse(0);
      int fair = (partitions + members.size() - 1) / members.size();
      return total == partitions && union(members).size() == partitions && most <= fair;
    });
  }

  private static void comeAndGo(Interop at, String assignor) throws Exception {
    String topic = at.topic(6);
    String group = at.fresh("group");
    List<Consumer<byte[], byte[]>> members = new ArrayList<>();
    try {
      for (int n = 0; n < 3; n++) {
        members.add(at.consumer(group, Map.of("partition.assignment.strategy", ASSIGNORS + assignor)));
        members.get(n).subscribe(List.of(topic));
        settle(members, 6);
      }
      members.remove(0).close();
      settle(members, 6);
    } finally {
      members.forEach(Consumer::close);
    }
  }

  private static void commits(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = at.fresh("group");
    var here = new TopicPartition(topic, 0);
    send(at, topic, 0, 10, Map.of());
    try (var consumer = at.consumer(group, Map.of("max.poll.records", "4"))) {
      consumer.subscribe(List.of(topic));
      take(consumer, 4);
      consumer.commitSync();
      same(4L, consumer.committed(Set.of(here)).get(here).offset());
      consumer.commitSync(Map.of(here, new OffsetAndMetadata(7, "half way")));
    }
    try (var consumer = at.consumer(group, Map.of())) {
      consumer.subscribe(List.of(topic));
      same(7L, take(consumer, 3).get(0).offset());
      same("half way", consumer.committed(Set.of(here)).get(here).metadata());
    }
  }

  private static void commitsAsync(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 5, Map.of());
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      consumer.subscribe(List.of(topic));
      take(consumer, 5);
      var told = new AtomicReference<Object>();
      consumer.commitAsync((offsets, error) -> told.set(error == null ? offsets : error));
      await("the commit's report", () -> {
        consumer.poll(Duration.ofMillis(20));
        return told.get() != null;
      });
      hold(told.get() instanceof Map, "commit: " + told.get());
    }
  }

  private static void staticMember(Interop at) throws Exception {
    String topic = at.topic(4);
    String group = at.fresh("group");
    try (var stays = at.consumer(group, Map.of("group.instance.id", "stays"))) {
      stays.subscribe(List.of(topic));
      var leaves = at.consumer(group, Map.of("group.instance.id", "leaves"));
      leaves.subscribe(List.of(topic));
      settle(List.of(stays, leaves), 4);
      var held = leaves.assignment();
      int generation = stays.groupMetadata().generationId();
      leaves.close();
      try (var back = at.consumer(group, Map.of("group.instance.id", "leaves"))) {
        back.subscribe(List.of(topic));
        settle(List.of(stays, back), 4);
        same(held, back.assignment());
        same(generation, stays.groupMetadata().generationId());
      }
    }
  }

  private static void fenced(Interop at) throws Exception {
    String topic = at.topic(2);
    String group = at.fresh("group");
    Map<String, String> config = Map.of("group.instance.id", "same");
    try (var old = at.consumer(group, config); var successor = at.consumer(group, config)) {
      old.subscribe(List.of(topic));
      settle(List.of(old), 2);
      successor.subscribe(List.of(topic));
      settle(List.of(successor), 2);
      refused(FencedInstanceIdException.class, () -> await("the fence", () -> {
        old.poll(Duration.ofMillis(50));
        old.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)));
        return false;
      }));
    }
  }

  private static void stalled(Interop at) throws Exception {
    String topic = at.topic(2);
    String group = at.fresh("group");
    send(at, topic, 0, 5, Map.of());
    Map<String, String> config = Map.of("max.poll.interval.ms", "1500", "session.timeout.ms", "1500");
    try (var stalls = at.consumer(group, config); var works = at.consumer(group, Map.of())) {
      stalls.subscribe(List.of(topic));
      settle(List.of(stalls), 2);
      works.subscribe(List.of(topic));
      settle(List.of(works), 2);
      refused(CommitFailedException.class,
          () -> stalls.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(5))));
    }
  }

  private static void pattern(Interop at) throws Exception {
    String stem = at.fresh("pattern");
    try (var consumer = at.consumer(at.fresh("group"), Map.of("metadata.max.age.ms", "300"))) {
      consumer.subscribe(Pattern.compile(stem + ".*"));
      consumer.poll(Duration.ofMillis(200));
      at.admin.createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(stem + "-late", 2, (short) 1))).all().get();
      settle(List.of(consumer), 2);
    }
  }

  private static void newPartitions(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.consumer(at.fresh("group"), Map.of("metadata.max.age.ms", "300"))) {
      consumer.subscribe(List.of(topic));
      settle(List.of(consumer), 1);
      at.admin.createPartitions(Map.of(topic, org.apache.kafka.clients.admin.NewPartitions.increaseTo(3))).all().get();
      settle(List.of(consumer), 3);
    }
  }
}
