package bench;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * From producing to being delivered to a share consumer, at a steady rate: ADDRESS TOPIC GROUP RATE WARM_SECONDS SECONDS.
 *
 * <p>A record's time begins when it was due, so that a producer that was held up counts as well. The consumer is
 * implicit: polling again accepts. Prints BEGIN and END, then the count and the percentiles 50, 99 and 99.9 in microseconds.
 */
public final class Latency {
  private static final int VALUE_BYTES = 100;
  private static final long PATIENCE_S = 60;

  private final CountDownLatch assigned = new CountDownLatch(1);
  private final CountDownLatch complete;
  private final long[] tookNs;
  private int seen;

  private Latency(int count) {
    tookNs = new long[count];
    complete = new CountDownLatch(count);
  }

  public static void main(String[] args) throws InterruptedException {
    int rate = Integer.parseInt(args[3]);
    int warm = rate * Integer.parseInt(args[4]);
    var all = new Latency(rate * Integer.parseInt(args[5]));
    Thread consumer = new Thread(() -> all.consume(args[0], args[1], args[2]));
    consumer.setDaemon(true);
    consumer.start();
    all.produce(args[0], args[1], rate, warm);
    if (!all.complete.await(PATIENCE_S, TimeUnit.SECONDS)) {
      System.err.println(all.complete.getCount() + " records did not come");
      Runtime.getRuntime().halt(1);
    }
    System.out.println("END");
    Arrays.sort(all.tookNs);
    System.out.println(all.tookNs.length + " " + Jobs.at(all.tookNs, 0.5) + " " + Jobs.at(all.tookNs, 0.99)
        + " " + Jobs.at(all.tookNs, 0.999));
  }

  private void produce(String address, String topic, int rate, int warm) throws InterruptedException {
    Map<String, Object> settings = Map.of("bootstrap.servers", address, "acks", "all", "linger.ms", "0");
    try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int n = 0; assigned.getCount() > 0 && n < PATIENCE_S * 10; n++) {
        producer.send(new ProducerRecord<>(topic, value(0))); // until one comes, the consumer has no partition
        assigned.await(100, TimeUnit.MILLISECONDS);
      }
      long begin = System.nanoTime();
      for (int n = 0; n < warm + tookNs.length; n++) {
        if (n == warm) {
          System.out.println("BEGIN");
        }
        long due = begin + n * 1_000_000_000L / rate;
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        producer.send(new ProducerRecord<>(topic, value(n < warm ? 0 : due)));
      }
    }
  }

  /** Of warm-up records the time is 0. */
  private static byte[] value(long due) {
    return ByteBuffer.allocate(VALUE_BYTES).putLong(due).array();
  }

  private void consume(String address, String topic, String group) {
    try (KafkaShareConsumer<byte[], byte[]> consumer = Sharers.implicit(address, group)) {
      consumer.subscribe(List.of(topic));
      while (complete.getCount() > 0) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          long due = ByteBuffer.wrap(record.value()).getLong();
          assigned.countDown();
          if (due != 0 && seen < tookNs.length) {
            tookNs[seen++] = System.nanoTime() - due;
            complete.countDown();
          }
        }
      }
    }
  }
}
