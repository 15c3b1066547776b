package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.Interop.take;
import static interop.ProducerChecks.send;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The Java Admin: its newest request versions, answers and refusals. */
final class AdminChecks {
  private AdminChecks() {}

  static void register() {
    check("admin_create_topic_answers_id_configs_and_numbers", AdminChecks::createAnswers);
    check("admin_create_topic_refusals_have_names", AdminChecks::createRefusals);
    check("admin_describe_and_delete_topics_by_id", AdminChecks::byId);
    check("admin_create_partitions", AdminChecks::partitions);
    check("admin_describe_configs_with_synonyms_and_docs", AdminChecks::synonyms);
    check("admin_alter_topic_configs", AdminChecks::alterConfigs);
    check("admin_alter_broker_configs", AdminChecks::alterBroker);
    check("admin_list_offsets_of_every_kind", AdminChecks::listOffsets);
    check("admin_delete_records", AdminChecks::deleteRecords);
    check("admin_describe_cluster_and_features", AdminChecks::cluster);
    check("admin_describe_log_dirs", AdminChecks::logDirs);
    check("admin_describe_producers", AdminChecks::producers);
    check("admin_groups_are_listed_described_and_deleted", AdminChecks::groups);
    check("admin_group_offsets_are_listed_altered_and_deleted", AdminChecks::groupOffsets);
    check("admin_members_are_removed", AdminChecks::removeMembers);
    check("admin_no_reassignments_and_no_election_needed", AdminChecks::reassignments);
  }

  private static ConfigResource resource(String topic) {
    return new ConfigResource(ConfigResource.Type.TOPIC, topic);
  }

  private static Config configs(Interop at, ConfigResource of) throws Exception {
    return at.admin.describeConfigs(List.of(of)).all().get().get(of);
  }

  private static void createAnswers(Interop at) throws Exception {
    String name = at.fresh("topic");
    var made = at.admin.createTopics(List.of(new NewTopic(name, 3, (short) 1).configs(Map.of("retention.ms", "12345"))));
    same(3, made.numPartitions(name).get());
    same(1, made.replicationFactor(name).get());
    hold(!Uuid.ZERO_UUID.equals(made.topicId(name).get()), "an id");
    same("12345", made.config(name).get().get("retention.ms").value());
    await("the topic", () -> {
      try {
        return at.admin.describeTopics(List.of(name)).allTopicNames().get().get(name).topicId().equals(made.topicId(name).get());
      } catch (Exception e) {
        return false;
      }
    });
  }

  private static void createRefusals(Interop at) throws Exception {
    String topic = at.topic(1);
    refused(TopicExistsException.class, () -> create(at, new NewTopic(topic, 1, (short) 1)));
    refused(InvalidTopicException.class, () -> create(at, new NewTopic("a b", 1, (short) 1)));
    refused(InvalidPartitionsException.class, () -> create(at, new NewTopic(at.fresh("topic"), 0, (short) 1)));
    refused(InvalidReplicationFactorException.class, () -> create(at, new NewTopic(at.fresh("topic"), 1, (short) 2)));
    refused(InvalidConfigurationException.class,
        () -> create(at, new NewTopic(at.fresh("topic"), 1, (short) 1).configs(Map.of("segment.bytes", "many"))));
    refused(UnknownTopicOrPartitionException.class, () -> at.admin.describeTopics(List.of(at.fresh("nowhere"))).allTopicNames().get());
    refused(UnknownTopicOrPartitionException.class, () -> at.admin.deleteTopics(List.of(at.fresh("nowhere"))).all().get());
  }

  private static void create(Interop at, NewTopic topic) throws Exception {
    at.admin.createTopics(List.of(topic)).all().get();
  }

  private static void byId(Interop at) throws Exception {
    String topic = at.topic(2);
    Uuid id = at.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
    var ids = TopicCollection.ofTopicIds(List.of(id));
    same(topic, at.admin.describeTopics(ids).allTopicIds().get().get(id).name());
    at.admin.deleteTopics(ids).all().get();
    refused(UnknownTopicIdException.class, () -> at.admin.deleteTopics(ids).all().get());
  }

  private static void partitions(Interop at) throws Exception {
    String topic = at.topic(1);
    at.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get();
    await("four partitions", () -> {
      try {
        return at.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size() == 4;
      } catch (Exception e) {
        return false;
      }
    });
    refused(InvalidPartitionsException.class, () -> at.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all().get());
  }

