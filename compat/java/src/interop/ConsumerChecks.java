package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.Interop.take;
import static interop.ProducerChecks.bytes;
import static interop.ProducerChecks.send;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Positions, look-ups, waiting and fetch sessions of the Java consumer. */
final class ConsumerChecks {
  private ConsumerChecks() {}

  static void register() {
    check("consumer_seeks_and_knows_its_position", ConsumerChecks::seek);
    check("consumer_finds_offsets_by_time", ConsumerChecks::times);
    check("consumer_pauses_and_resumes", ConsumerChecks::pause);
    check("consumer_without_reset_is_told", ConsumerChecks::noReset);
    check("consumer_resets_by_duration", ConsumerChecks::byDuration);
    check("consumer_reads_forty_partitions_in_one_session", ConsumerChecks::manyPartitions);
    check("consumer_is_woken_by_a_new_record", ConsumerChecks::woken);
    check("consumer_reads_more_than_one_fetch_holds", ConsumerChecks::smallFetches);
    check("consumer_reads_committed", ConsumerChecks::readCommitted);
    check("consumer_lists_topics", ConsumerChecks::lists);
  }

  private static void seek(Interop at) throws Exception {
    String topic = at.topic(1);
    var here = new TopicPartition(topic, 0);
    send(at, topic, 0, 10, Map.of());
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      consumer.assign(List.of(here));
      same(Map.of(here, 0L), consumer.beginningOffsets(List.of(here)));
      same(Map.of(here, 10L), consumer.endOffsets(List.of(here)));
      consumer.seek(here, 8);
      same(8L, take(consumer, 2).get(0).offset());
      same(10L, consumer.position(here));
      consumer.seekToBeginning(List.of(here));
      same(0L, consumer.position(here));
    }
  }

  private static void times(Interop at) throws Exception {
    String topic = at.topic(1);
    var here = new TopicPartition(topic, 0);
    try (var producer = at.producer(Map.of("compression.type", "lz4", "linger.ms", "50"))) {
      for (long n = 0; n < 10; n++) {
        producer.send(new ProducerRecord<>(topic, 0, 1_000_000 + 1_000 * n, null, bytes("v")));
      }
    }
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      var found = consumer.offsetsForTimes(Map.of(here, 1_004_500L)).get(here);
      same(5L, found.offset());
      same(1_005_000L, found.timestamp());
      hold(consumer.offsetsForTimes(Map.of(here, 9_000_000L)).get(here) == null, "nothing after the last record");
    }
  }

  private static void pause(Interop at) throws Exception {
    String topic = at.topic(2);
    send(at, topic, 0, 5, Map.of());
    send(at, topic, 1, 5, Map.of());
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
      consumer.pause(List.of(new TopicPartition(topic, 0)));
      hold(take(consumer, 5).stream().allMatch(r -> r.partition() == 1), "only the other partition");
      consumer.resume(List.of(new TopicPartition(topic, 0)));
      hold(take(consumer, 5).stream().allMatch(r -> r.partition() == 0), "the resumed partition");
    }
  }

  private static void noReset(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 3, Map.of());
    try (var consumer = at.consumer(at.fresh("group"), Map.of("auto.offset.reset", "none"))) {
      var here = new TopicPartition(topic, 0);
      consumer.assign(List.of(here));
      refused(NoOffsetForPartitionException.class, () -> take(consumer, 1));
      consumer.seek(here, 50);
      refused(OffsetOutOfRangeException.class, () -> take(consumer, 1));
    }
  }

  private static void byDuration(Interop at) throws Exception {
    String topic = at.topic(1);
    long now = System.currentTimeMillis();
    try (var producer = at.producer(Map.of())) {
      producer.send(new ProducerRecord<>(topic, 0, now - 7_200_000, null, bytes("old")));
      producer.send(new ProducerRecord<>(topic, 0, now, null, bytes("young"))).get();
    }
    try (var consumer = at.consumer(at.fresh("group"), Map.of("auto.offset.reset", "by_duration:PT1H"))) {
      consumer.assign(List.of(new TopicPartition(topic, 0)));
      same(1L, take(consumer, 1).get(0).offset());
    }
  }

  private static void manyPartitions(Interop at) throws Exception {
    String topic = at.topic(40);
    try (var consumer = at.consumer(at.fresh("group"), Map.of()); var producer = at.producer(Map.of())) {
      consumer.assign(IntStream.range(0, 40).mapToObj(p -> new TopicPartition(topic, p)).toList());
      for (int round = 0; round < 5; round++) { // the session answers only what changed
        Set<Integer> expected = new HashSet<>();
        for (int p = round; p < 40; p += 7) {
          producer.send(new ProducerRecord<>(topic, p, null, bytes("round-" + round)));
          expected.add(p);
        }
        producer.flush();
        var seen = new HashSet<Integer>();
        take(consumer, expected.size()).forEach(r -> seen.add(r.partition()));
        same(expected, seen);
      }
    }
  }

  private static void woken(Interop at) throws Exception {
    String topic = at.topic(1);
    try (var consumer = at.consumer(at.fresh("group"), Map.of("fetch.max.wait.ms", "3000")); var producer = at.producer(Map.of())) {
      consumer.assign(List.of(new TopicPartition(topic, 0)));
      same(0, consumer.poll(Duration.ofMillis(500)).count());
      long start = System.nanoTime();
      producer.send(new ProducerRecord<>(topic, 0, null, bytes("v"))).get();
      take(consumer, 1);
      long ms = (System.nanoTime() - start) / 1_000_000;
      hold(ms < 1_500, "the waiting fetch took " + ms + " ms");
    }
  }

  private static void smallFetches(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 2_000, Map.of("batch.size", "500"));
    try (var consumer = at.consumer(at.fresh("group"), Map.of("max.partition.fetch.bytes", "300", "fetch.max.bytes", "300"))) {
      consumer.assign(List.of(new TopicPartition(topic, 0)));
      ProducerChecks.inOrder(take(consumer, 2_000));
    }
  }

  private static void readCommitted(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 10, Map.of());
    try (var consumer = at.consumer(at.fresh("group"), Map.of("isolation.level", "read_committed"))) {
      var here = new TopicPartition(topic, 0);
      consumer.assign(List.of(here));
      ProducerChecks.inOrder(take(consumer, 10));
      same(Map.of(here, 10L), consumer.endOffsets(List.of(here)));
    }
  }

  private static void lists(Interop at) throws Exception {
    String topic = at.topic(3);
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      await("the topic in the list", () -> consumer.listTopics().containsKey(topic));
      same(3, consumer.partitionsFor(topic).size());
    }
  }
}
