package interop;

import static interop.Interop.await;
import static interop.Interop.check;
import static interop.Interop.hold;
import static interop.Interop.refused;
import static interop.Interop.same;
import static interop.ProducerChecks.send;
import static interop.Shares.EXPLICIT;
import static interop.Shares.awaitLag;
import static interop.Shares.commit;
import static interop.Shares.configure;
import static interop.Shares.group;
import static interop.Shares.offsets;
import static interop.Shares.stands;
import static interop.Shares.take;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeShareGroupsOptions;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The Java Admin on share groups: what it is told, what it may change, what it is refused. */
final class ShareAdminChecks {
  private ShareAdminChecks() {}

  static void register() {
    check("share_groups_are_listed_by_type_and_state", ShareAdminChecks::listed);
    check("share_groups_are_described_with_members", ShareAdminChecks::described);
    check("share_group_offsets_tell_start_epoch_and_lag", ShareAdminChecks::offsetsTold);
    check("share_group_offsets_are_altered", ShareAdminChecks::offsetsAltered);
    check("share_group_offsets_are_deleted", ShareAdminChecks::offsetsDeleted);
    check("share_groups_are_deleted", ShareAdminChecks::deleted);
    check("share_group_admin_refusals_have_names", ShareAdminChecks::refusals);
    check("share_group_configs_are_described_altered_and_removed", ShareAdminChecks::configs);
  }

  private static final AcknowledgeType ACCEPT = AcknowledgeType.ACCEPT;

