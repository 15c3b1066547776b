package interop;

import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.Interop.take;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.internals.RecordHeader;

/** What the Java producer sends is stored as it was sent, or refused by name. */
final class ProducerChecks {
  private ProducerChecks() {}

  static void register() {
    check("producer_none", at -> roundTrip(at, Map.of("compression.type", "none")));
    check("producer_gzip", at -> roundTrip(at, Map.of("compression.type", "gzip")));
    check("producer_snappy", at -> roundTrip(at, Map.of("compression.type", "snappy")));
    check("producer_lz4", at -> roundTrip(at, Map.of("compression.type", "lz4")));
    check("producer_zstd", at -> roundTrip(at, Map.of("compression.type", "zstd")));
    check("producer_acks_1", at -> roundTrip(at, Map.of("acks", "1", "enable.idempotence", "false")));
    check("producer_acks_0", ProducerChecks::acksNone);
    check("producer_many_small_batches_in_flight_stay_in_order", ProducerChecks::manyInFlight);
    check("producer_keeps_headers_and_nulls", ProducerChecks::headers);
    check("producer_record_too_large_is_refused", ProducerChecks::tooLarge);
    check("producer_timestamp_too_far_ahead_is_refused", ProducerChecks::tooFarAhead);
    check("producer_log_append_time_is_told", ProducerChecks::logAppendTime);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static List<RecordMetadata> send(Interop at, String topic, int partition, int count, Map<String, ?> config)
      throws Exception {
    try (var producer = at.producer(config)) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (int n = 0; n < count; n++) {
        sent.add(producer.send(new ProducerRecord<>(topic, partition, bytes("k" + n), bytes("value-" + n))));
      }
      producer.flush();
      List<RecordMetadata> done = new ArrayList<>();
      for (var future : sent) {
        done.add(future.get());
      }
      return done;
    }
  }

  static List<ConsumerRecord<byte[], byte[]>> readAll(Interop at, String topic, int partition, int count) {
    try (var consumer = at.consumer(at.fresh("group"), Map.of())) {
      var here = List.of(new TopicPartition(topic, partition));
      consumer.assign(here);
      consumer.seekToBeginning(here);
      return take(consumer, count);
    }
  }

  static void inOrder(List<ConsumerRecord<byte[], byte[]>> records) {
    for (int n = 0; n < records.size(); n++) {
      same((long) n, records.get(n).offset());
      same("value-" + n, new String(records.get(n).value(), StandardCharsets.UTF_8));
    }
  }

  private static void roundTrip(Interop at, Map<String, ?> config) throws Exception {
    String topic = at.topic(1);
    var sent = send(at, topic, 0, 500, config);
    for (int n = 0; n < 500; n++) {
      same((long) n, sent.get(n).offset());
    }
    inOrder(readAll(at, topic, 0, 500));
  }

  private static void acksNone(Interop at) throws Exception {
    String topic = at.topic(1);
    send(at, topic, 0, 100, Map.of("acks", "0", "enable.idempotence", "false"));
    inOrder(readAll(at, topic, 0, 100));
  }

  private static void manyInFlight(Interop at) throws Exception {
    String topic = at.topic(2);
    Map<String, Object> config = Map.of("batch.size", "100", "max.in.flight.requests.per.connection", "5", "linger.ms", "0");
    send(at, topic, 0, 3_000, config);
    send(at, topic, 1, 3_000, config);
    inOrder(readAll(at, topic, 0, 3_000));
    inOrder(readAll(at, topic, 1, 3_000));
  }

  private static void headers(Interop at) throws Exception {
    String topic = at.topic(1);
    var record = new ProducerRecord<byte[], byte[]>(topic, 0, 1234L, null, null);
    record.headers().add(new RecordHeader("b", bytes("1"))).add(new RecordHeader("a", null)).add(new RecordHeader("b", bytes("2")));
    try (var producer = at.producer(Map.of())) {
      producer.send(record).get();
    }
    var back = readAll(at, topic, 0, 1).get(0);
    same(1234L, back.timestamp());
    hold(back.key() == null && back.value() == null, "nulls");
    same(List.of("b", "a", "b"), Arrays.stream(back.headers().toArray()).map(h -> h.key()).toList());
    hold(back.headers().toArray()[1].value() == null, "a null header");
  }

  private static void tooLarge(Interop at) throws Exception {
    String topic = at.topic(1, Map.of("max.message.bytes", "1000"));
    try (var producer = at.producer(Map.of())) {
      refused(RecordTooLargeException.class, () -> producer.send(new ProducerRecord<>(topic, new byte[2_000])).get());
      same(0L, producer.send(new ProducerRecord<>(topic, new byte[500])).get().offset());
    }
  }

  private static void tooFarAhead(Interop at) throws Exception {
    String topic = at.topic(1);
    long late = System.currentTimeMillis() + 7_200_000;
    try (var producer = at.producer(Map.of())) {
      refused(InvalidTimestampException.class,
          () -> producer.send(new ProducerRecord<>(topic, 0, late, bytes("k"), bytes("v"))).get());
    }
  }

  private static void logAppendTime(Interop at) throws Exception {
    String topic = at.topic(1, Map.of("message.timestamp.type", "LogAppendTime"));
    long before = System.currentTimeMillis();
    var told = send(at, topic, 0, 3, Map.of());
    var read = readAll(at, topic, 0, 3);
    for (int n = 0; n < 3; n++) {
      hold(told.get(n).timestamp() >= before, "the producer is told the broker's time");
      same(told.get(n).timestamp(), read.get(n).timestamp());
    }
  }
}
