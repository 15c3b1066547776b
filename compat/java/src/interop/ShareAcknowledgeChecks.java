package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.ProducerChecks.bytes;
import static interop.ProducerChecks.send;
import static interop.Shares.EXPLICIT;
import static interop.Shares.atLeast;
import static interop.Shares.awaitLag;
import static interop.Shares.commit;
import static interop.Shares.counts;
import static interop.Shares.group;
import static interop.Shares.hasLag;
import static interop.Shares.offsets;
import static interop.Shares.refusal;
import static interop.Shares.somePoll;
import static interop.Shares.take;
import static interop.Shares.with;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InvalidRecordStateException;
import org.apache.kafka.common.errors.RecordDeserializationException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;

/** What a member says about its records, every way it can be said, and what becomes of them. */
final class ShareAcknowledgeChecks {
  private static final AcknowledgeType ACCEPT = AcknowledgeType.ACCEPT;
  private static final AcknowledgeType RELEASE = AcknowledgeType.RELEASE;
  private static final AcknowledgeType REJECT = AcknowledgeType.REJECT;
  private static final AcknowledgeType RENEW = AcknowledgeType.RENEW;
  /** Leases one can wait for. */
  private static final Map<String, String> SHORT = Map.of("share.record.lock.duration.ms", "1500");

  private ShareAcknowledgeChecks() {}

  static void register() {
    check("share_implicit_polling_again_accepts", ShareAcknowledgeChecks::implicitPoll);
    check("share_implicit_commit_accepts_what_was_polled", ShareAcknowledgeChecks::implicitCommit);
    check("share_implicit_closing_does_not_accept", ShareAcknowledgeChecks::implicitClose);
    check("share_implicit_members_may_not_acknowledge", ShareAcknowledgeChecks::implicitRefuses);
    check("share_acknowledging_without_a_type_accepts", ShareAcknowledgeChecks::acceptByDefault);
    check("share_accept_release_and_reject", ShareAcknowledgeChecks::threeTypes);
    check("share_acknowledging_by_offset_is_for_records_that_cannot_be_read", ShareAcknowledgeChecks::byOffset);
    check("share_closing_sends_what_was_acknowledged", ShareAcknowledgeChecks::closeSends);
    check("share_closing_in_no_time_does_not_hang", ShareAcknowledgeChecks::closeAtOnce);
    check("share_what_was_acknowledged_may_be_committed_after_unsubscribing", ShareAcknowledgeChecks::unsubscribed);
    check("share_renewing_keeps_a_record_beyond_its_lease", ShareAcknowledgeChecks::renew);
    check("share_renewed_records_are_presented_again", ShareAcknowledgeChecks::renewedComeAgain);
    check("share_renewing_may_be_switched_off_for_a_group", ShareAcknowledgeChecks::renewOff);
    check("share_renewing_too_late_is_refused", ShareAcknowledgeChecks::renewTooLate);
    check("share_a_lease_that_ran_out_is_told_and_delivered_again", ShareAcknowledgeChecks::leaseRunsOut);
    check("share_one_late_record_refuses_its_whole_partition", ShareAcknowledgeChecks::lateRefusesAll);
    check("share_the_last_word_before_the_commit_counts", ShareAcknowledgeChecks::lastWord);
    check("share_acknowledging_after_the_commit_is_refused", ShareAcknowledgeChecks::twice);
    check("share_acknowledging_what_another_holds_is_refused", ShareAcknowledgeChecks::notHeld);
    check("share_explicit_polling_waits_for_every_record", ShareAcknowledgeChecks::pollNeedsAll);
    check("share_commit_with_nothing_to_say_is_empty", ShareAcknowledgeChecks::nothingToCommit);
    check("share_commit_async_tells_the_callback", ShareAcknowledgeChecks::commitAsync);
    check("share_callback_hears_of_every_way_to_commit", ShareAcknowledgeChecks::callbackHearsAll);
    check("share_callback_hears_of_a_refusal", ShareAcknowledgeChecks::callbackHearsRefusal);
    check("share_callback_that_throws_does_no_harm", ShareAcknowledgeChecks::callbackThrows);
    check("share_callback_may_not_use_the_consumer", ShareAcknowledgeChecks::callbackMayNotCall);
    check("share_fifth_delivery_is_the_last", at -> deliveries(at, Map.of(), 5));
    check("share_group_sets_its_own_number_of_deliveries", at -> deliveries(at, Map.of("share.delivery.count.limit", "2"), 2));
    check("share_a_record_that_cannot_be_read_is_released", at -> poison(at, null));
    check("share_a_record_that_cannot_be_read_may_be_rejected", at -> poison(at, REJECT));
    check("share_more_than_ten_thousand_acknowledgements_at_once", ShareAcknowledgeChecks::many);
  }