  private static void listed(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = group(at);
    send(at, topic, 0, 1, Map.of());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 1, ACCEPT);
      var options = ListGroupsOptions.forShareGroups().inGroupStates(Set.of(GroupState.STABLE));
      var found = at.admin.listGroups(options).all().get().stream().filter(g -> g.groupId().equals(group)).toList();
      same(1, found.size());
      same(Optional.of(GroupType.SHARE), found.get(0).type());
      same(Optional.of(GroupState.STABLE), found.get(0).groupState());
      same("share", found.get(0).protocol());
      same(Set.of(), ids(at, ListGroupsOptions.forConsumerGroups(), group));
      same(Set.of(), ids(at, ListGroupsOptions.forShareGroups().inGroupStates(Set.of(GroupState.EMPTY)), group));
    }
    await("the group to be empty", () -> {
      try {
        var empty = ListGroupsOptions.forShareGroups().inGroupStates(Set.of(GroupState.EMPTY));
        return ids(at, empty, group).equals(Set.of(group));
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    });
  }

  private static Set<String> ids(Interop at, ListGroupsOptions options, String only) throws Exception {
    return at.admin.listGroups(options).all().get().stream()
        .map(g -> g.groupId()).filter(only::equals).collect(Collectors.toSet());
  }

  private static void described(Interop at) throws Exception {
    String topic = at.topic(3);
    String group = group(at);
    send(at, topic, 2, 1, Map.of());
    try (var consumer = at.sharer(group, Map.of("client.id", "worker", "client.rack", "r1"), topic)) {
      take(consumer, 1, null);
      var options = new DescribeShareGroupsOptions().includeAuthorizedOperations(true);
      var described = at.admin.describeShareGroups(List.of(group), options).describedGroups().get(group).get();
      same(group, described.groupId());
      same(GroupState.STABLE, described.groupState());
      same(0, described.coordinator().id());
      same(Set.of(AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS,
          AclOperation.ALTER_CONFIGS), described.authorizedOperations());
      hold(described.groupEpoch() >= 2 && described.targetAssignmentEpoch() == described.groupEpoch(), "epochs " + described);
      same(1, described.members().size());
      var member = described.members().iterator().next();
      same("worker", member.clientId());
      same("/127.0.0.1", member.host());
      same(described.groupEpoch(), member.memberEpoch());
      same(Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1), new TopicPartition(topic, 2)),
          member.assignment().topicPartitions());
    }
  }

  private static void offsetsTold(Interop at) throws Exception {
    String topic = at.topic(2);
    String group = group(at);
    send(at, topic, 0, 10, Map.of());
    var first = new TopicPartition(topic, 0);
    var all = Map.of(group, new ListShareGroupOffsetsSpec());
    same(Map.of(), at.admin.listShareGroupOffsets(all).partitionsToOffsetInfo(group).get());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      for (var record : Shares.somePoll(consumer)) {
        // 0 1 2 done, 3 not, 4 done, the rest not
        boolean done = record.offset() < 3 || record.offset() == 4;
        consumer.acknowledge(record, done ? ACCEPT : AcknowledgeType.RELEASE);
      }
      commit(consumer);
      awaitLag(at, group, topic, 6);
      var every = at.admin.listShareGroupOffsets(all).partitionsToOffsetInfo(group).get();
      same(Set.of(first, new TopicPartition(topic, 1)), every.keySet());
      hold(every.get(new TopicPartition(topic, 1)) == null, "a partition nobody has read stands somewhere");
    }
  }

  private static void offsetsAltered(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = group(at);
    send(at, topic, 0, 10, Map.of());
    var partition = new TopicPartition(topic, 0);
    at.admin.alterShareGroupOffsets(group, Map.of(partition, 7L)).all().get(); // this makes the group
    same(7L, stands(at, group, partition).orElseThrow().startOffset());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      same(List.of(7L, 8L, 9L), offsets(take(consumer, 3, ACCEPT)));
      commit(consumer);
      refused(GroupNotEmptyException.class, () -> at.admin.alterShareGroupOffsets(group, Map.of(partition, 0L)).all().get());
    }
    emptied(at, group);
    at.admin.alterShareGroupOffsets(group, Map.of(partition, 2L)).all().get();
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      same(8, take(consumer, 8, ACCEPT).size());
    }
    var unknown = new TopicPartition(topic, 9);
    var altered = at.admin.alterShareGroupOffsets(at.fresh("group"), Map.of(partition, 1L, unknown, 1L));
    altered.partitionResult(partition).get();
    refused(UnknownTopicOrPartitionException.class, () -> altered.partitionResult(unknown).get());
  }

  private static void emptied(Interop at, String group) {
    await(group + " to be empty", () -> {
      try {
        return at.admin.describeShareGroups(List.of(group)).all().get().get(group).members().isEmpty();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    });
  }

  private static void offsetsDeleted(Interop at) throws Exception {
    String topic = at.topic(2);
    String group = group(at);
    at.admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(topic, 0), 0L, new TopicPartition(topic, 1), 0L)).all().get();
    String none = at.topic(1);
    var result = at.admin.deleteShareGroupOffsets(group, Set.of(topic, none));
    result.topicResult(topic).get();
    refused(UnknownTopicOrPartitionException.class, () -> result.topicResult(none).get());
    same(Map.of(), at.admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(group).get());
    at.admin.describeShareGroups(List.of(group)).all().get(); // the group itself stays
  }

  private static void deleted(Interop at) throws Exception {
    String topic = at.topic(1);
    String group = group(at);
    send(at, topic, 0, 3, Map.of());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      take(consumer, 3, ACCEPT);
      commit(consumer);
      refused(GroupNotEmptyException.class, () -> at.admin.deleteShareGroups(List.of(group)).all().get());
    }
    emptied(at, group);
    at.admin.deleteShareGroups(List.of(group)).all().get();
    refused(GroupIdNotFoundException.class, () -> at.admin.describeShareGroups(List.of(group)).all().get());
    refused(GroupIdNotFoundException.class, () -> at.admin.deleteShareGroups(List.of(group)).all().get());
    try (var consumer = at.sharer(group, EXPLICIT, topic)) {
      same(List.of(0L, 1L, 2L), offsets(take(consumer, 3, ACCEPT))); // a group of that name begins anew
    }
  }

  private static void refusals(Interop at) throws Exception {
    String nobody = at.fresh("group");
    String topic = at.topic(1);
    refused(GroupIdNotFoundException.class, () -> at.admin.describeShareGroups(List.of(nobody)).all().get());
    refused(GroupIdNotFoundException.class, () -> at.admin.deleteShareGroups(List.of(nobody)).all().get());
    refused(GroupIdNotFoundException.class, () -> at.admin.deleteShareGroupOffsets(nobody, Set.of(topic)).all().get());
    same(Map.of(), at.admin.listShareGroupOffsets(Map.of(nobody, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(nobody).get());
    refused(InvalidConfigurationException.class, () -> configure(at, nobody, Map.of("share.no.such.key", "1")));
    refused(InvalidConfigurationException.class, () -> configure(at, nobody, Map.of("share.auto.offset.reset", "none")));
    refused(InvalidConfigurationException.class, () -> configure(at, nobody, Map.of("share.record.lock.duration.ms", "1")));
  }

  private static void configs(Interop at) throws Exception {
    String group = at.fresh("group");
    var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
    configure(at, group, Map.of("share.delivery.count.limit", "3", "share.isolation.level", "read_committed"));
    Config set = at.admin.describeConfigs(List.of(resource)).all().get().get(resource);
    same("3", set.get("share.delivery.count.limit").value());
    same(ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG, set.get("share.delivery.count.limit").source());
    same("read_committed", set.get("share.isolation.level").value());
    same("latest", set.get("share.auto.offset.reset").value());
    hold(set.get("share.auto.offset.reset").isDefault(), "a default that is not one");
    hold(at.admin.listConfigResources(Set.of(ConfigResource.Type.GROUP), new org.apache.kafka.clients.admin.ListConfigResourcesOptions())
        .all().get().contains(resource), "a group with configs is not listed");
    Map<ConfigResource, Collection<AlterConfigOp>> removal = Map.of(resource,
        List.of(new AlterConfigOp(new ConfigEntry("share.delivery.count.limit", ""), AlterConfigOp.OpType.DELETE)));
    at.admin.incrementalAlterConfigs(removal).all().get();
    set = at.admin.describeConfigs(List.of(resource)).all().get().get(resource);
    same("5", set.get("share.delivery.count.limit").value());
    same("read_committed", set.get("share.isolation.level").value());
  }
}
