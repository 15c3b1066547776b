package interop;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A process full of share consumers that write down every call and every answer, one file of history for each. What
 * they do with a record is up to chance. tests/crash/share_worker.py does the same with librdkafka's consumer and says
 * why; what is changed there is to be changed here. Ends when its standard input does.
 */
public final class ShareWorker implements Runnable {
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration COMMIT = Duration.ofSeconds(10);
  private static final int POLLS_AHEAD = 4;
  private static final int MAX_RECORDS = 10;
  private static final double CLOSES = 0.01;
  private static final double DAWDLES = 0.02;
  private static final double COMMITS = 0.8;
  private static final long DAWDLE_MS = 2300;
  private static final int WORK_MS = 20;

  private static volatile boolean over;

  private final String address;
  private final String topic;
  private final String group;
  private final String name;
  private final Random chance;
  private final PrintWriter history;

  private ShareWorker(String[] args, int number) throws IOException {
    address = args[0];
    topic = args[1];
    group = args[2];
    name = args[3] + "-" + number;
    chance = new Random((args[6] + name).hashCode());
    history = new PrintWriter(Files.newBufferedWriter(Path.of(args[5], name + ".jsonl")), true);
  }

  /** ADDRESS TOPIC GROUP NAME CONSUMERS DIRECTORY SEED. */
  public static void main(String[] args) throws Exception {
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < Integer.parseInt(args[4]); number++) {
      threads.add(new Thread(new ShareWorker(args, number)));
    }
    threads.forEach(Thread::start);
    while (System.in.read() >= 0) {
      // what is said does not matter, the end does
    }
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  @Override
  public void run() {
    for (int life = 0; !over; life++) {
      live(name + "." + life);
    }
    history.close();
  }

  private void live(String consumer) {
    try (KafkaShareConsumer<byte[], byte[]> client = client()) {
      client.subscribe(List.of(topic));
      ArrayDeque<Long> asked = new ArrayDeque<>();
      boolean closes = false;
      while (!closes && !over) {
        asked.add(System.nanoTime());
        if (asked.size() > POLLS_AHEAD) {
          asked.remove();
        }
        List<ConsumerRecord<byte[], byte[]>> records = poll(client);
        records.forEach(record -> noteDelivery(consumer, record, asked.peek()));
        closes = chance.nextDouble() < CLOSES;
        if (!records.isEmpty() && !closes) {
          work(consumer, client, records);
        }
      }
      write("closing", "\"consumer\":\"%s\"", consumer);
    }
  }

  private KafkaShareConsumer<byte[], byte[]> client() {
    Map<String, Object> config = new HashMap<>(Map.of(
        "bootstrap.servers", address,
        "group.id", group,
        "share.acknowledgement.mode", "explicit",
        "max.poll.records", MAX_RECORDS,
        "reconnect.backoff.ms", 100,
        "reconnect.backoff.max.ms", 500,
        "retry.backoff.ms", 50,
        "retry.backoff.max.ms", 200));
    return new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private List<ConsumerRecord<byte[], byte[]>> poll(KafkaShareConsumer<byte[], byte[]> client) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    try {
      client.poll(POLL).forEach(records::add);
    } catch (KafkaException problem) {
      System.err.println(name + ": " + problem);
    }
    return records;
  }

  private void work(
      String consumer, KafkaShareConsumer<byte[], byte[]> client, List<ConsumerRecord<byte[], byte[]>> records) {
    sleep(chance.nextDouble() < DAWDLES ? DAWDLE_MS : chance.nextInt(WORK_MS));
    for (ConsumerRecord<byte[], byte[]> record : records) {
      int dice = chance.nextInt(100);
      AcknowledgeType type = dice < 55 ? AcknowledgeType.ACCEPT : dice < 90 ? AcknowledgeType.RELEASE : AcknowledgeType.REJECT;
      write("acknowledging", "\"consumer\":\"%s\",\"partition\":%d,\"offset\":%d,\"kind\":\"%s\"",
          consumer, record.partition(), record.offset(), type.toString());
      client.acknowledge(record, type);
    }
    if (chance.nextDouble() < COMMITS) {
      commit(consumer, client, records);
    }
  }

  private void commit(
      String consumer, KafkaShareConsumer<byte[], byte[]> client, List<ConsumerRecord<byte[], byte[]>> records) {
    Map<Integer, Boolean> told = new HashMap<>();
    try {
      for (Map.Entry<TopicIdPartition, Optional<KafkaException>> answer : client.commitSync(COMMIT).entrySet()) {
        told.put(answer.getKey().partition(), answer.getValue().isEmpty());
      }
    } catch (KafkaException problem) {
      System.err.println(consumer + ": " + problem);
      return;
    }
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (told.containsKey(record.partition())) {
        write("answered", "\"consumer\":\"%s\",\"partition\":%d,\"offset\":%d,\"ok\":%b",
            consumer, record.partition(), record.offset(), told.get(record.partition()));
      }
    }
  }

  private void noteDelivery(String consumer, ConsumerRecord<byte[], byte[]> record, long afterNs) {
    write("delivered",
        "\"consumer\":\"%s\",\"partition\":%d,\"offset\":%d,\"record\":\"%s\",\"delivery_count\":%d,\"after_ns\":%d",
        consumer, record.partition(), record.offset(), parse(record.value()), record.deliveryCount().get(), afterNs);
  }

  /** What crash/storm.py made; a record that is damaged has no name that was ever sent. */
  private static String parse(byte[] value) {
    ByteBuffer data = ByteBuffer.wrap(value);
    String name = data.getInt() + "/" + data.getInt() + "/" + data.getLong();
    CRC32 crc = new CRC32();
    crc.update(value, 0, value.length - 4);
    return (int) crc.getValue() == data.getInt(value.length - 4) ? name : "damaged " + name;
  }

  private void write(String event, String form, Object... values) {
    history.printf("{\"event\":\"%s\"," + form + ",\"at_ns\":%d}\n", concat(event, values, System.nanoTime()));
  }

  private static Object[] concat(String first, Object[] middle, long last) {
    List<Object> all = new ArrayList<>(List.of(first));
    all.addAll(List.of(middle));
    all.add(last);
    return all.toArray();
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