  private static String filled(Interop at, int count) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, count, Map.of());
    return topic;
  }

  private static void implicitPoll(Interop at) throws Exception {
    String topic = filled(at, 10);
    String group = group(at);
    try (var consumer = at.sharer(group, Map.of(), topic)) {
      take(consumer, 10, null);
      consumer.poll(Duration.ofMillis(50));
      awaitLag(at, group, topic, 0);
    }
  }

  private static void implicitCommit(Interop at) throws Exception {
    String topic = filled(at, 10);
    String group = group(at);
    try (var consumer = at.sharer(group, Map.of(), topic)) {
      take(consumer, 10, null);
      var outcome = consumer.commitSync();
      same(Set.of(topic + "-0"), Set.of(outcome.keySet().iterator().next().topicPartition().toString()));
      same(List.of(Optional.empty()), new ArrayList<>(outcome.values()));
      awaitLag(at, group, topic, 0);
    }
  }

  private static void implicitClose(Interop at) throws Exception {
    String topic = filled(at, 10);
    String group = group(at);
    try (var consumer = at.sharer(group, Map.of(), topic)) {
      take(consumer, 10, null);
    }
    try (var another = at.sharer(group, EXPLICIT, topic)) {
      same(Set.of((short) 2), Set.copyOf(counts(take(another, 10, ACCEPT)))); // given back, and it counts
      commit(another);
    }
    awaitLag(at, group, topic, 0);
  }

  private static void implicitRefuses(Interop at) throws Exception {
    String topic = filled(at, 1);
    try (var consumer = at.sharer(group(at), Map.of(), topic)) {
      var record = take(consumer, 1, null).get(0);
      refused(IllegalStateException.class, () -> consumer.acknowledge(record));
      refused(IllegalStateException.class, () -> consumer.acknowledge(record, REJECT));
    }
  }

  private static void acceptByDefault(Interop at) throws Exception {
    String topic = filled(at, 5);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      somePoll(consumer).forEach(consumer::acknowledge);
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void threeTypes(Interop at) throws Exception {
    String topic = filled(at, 9);
    String group = group(at);
    AcknowledgeType[] types = {ACCEPT, RELEASE, REJECT};
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      somePoll(consumer).forEach(record -> consumer.acknowledge(record, types[(int) record.offset() % 3]));
      commit(consumer);
      var again = take(consumer, 3, ACCEPT);
      same(List.of(1L, 4L, 7L), offsets(again));
      same(Set.of((short) 2), Set.copyOf(counts(again)));
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void byOffset(Interop at) throws Exception {
    String topic = filled(at, 1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      somePoll(consumer);
      refused(IllegalStateException.class, () -> consumer.acknowledge(topic, 0, 0, ACCEPT));
      refused(IllegalStateException.class, () -> consumer.acknowledge(topic, 0, 1, ACCEPT));
    }
  }

  private static void closeSends(Interop at) throws Exception {
    String topic = filled(at, 6);
    String group = group(at);
    var consumer = at.sharer(group, EXPLICIT, topic);
    somePoll(consumer).forEach(record -> {
      if (record.offset() < 4) {
        consumer.acknowledge(record);
      }
    });
    consumer.close(Duration.ofSeconds(10));
    awaitLag(at, group, topic, 2);
    try (var another = at.sharer(group, EXPLICIT, topic)) {
      same(List.of(4L, 5L), offsets(take(another, 2, ACCEPT)));
    }
  }

  private static void closeAtOnce(Interop at) throws Exception {
    String topic = filled(at, 3);
    String group = group(at);
    var consumer = at.sharer(group, EXPLICIT, topic);
    take(consumer, 3, ACCEPT);
    long start = System.nanoTime();
    consumer.close(Duration.ZERO);
    hold(System.nanoTime() - start < 5_000_000_000L, "closing took too long");
    try (var another = at.sharer(group, EXPLICIT, topic)) {
      // its acknowledgements may have been sent or not; what was not is given back with the connection
      await("the end of the topic", () -> {
        another.poll(Duration.ofMillis(100)).forEach(another::acknowledge);
        commit(another);
        return hasLag(at, group, topic, 0);
      });
    }
  }

  private static void unsubscribed(Interop at) throws Exception {
    String topic = filled(at, 4);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 4, ACCEPT);
      consumer.unsubscribe();
      commit(consumer); // what is held is still held
      awaitLag(at, group, topic, 0);
    }
  }

  private static void renew(Interop at) throws Exception {
    String topic = filled(at, 2);
    String group = group(at, SHORT);
    try (var consumer = at.sharer(group, EXPLICIT, topic); var another = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 2, RENEW);
      commit(consumer);
      long until = System.nanoTime() + 4_000_000_000L; // more than two leases
      while (System.nanoTime() < until) {
        consumer.poll(Duration.ofMillis(200)).forEach(record -> consumer.acknowledge(record, RENEW));
        commit(consumer);
        same(0, another.poll(Duration.ofMillis(100)).count());
      }
      var held = take(consumer, 2, ACCEPT);
      same(List.of((short) 1, (short) 1), counts(held));
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void renewedComeAgain(Interop at) throws Exception {
    String topic = filled(at, 4);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      somePoll(consumer).forEach(record -> consumer.acknowledge(record, record.offset() % 2 == 0 ? ACCEPT : RENEW));
      send(at, topic, 0, 1, Map.of());
      commit(consumer);
      var again = take(consumer, 2, ACCEPT);
      same(List.of(1L, 3L), offsets(again));
      same(Set.of((short) 1), Set.copyOf(counts(again)));
      commit(consumer);
      same(List.of(4L), offsets(take(consumer, 1, ACCEPT)));
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void renewOff(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at, Map.of("share.renew.acknowledge.enable", "false"));
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 1, RENEW);
      hold(refusal(consumer.commitSync()) instanceof InvalidRecordStateException, "renewing was not refused");
    }
  }

  private static void renewTooLate(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at, SHORT);
    try (var late = at.sharer(group, EXPLICIT, topic); var next = at.sharer(group, EXPLICIT, topic)) {
      var held = takenByEither(late, next);
      held.acknowledge(RENEW);
      refused(InvalidRecordStateException.class, () -> { throw refusal(held.owner.commitSync()); });
    }
  }

  /** A record whose lease ran out: the first holder has it unacknowledged, another has been given it since. */
  private static Held takenByEither(ShareConsumer<byte[], byte[]> one, ShareConsumer<byte[], byte[]> two) {
    AtomicReference<Held> first = new AtomicReference<>();
    await("a first holder", () -> {
      for (var consumer : List.of(one, two)) {
        for (var record : consumer.poll(Duration.ofMillis(100))) {
          first.set(new Held(consumer, record));
          return true;
        }
      }
      return false;
    });
    var other = first.get().owner == one ? two : one;
    same(List.of((short) 2), counts(take(other, 1, null)));
    return first.get();
  }

  /** A record and who got it. */
  private static final class Held {
    final ShareConsumer<byte[], byte[]> owner;
    final ConsumerRecord<byte[], byte[]> record;

    Held(ShareConsumer<byte[], byte[]> owner, ConsumerRecord<byte[], byte[]> record) {
      this.owner = owner;
      this.record = record;
    }

    void acknowledge(AcknowledgeType type) {
      owner.acknowledge(record, type);
    }
  }

  private static void leaseRunsOut(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at, SHORT);
    try (var one = at.sharer(group, EXPLICIT, topic); var two = at.sharer(group, EXPLICIT, topic)) {
      var held = takenByEither(one, two);
      held.acknowledge(ACCEPT);
      hold(refusal(held.owner.commitSync()) instanceof InvalidRecordStateException, "a late word was taken");
    }
  }

  private static void lateRefusesAll(Interop at) throws Exception {
    String topic = filled(at, 3);
    String group = group(at, SHORT);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      var records = somePoll(consumer);
      records.forEach(record -> consumer.acknowledge(record, record.offset() == 1 ? RENEW : ACCEPT));
      try (var another = at.sharer(group, EXPLICIT, topic)) {
        var again = take(another, 3, null);
        same(List.of(0L, 1L, 2L), offsets(again));
        hold(refusal(consumer.commitSync()) instanceof InvalidRecordStateException, "late words were taken");
        again.forEach(another::acknowledge);
        commit(another);
        awaitLag(at, group, topic, 0);
      }
    }
  }

  private static void lastWord(Interop at) throws Exception {
    String topic = filled(at, 2);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 2, RELEASE).forEach(record -> {
        consumer.acknowledge(record, REJECT);
        consumer.acknowledge(record, ACCEPT);
      });
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void twice(Interop at) throws Exception {
    String topic = filled(at, 1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      var record = take(consumer, 1, ACCEPT).get(0);
      commit(consumer);
      refused(IllegalStateException.class, () -> consumer.acknowledge(record));
      refused(IllegalStateException.class, () -> consumer.acknowledge(record, RELEASE));
    }
  }

  private static void notHeld(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at);
    try (var one = at.sharer(group, EXPLICIT, topic); var two = at.sharer(group, EXPLICIT, topic)) {
      AtomicReference<Held> held = new AtomicReference<>();
      await("a holder", () -> {
        one.poll(Duration.ofMillis(100)).forEach(record -> held.set(new Held(one, record)));
        if (held.get() == null) {
          two.poll(Duration.ofMillis(100)).forEach(record -> held.set(new Held(two, record)));
        }
        return held.get() != null;
      });
      var other = held.get().owner == one ? two : one;
      refused(IllegalStateException.class, () -> other.acknowledge(held.get().record));
    }
  }

  private static void pollNeedsAll(Interop at) throws Exception {
    String topic = filled(at, 3);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      var records = somePoll(consumer);
      consumer.acknowledge(records.iterator().next());
      refused(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(100)));
      commit(consumer); // a commit may come before everything is said
      refused(IllegalStateException.class, () -> consumer.poll(Duration.ofMillis(100)));
      records.forEach(record -> {
        if (record.offset() > 0) {
          consumer.acknowledge(record);
        }
      });
      consumer.poll(Duration.ofMillis(100));
      awaitLag(at, group, topic, 0);
    }
  }

  private static void nothingToCommit(Interop at) throws Exception {
    String topic = filled(at, 1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      same(Map.of(), consumer.commitSync());
      take(consumer, 1, ACCEPT);
      same(1, consumer.commitSync(Duration.ofSeconds(10)).size());
      same(Map.of(), consumer.commitSync(Duration.ofSeconds(10)));
      consumer.commitAsync();
    }
  }

  private static void commitAsync(Interop at) throws Exception {
    String topic = filled(at, 3);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      List<String> told = Collections.synchronizedList(new ArrayList<>());
      consumer.setAcknowledgementCommitCallback((offsets, error) -> offsets.forEach(
          (partition, those) -> told.add(partition.topicPartition() + " " + new TreeSet<>(those) + " " + error)));
      somePoll(consumer).forEach(consumer::acknowledge);
      consumer.commitAsync();
      await("the report of the commit", () -> {
        consumer.poll(Duration.ofMillis(50));
        return !told.isEmpty();
      });
      same(List.of(topic + "-0 [0, 1, 2] null"), told);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void callbackHearsAll(Interop at) throws Exception {
    String topic = filled(at, 1);
    List<Set<Long>> told = Collections.synchronizedList(new ArrayList<>());
    var consumer = at.sharer(group(at), EXPLICIT, topic);
    consumer.setAcknowledgementCommitCallback((offsets, error) -> offsets.values().forEach(told::add));
    take(consumer, 1, ACCEPT);
    commit(consumer);
    await("the report of a commit", () -> {
      consumer.poll(Duration.ofMillis(50));
      return told.equals(List.of(Set.of(0L)));
    });
    send(at, topic, 0, 1, Map.of());
    take(consumer, 1, REJECT);
    await("the report of what a poll sent", () -> {
      consumer.poll(Duration.ofMillis(50));
      return told.equals(List.of(Set.of(0L), Set.of(1L)));
    });
    send(at, topic, 0, 1, Map.of());
    take(consumer, 1, RELEASE);
    consumer.close();
    same(List.of(Set.of(0L), Set.of(1L), Set.of(2L)), told);
  }

  private static void callbackHearsRefusal(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at, SHORT);
    try (var one = at.sharer(group, EXPLICIT, topic); var two = at.sharer(group, EXPLICIT, topic)) {
      List<Exception> told = Collections.synchronizedList(new ArrayList<>());
      one.setAcknowledgementCommitCallback((offsets, error) -> told.add(error));
      two.setAcknowledgementCommitCallback((offsets, error) -> told.add(error));
      var held = takenByEither(one, two);
      held.acknowledge(ACCEPT);
      held.owner.commitAsync();
      await("the report of the refusal", () -> {
        held.owner.poll(Duration.ofMillis(50));
        return !told.isEmpty();
      });
      hold(told.get(0) instanceof InvalidRecordStateException, "told of " + told.get(0));
    }
  }

  private static void callbackThrows(Interop at) throws Exception {
    String topic = filled(at, 1);
    String group = group(at);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      consumer.setAcknowledgementCommitCallback((offsets, error) -> {
        throw new IllegalArgumentException("the application's own fault");
      });
      take(consumer, 1, ACCEPT);
      commit(consumer);
      consumer.poll(Duration.ofMillis(50));
      consumer.setAcknowledgementCommitCallback(null);
      send(at, topic, 0, 1, Map.of());
      take(consumer, 1, ACCEPT);
      commit(consumer);
      awaitLag(at, group, topic, 0);
    }
  }

  private static void callbackMayNotCall(Interop at) throws Exception {
    String topic = filled(at, 1);
    try (var consumer = at.sharer(group(at), EXPLICIT, topic)) {
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      consumer.setAcknowledgementCommitCallback((offsets, error) -> {
        try {
          consumer.subscription();
        } catch (IllegalStateException e) {
          thrown.set(e);
        }
      });
      take(consumer, 1, ACCEPT);
      commit(consumer);
      await("the callback to be refused", () -> {
        consumer.poll(Duration.ofMillis(50));
        return thrown.get() != null;
      });
    }
  }

  private static void deliveries(Interop at, Map<String, String> wishes, int limit) throws Exception {
    String topic = filled(at, 1);
    String group = group(at, wishes);
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      for (int delivery = 1; delivery <= limit; delivery++) {
        same(List.of((short) delivery), counts(take(consumer, 1, RELEASE)));
        commit(consumer);
      }
      awaitLag(at, group, topic, 0); // archived: nobody gets it again
      send(at, topic, 0, 1, Map.of());
      same(List.of(1L), offsets(take(consumer, 1, ACCEPT)));
    }
  }

  /** Fails for one value only. */
  private static final Deserializer<String> PICKY = (topic, data) -> {
    String text = new String(data, StandardCharsets.UTF_8);
    if (text.equals("poison")) {
      throw new SerializationException("not for me");
    }
    return text;
  };

  private static void poison(Interop at, AcknowledgeType say) throws Exception {
    String topic = at.topic(1);
    String group = group(at, Map.of("share.delivery.count.limit", "2"));
    try (var producer = at.producer(Map.of())) {
      for (String value : List.of("good", "poison", "fine")) {
        producer.send(new ProducerRecord<>(topic, 0, bytes("key"), bytes(value)));
      }
    }
    List<String> read = new ArrayList<>();
    List<Long> poisoned = new ArrayList<>();
    try (var consumer = at.sharer(group, EXPLICIT, PICKY, topic)) {
      await("the end of the topic", () -> {
        try {
          for (ConsumerRecord<byte[], String> record : consumer.poll(Duration.ofMillis(200))) {
            read.add(record.value());
            consumer.acknowledge(record);
          }
        } catch (RecordDeserializationException e) {
          poisoned.add(e.offset());
          if (say != null) {
            consumer.acknowledge(topic, 0, e.offset(), say);
          }
        }
        consumer.commitSync();
        return hasLag(at, group, topic, 0);
      });
    }
    same(List.of("fine", "good"), read.stream().sorted().toList());
    same(say == null ? List.of(1L, 1L) : List.of(1L), poisoned); // released: up to the last delivery
  }

  private static void many(Interop at) throws Exception {
    String topic = filled(at, 12_000);
    String group = group(at, Map.of("share.partition.max.record.locks", "4000"));
    try (var consumer = at.sharer(group, with(EXPLICIT, "max.poll.records", "4000"), topic)) {
      int taken = 0;
      while (taken < 12_000) {
        taken += atLeast(consumer, 1, ACCEPT).size();
        commit(consumer);
      }
      same(12_000, taken);
      awaitLag(at, group, topic, 0);
    }
  }
}