  private static void synonyms(Interop at) throws Exception {
    String topic = at.topic(1, Map.of("retention.ms", "777"));
    var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
    var entry = at.admin.describeConfigs(List.of(resource(topic)), options).all().get().get(resource(topic)).get("retention.ms");
    same("777", entry.value());
    same(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, entry.source());
    same(ConfigEntry.ConfigType.LONG, entry.type());
    hold(entry.documentation() != null && !entry.documentation().isEmpty(), "documentation");
    same(List.of("retention.ms"), entry.synonyms().stream().map(s -> s.name()).toList());
    var size = at.admin.describeConfigs(List.of(resource(topic)), options).all().get().get(resource(topic)).get("max.message.bytes");
    same(List.of("message.max.bytes"), size.synonyms().stream().map(s -> s.name()).toList());
    same(ConfigEntry.ConfigSource.DEFAULT_CONFIG, size.source());
  }

  private static void alter(Interop at, ConfigResource of, String name, String value, AlterConfigOp.OpType type) throws Exception {
    Map<ConfigResource, Collection<AlterConfigOp>> change = Map.of(of, List.of(new AlterConfigOp(new ConfigEntry(name, value), type)));
    at.admin.incrementalAlterConfigs(change).all().get();
  }

  private static void alterConfigs(Interop at) throws Exception {
    String topic = at.topic(1);
    alter(at, resource(topic), "retention.ms", "5000", AlterConfigOp.OpType.SET);
    await("the change", () -> valueOf(at, resource(topic), "retention.ms").equals("5000"));
    alter(at, resource(topic), "retention.ms", null, AlterConfigOp.OpType.DELETE);
    await("the default", () -> valueOf(at, resource(topic), "retention.ms").equals("604800000"));
    refused(InvalidConfigurationException.class, () -> alter(at, resource(topic), "retention.ms", "x", AlterConfigOp.OpType.SET));
  }

  private static String valueOf(Interop at, ConfigResource of, String name) {
    try {
      return configs(at, of).get(name).value();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void alterBroker(Interop at) throws Exception {
    String id = at.admin.describeCluster().controller().get().idString();
    var broker = new ConfigResource(ConfigResource.Type.BROKER, id);
    alter(at, broker, "log.cleaner.threads", "2", AlterConfigOp.OpType.SET);
    await("the change", () -> valueOf(at, broker, "log.cleaner.threads").equals("2"));
    alter(at, broker, "log.cleaner.threads", null, AlterConfigOp.OpType.DELETE);
    await("the default", () -> valueOf(at, broker, "log.cleaner.threads").equals("1"));
  }

  private static void listOffsets(Interop at) throws Exception {
    String topic = at.topic(1);
    var here = new TopicPartition(topic, 0);
    send(at, topic, 0, 10, Map.of());
    same(0L, offset(at, here, OffsetSpec.earliest()));
    same(10L, offset(at, here, OffsetSpec.latest()));
    hold(offset(at, here, OffsetSpec.maxTimestamp()) >= 0, "the largest timestamp");
    same(0L, offset(at, here, OffsetSpec.forTimestamp(0)));
    same(0L, offset(at, here, OffsetSpec.earliestLocal()));
    same(-1L, offset(at, here, OffsetSpec.latestTiered()));
  }

  private static long offset(Interop at, TopicPartition here, OffsetSpec spec) throws Exception {
    return at.admin.listOffsets(Map.of(here, spec)).partitionResult(here).get().offset();
  }

  private static void deleteRecords(Interop at) throws Exception {
    String topic = at.topic(1);
    var here = new TopicPartition(topic, 0);
    send(at, topic, 0, 10, Map.of());
    var deleted = at.admin.deleteRecords(Map.of(here, RecordsToDelete.beforeOffset(6)));
    same(6L, deleted.lowWatermarks().get(here).get().lowWatermark());
    same(6L, offset(at, here, OffsetSpec.earliest()));
    refused(OffsetOutOfRangeException.class, () -> at.admin.deleteRecords(Map.of(here, RecordsToDelete.beforeOffset(11))).all().get());
  }

  private static void cluster(Interop at) throws Exception {
    var cluster = at.admin.describeCluster();
    hold(!cluster.clusterId().get().isEmpty(), "a cluster id");
    same(1, cluster.nodes().get().size());
    var features = at.admin.describeFeatures().featureMetadata().get();
    hold(features.finalizedFeatures().containsKey("metadata.version"), "features: " + features);
  }

  private static void logDirs(Interop at) throws Exception {
    String topic = at.topic(2);
    send(at, topic, 1, 10, Map.of());
    int id = at.admin.describeCluster().controller().get().id();
    var replicas = at.admin.describeLogDirs(List.of(id)).allDescriptions().get().get(id).values().stream()
        .flatMap(dir -> dir.replicaInfos().entrySet().stream())
        .filter(entry -> entry.getKey().topic().equals(topic))
        .collect(Collectors.toMap(entry -> entry.getKey().partition(), entry -> entry.getValue().size()));
    same(Set.of(0, 1), replicas.keySet());
    hold(replicas.get(1) > replicas.get(0), "sizes " + replicas);
  }

  private static void producers(Interop at) throws Exception {
    String topic = at.topic(1);
    var here = new TopicPartition(topic, 0);
    send(at, topic, 0, 10, Map.of("linger.ms", "100"));
    var active = at.admin.describeProducers(List.of(here)).partitionResult(here).get().activeProducers();
    same(1, active.size());
    hold(active.get(0).producerId() >= 0 && active.get(0).producerEpoch() == 0, "producer " + active);
  }

  private static void groups(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = at.fresh("group");
    send(at, topic, 0, 1, Map.of());
    try (var consumer = at.consumer(group, Map.of("client.id", "me"))) {
      consumer.subscribe(List.of(topic));
      take(consumer, 1);
      consumer.commitSync();
      var options = new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE)).withTypes(Set.of(GroupType.CLASSIC));
      hold(at.admin.listGroups(options).all().get().stream().anyMatch(g -> g.groupId().equals(group)), "listed");
      var described = at.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
      same(GroupState.STABLE, described.groupState());
      same("range", described.partitionAssignor());
      var member = described.members().iterator().next();
      same("me", member.clientId());
      same(Set.of(new TopicPartition(topic, 0)), member.assignment().topicPartitions());
      var classic = at.admin.describeClassicGroups(List.of(group)).all().get().get(group);
      same("consumer", classic.protocol());
      refused(GroupNotEmptyException.class, () -> at.admin.deleteConsumerGroups(List.of(group)).all().get());
    }
    at.admin.deleteConsumerGroups(List.of(group)).all().get();
    refused(GroupIdNotFoundException.class, () -> at.admin.deleteConsumerGroups(List.of(group)).all().get());
    refused(GroupIdNotFoundException.class, () -> at.admin.describeConsumerGroups(List.of(group)).all().get());
  }

