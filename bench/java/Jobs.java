package bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;

/**
 * Single jobs: poll one record, work, acknowledge it, commit, over and over, by any number of consumers at once.
 *
 * <p>ADDRESS TOPIC GROUP CONSUMERS WARM_SECONDS SECONDS WORK_MICROS RELEASE_EVERY FETCH_MAX_BYTES (0: the default). The
 * clock runs when every consumer has
 * had a job and the warm seconds are over. Every RELEASE_EVERY-th record (0: none) is released when it is delivered first. Prints BEGIN and
 * END when the clock does, then: jobs accepted, records released, the highest offset seen, and the percentiles 50 and 99 of one
 * poll-work-acknowledge-commit cycle in microseconds.
 */
public final class Jobs {
  private static final long PATIENCE_S = 120;

  private final String address;
  private final String topic;
  private final String group;
  private final long workNs;
  private final int releaseEvery;
  private final int fetchMaxBytes;
  private final CountDownLatch ready;
  private final AtomicReference<Throwable> wrong = new AtomicReference<>();
  private volatile long beginNs = Long.MAX_VALUE;
  private volatile long endNs = Long.MAX_VALUE;

  /** What one consumer did while the clock ran. */
  private static final class Done {
    final List<Long> cyclesNs = new ArrayList<>();
    long released;
    long lastOffset = -1;
  }

  private Jobs(String[] args) {
    address = args[0];
    topic = args[1];
    group = args[2];
    ready = new CountDownLatch(Integer.parseInt(args[3]));
    workNs = Long.parseLong(args[6]) * 1000;
    releaseEvery = Integer.parseInt(args[7]);
    fetchMaxBytes = Integer.parseInt(args[8]);
  }

  public static void main(String[] args) throws InterruptedException {
    new Jobs(args).run(Integer.parseInt(args[3]), Long.parseLong(args[4]), Long.parseLong(args[5]));
  }

  private void run(int consumers, long warmS, long seconds) throws InterruptedException {
    List<Done> all = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int n = 0; n < consumers; n++) {
      Done done = new Done();
      all.add(done);
      Thread thread = new Thread(() -> consume(done));
      threads.add(thread);
      thread.start();
    }
    if (!ready.await(PATIENCE_S, TimeUnit.SECONDS) || wrong.get() != null) {
      end(ready.getCount() + " consumers had no job after " + PATIENCE_S + " s");
    }
    TimeUnit.SECONDS.sleep(warmS);
    beginNs = System.nanoTime();
    System.out.println("BEGIN");
    TimeUnit.SECONDS.sleep(seconds);
    endNs = System.nanoTime();
    System.out.println("END");
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_S));
    }
    if (wrong.get() != null) {
      end("a consumer failed");
    }
    long[] cycles = all.stream().flatMap(done -> done.cyclesNs.stream()).mapToLong(Long::longValue).sorted().toArray();
    long released = all.stream().mapToLong(done -> done.released).sum();
    long last = all.stream().mapToLong(done -> done.lastOffset).max().orElse(-1);
    System.out.println((cycles.length - released) + " " + released + " " + last + " " + at(cycles, 0.5) + " " + at(cycles, 0.99));
  }

  private void consume(Done done) {
    boolean isReady = false;
    try (KafkaShareConsumer<byte[], byte[]> consumer = Sharers.ofSingleJobs(address, group, fetchMaxBytes)) {
      consumer.subscribe(List.of(topic));
      long began = System.nanoTime();
      while (System.nanoTime() < endNs && wrong.get() == null) {
        var records = consumer.poll(Duration.ofMillis(500));
        boolean isReleased = false;
        for (ConsumerRecord<byte[], byte[]> record : records) {
          work();
          isReleased = isToRelease(record);
          consumer.acknowledge(record, isReleased ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
          done.lastOffset = Math.max(done.lastOffset, record.offset());
        }
        if (records.isEmpty()) {
          continue; // the time it waits belongs to the next job
        }
        for (Optional<KafkaException> refused : consumer.commitSync().values()) {
          refused.ifPresent(problem -> {
            throw problem;
          });
        }
        long now = System.nanoTime();
        if (began >= beginNs && now <= endNs) {
          done.cyclesNs.add(now - began);
          done.released += isReleased ? 1 : 0;
        }
        began = now;
        if (!isReady) {
          isReady = true;
          ready.countDown();
        }
      }
    } catch (RuntimeException e) {
      wrong.compareAndSet(null, e);
      while (ready.getCount() > 0) {
        ready.countDown();
      }
    }
  }

  private void work() {
    long until = System.nanoTime() + workNs;
    for (long left = workNs; left > 0; left = until - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  private boolean isToRelease(ConsumerRecord<byte[], byte[]> record) {
    return releaseEvery > 0 && record.offset() % releaseEvery == 0 && record.deliveryCount().orElse((short) 1) == 1;
  }

  private void end(String why) {
    System.err.println(why + (wrong.get() == null ? "" : ": " + wrong.get()));
    Runtime.getRuntime().halt(1);
  }

  static long at(long[] sorted, double part) {
    return sorted.length == 0 ? -1 : sorted[(int) Math.min(sorted.length - 1, sorted.length * part)] / 1000;
  }
}
