package interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * Runs every check against one broker in one JVM and prints a line each: PASS or FAIL, the name, the
 * milliseconds, what was wrong. Owns the clients the checks share; the checks are in the files beside it.
 */
public final class Interop implements AutoCloseable {
  /** Something a client sees; it throws what it does not like. */
  public interface Check {
    void run(Interop at) throws Exception;
  }

  public static final Duration WAIT = Duration.ofSeconds(20);
  private static final int THREADS = 6;
  static final Map<String, Check> CHECKS = new LinkedHashMap<>();
  /** Run one by one when all the others have ended. */
  static final Map<String, Check> LAST = new LinkedHashMap<>();

  public final Admin admin;
  private final String address;
  private final String prefix;
  /** The methods of ShareConsumer that were called so far. */
  public final Set<String> calledOfSharers = ConcurrentHashMap.newKeySet();
  private final AtomicInteger names = new AtomicInteger();

  private Interop(String address, String prefix) {
    this.address = address;
    this.prefix = prefix;
    this.admin = Admin.create(config(Map.of()));
  }

  static void check(String name, Check check) {
    CHECKS.put(name, check);
  }

  static void last(String name, Check check) {
    LAST.put(name, check);
  }

  /** BROKER PREFIX [CHECK...]: the address, what every name begins with, and which checks if not all; or --list. */
  public static void main(String[] args) throws InterruptedException {
    ProducerChecks.register();
    ConsumerChecks.register();
    GroupChecks.register();
    AdminChecks.register();
    ShareConsumerChecks.register();
    ShareAcknowledgeChecks.register();
    ShareAdminChecks.register();
    if (args[0].equals("--list")) {
      CHECKS.keySet().forEach(System.out::println);
      LAST.keySet().forEach(System.out::println);
      return;
    }
    Predicate<String> wanted = name -> args.length == 2 || List.of(args).contains(name);
    // the checks share nothing but the broker, and mostly wait for it
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (Interop at = new Interop(args[0], args[1])) {
      CHECKS.forEach((name, check) -> {
        if (wanted.test(name)) {
          threads.submit(() -> at.report(name, check));
        }
      });
      threads.shutdown();
      threads.awaitTermination(5, TimeUnit.MINUTES);
      LAST.forEach((name, check) -> {
        if (wanted.test(name)) {
          at.report(name, check);
        }
      });
    }
  }

  private void report(String name, Check check) {
    long start = System.nanoTime();
    String wrong = null;
    try {
      check.run(this);
    } catch (Throwable e) { // a failed check is a line in the report, whatever it threw
      wrong = e.toString().replaceAll("\\s+", " ") + " at " + List.of(e.getStackTrace()).stream()
          .filter(f -> f.getClassName().startsWith("interop.")).limit(3).toList();
    }
    long ms = (System.nanoTime() - start) / 1_000_000;
    System.out.println((wrong == null ? "PASS" : "FAIL") + "\t" + name + "\t" + ms + "\t" + (wrong == null ? "" : wrong));
  }

  @Override
  public void close() {
    admin.close(Duration.ofSeconds(5));
  }

  /** A name nobody used before. */
  public String fresh(String kind) {
    return prefix + "-" + kind + "-" + names.incrementAndGet();
  }

  /** A new topic, led when this returns. */
  public String topic(int partitions, Map<String, String> config) throws Exception {
    String name = fresh("topic");
    admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(config))).all().get();
    await("leaders of " + name, () -> led(name, partitions));
    return name;
  }

  public String topic(int partitions) throws Exception {
    return topic(partitions, Map.of());
  }

  private boolean led(String name, int partitions) {
    try {
      var found = admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions();
      return found.size() == partitions && found.stream().allMatch(p -> p.leader() != null);
    } catch (Exception e) {
      return false;
    }
  }

  private Map<String, Object> config(Map<String, ?> extra) {
    Map<String, Object> config = new HashMap<>();
    config.put("bootstrap.servers", address);
    config.putAll(extra);
    return config;
  }

  public Producer<byte[], byte[]> producer(Map<String, ?> extra) {
    return new KafkaProducer<>(config(extra), new ByteArraySerializer(), new ByteArraySerializer());
  }

  public Consumer<byte[], byte[]> consumer(String group, Map<String, ?> extra) {
    Map<String, Object> config = config(Map.of(
        "group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false", "heartbeat.interval.ms", "300"));
    config.putAll(extra);
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /** A member that shares these topics. */
  public ShareConsumer<byte[], byte[]> sharer(String group, Map<String, ?> extra, String... topics) {
    return sharer(group, extra, new ByteArrayDeserializer(), topics);
  }

  /** A member that reads values in its own way. */
  public <V> ShareConsumer<byte[], V> sharer(String group, Map<String, ?> extra, Deserializer<V> values, String... topics) {
    Map<String, Object> config = config(Map.of("group.id", group));
    config.putAll(extra);
    var consumer = Shares.watched(new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), values), calledOfSharers);
    consumer.subscribe(List.of(topics));
    return consumer;
  }

  /** Exactly this many records, in the order they come. */
  public static List<ConsumerRecord<byte[], byte[]>> take(Consumer<byte[], byte[]> consumer, int count) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    await(count + " records", () -> {
      consumer.poll(Duration.ofMillis(100)).forEach(records::add);
      return records.size() >= count;
    });
    same(count, records.size());
    return records;
  }

  public static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + WAIT.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("waited for " + what);
      }
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  public static void same(Object expected, Object actual) {
    if (!expected.equals(actual)) {
      throw new AssertionError("expected " + expected + ", got " + actual);
    }
  }

  public static void hold(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }

  /** The call must fail with this, directly or as the cause of an ExecutionException. */
  public static void refused(Class<? extends Throwable> kind, Call call) {
    try {
      call.run();
    } catch (Throwable e) { // judged just below
      Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
      hold(kind.isInstance(cause), "expected " + kind.getSimpleName() + ", got " + cause);
      return;
    }
    throw new AssertionError("expected " + kind.getSimpleName() + ", got an answer");
  }

  /** What `refused` calls. */
  public interface Call {
    void run() throws Exception;
  }
}