  private static void groupOffsets(Interop at) throws Exception {
    String topic = at.topic(2);
    String group = at.fresh("group");
    var zero = new TopicPartition(topic, 0);
    var one = new TopicPartition(topic, 1);
    at.admin.alterConsumerGroupOffsets(group, Map.of(zero, new OffsetAndMetadata(3), one, new OffsetAndMetadata(4, "m"))).all().get();
    var listed = at.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    same(Set.of(zero, one), listed.keySet());
    same("m", listed.get(one).metadata());
    at.admin.deleteConsumerGroupOffsets(group, Set.of(zero)).all().get();
    same(Set.of(one), at.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().keySet());
    try (var consumer = at.consumer(group, Map.of())) {
      consumer.subscribe(List.of(topic));
      await("an assignment", () -> {
        consumer.poll(java.time.Duration.ofMillis(20));
        return consumer.assignment().size() == 2;
      });
      refused(GroupSubscribedToTopicException.class,
          () -> at.admin.deleteConsumerGroupOffsets(group, Set.of(one)).partitionResult(one).get());
    }
  }

  private static void removeMembers(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = at.fresh("group");
    try (var consumer = at.consumer(group, Map.of("group.instance.id", "stays"))) {
      consumer.subscribe(List.of(topic));
      await("an assignment", () -> {
        consumer.poll(java.time.Duration.ofMillis(20));
        return consumer.assignment().size() == 1;
      });
    }
    same(1, at.admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size());
    at.admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
    same(GroupState.EMPTY, at.admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState());
  }

  private static void reassignments(Interop at) throws Exception {
    String topic = at.topic(1);
    hold(at.admin.listPartitionReassignments().reassignments().get().isEmpty(), "nothing moves");
    var elected = at.admin.electLeaders(org.apache.kafka.common.ElectionType.PREFERRED, Set.of(new TopicPartition(topic, 0))).partitions().get();
    same("ElectionNotNeededException", elected.values().iterator().next().get().getClass().getSimpleName());
  }
}
