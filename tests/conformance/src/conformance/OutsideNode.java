package conformance;

import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import kafka.cluster.Partition;
import kafka.log.LogManager;
import kafka.network.SocketServer;
import kafka.server.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.authenticator.CredentialCache;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.controller.ResultOrError;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.*;
import org.apache.kafka.security.CredentialProvider;
import org.apache.kafka.server.BrokerLifecycleManager;
import org.apache.kafka.server.authorizer.*;
import org.apache.kafka.storage.internals.log.*;
import org.mockito.Mockito;

/** The objects of a broker and a controller that tests hold, each answering over the wire, and refusing what only the process itself could tell. */
final class OutsideNode {
    private final OutsideProcess process;
    private final java.util.function.Supplier<KafkaConfig> config;
    private KafkaBroker broker;
    private ControllerServer controller;

    OutsideNode(OutsideProcess process, java.util.function.Supplier<KafkaConfig> config) {
        this.process = process;
        this.config = config;
    }

    private interface Answer { Object to(Object[] args) throws Exception; }

    /** A class or interface of the tested program. Scala's default arguments stay as they are. */
    private static <T> T fake(Class<T> type, Map<String, Answer> answers) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(call -> {
            String name = call.getMethod().getName();
            Answer f = answers.get(name);
            if (f != null) return f.to(call.getArguments());
            if (name.contains("$default$")) return call.callRealMethod();
            if (name.equals("toString")) return type.getSimpleName();
            throw new UnsupportedOperationException("not to be seen from outside: " + type.getSimpleName() + "." + name);
        }));
    }

    private Admin admin() { return process.superuser(); }

    private String clusterId() throws Exception { return admin().describeCluster().clusterId().get(); }

    private Optional<Integer> numPartitions(String topic) throws Exception {
        try { return Optional.of(admin().describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size()); }
        catch (ExecutionException e) { return Optional.empty(); }
    }

    private Map<String, Uuid> topicIds() throws Exception {
        Map<String, Uuid> ids = new HashMap<>();
        admin().listTopics(new ListTopicsOptions().listInternal(true)).listings().get().forEach(t -> ids.put(t.name(), t.topicId()));
        return ids;
    }

    private Map<Uuid, String> topicNames() throws Exception {
        Map<Uuid, String> names = new HashMap<>();
        topicIds().forEach((name, id) -> names.put(id, name));
        return names;
    }

    private long offset(TopicPartition p, OffsetSpec which, IsolationLevel level) throws Exception {
        return admin().listOffsets(Map.of(p, which), new ListOffsetsOptions(level)).partitionResult(p).get().offset();
    }

    private int leaderEpoch(TopicPartition p) throws Exception {
        return admin().listOffsets(Map.of(p, OffsetSpec.latest())).partitionResult(p).get().leaderEpoch().orElse(-1);
    }

    /** A partition's log, where its offsets and its producers can be asked for. */
    private scala.Option<UnifiedLog> log(TopicPartition p) throws Exception {
        if (numPartitions(p.topic()).orElse(0) <= p.partition()) return scala.Option.empty();
        ProducerStateManager producers = fake(ProducerStateManager.class, Map.of("activeProducers", a -> {
            Map<Long, ProducerStateEntry> m = new HashMap<>();
            for (ProducerState s : admin().describeProducers(List.of(p)).partitionResult(p).get().activeProducers())
                m.put(s.producerId(), new ProducerStateEntry(s.producerId(), (short) s.producerEpoch(), s.coordinatorEpoch().orElse(-1), s.lastTimestamp(), s.currentTransactionStartOffset()));
            return m;
        }));
        return scala.Option.apply(fake(UnifiedLog.class, Map.of(
            "logStartOffset", a -> offset(p, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED),
            "logEndOffset", a -> offset(p, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED),
            "highWatermark", a -> offset(p, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED),
            "lastStableOffset", a -> offset(p, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),
            "topicPartition", a -> p,
            "producerStateManager", a -> producers)));
    }

    private static ApiException cause(ExecutionException e) { return e.getCause() instanceof ApiException x ? x : new ApiException(e.getCause()); }

    @SuppressWarnings("unchecked")
    private scala.Option<Plugin<Authorizer>> authorizer() {
        if (process.props().getOrDefault("authorizer.class.name", "").isEmpty()) return scala.Option.empty();
        return scala.Option.apply(Plugin.wrapInstance(fake(Authorizer.class, Map.of(
            "acls", a -> admin().describeAcls((AclBindingFilter) a[0]).values().get(),
            "createAcls", a -> {
                List<CompletableFuture<AclCreateResult>> done = new ArrayList<>();
                for (AclBinding b : (List<AclBinding>) a[1]) {
                    AclCreateResult r;
                    try { admin().createAcls(List.of(b)).all().get(); r = AclCreateResult.SUCCESS; } catch (ExecutionException e) { r = new AclCreateResult(cause(e)); }
                    done.add(CompletableFuture.completedFuture(r));
                }
                return done;
            },
            "deleteAcls", a -> {
                List<CompletableFuture<AclDeleteResult>> done = new ArrayList<>();
                for (AclBindingFilter f : (List<AclBindingFilter>) a[1]) {
                    AclDeleteResult r;
                    try { r = new AclDeleteResult(admin().deleteAcls(List.of(f)).all().get().stream().map(AclDeleteResult.AclBindingDeleteResult::new).toList()); }
                    catch (ExecutionException e) { r = new AclDeleteResult(cause(e)); }
                    done.add(CompletableFuture.completedFuture(r));
                }
                return done;
            })), null, "authorizer.class.name"));
    }

    /** SCRAM credentials: whether a user has one; never what it is. */
    private CredentialProvider credentials() {
        CredentialCache cache = fake(CredentialCache.class, Map.of("cache", a -> fake(CredentialCache.Cache.class, Map.of("get", b -> {
            try {
                var infos = admin().describeUserScramCredentials(List.of((String) b[0])).description((String) b[0]).get().credentialInfos();
                return infos.stream().anyMatch(i -> i.mechanism().mechanismName().equals(a[0])) ? new ScramCredential(new byte[0], new byte[0], new byte[0], 4096) : null;
            } catch (ExecutionException e) { return null; }
        }))));
        CredentialProvider p = new CredentialProvider(List.of(), null);
        try {
            var field = CredentialProvider.class.getField("credentialCache");
            field.setAccessible(true);
            field.set(p, cache);
        } catch (ReflectiveOperationException e) { throw new IllegalStateException(e); }
        return p;
    }

    private SocketServer sockets() {
        return Mockito.mock(SocketServer.class, Mockito.withSettings().stubOnly().defaultAnswer(call ->
            call.getMethod().getName().equals("boundPort") ? (Object) process.portOf(((ListenerName) call.getArgument(0)).value()) : Mockito.RETURNS_DEFAULTS.answer(call)));
    }

    KafkaBroker broker() {
        if (broker != null) return broker;
        KRaftMetadataCache cache = fake(KRaftMetadataCache.class, Map.ofEntries(
            Map.entry("getAliveBrokerNodes", a -> List.of(new Node(0, "localhost", process.portOf(((ListenerName) a[0]).value())))),
            Map.entry("hasAliveBroker", a -> (int) a[0] == 0 && process.isAlive()),
            Map.entry("contains", a -> numPartitions(a[0] instanceof TopicPartition t ? t.topic() : (String) a[0]).isPresent()),
            Map.entry("numPartitions", a -> numPartitions((String) a[0])),
            Map.entry("getAllTopics", a -> topicIds().keySet()),
            Map.entry("getTopicId", a -> topicIds().getOrDefault((String) a[0], Uuid.ZERO_UUID)),
            Map.entry("getTopicName", a -> Optional.ofNullable(topicNames().get((Uuid) a[0]))),
            Map.entry("topicNamesToIds", a -> topicIds()),
            Map.entry("topicIdsToNames", a -> topicNames()),
            Map.entry("getPartitionLeaderEndpoint", a -> numPartitions((String) a[0]).filter(n -> (int) a[1] < n).map(n -> new Node(0, "localhost", process.portOf(((ListenerName) a[2]).value())))),
            Map.entry("getLeaderAndIsr", a -> numPartitions((String) a[0]).map(n -> new LeaderAndIsr(0, List.of(0))))));
        GroupCoordinator groups = fake(GroupCoordinator.class, Map.of("groupMetadataTopicConfigs", a -> new Properties(), "shareGroupStateTopicConfigs", a -> new Properties()));
        LogManager logs = fake(LogManager.class, Map.of("getLog", a -> log((TopicPartition) a[0])));
        ReplicaManager replicas = fake(ReplicaManager.class, Map.of("logManager", a -> logs, "localLog", a -> log((TopicPartition) a[0]), "onlinePartition", a -> {
            scala.Option<UnifiedLog> log = log((TopicPartition) a[0]);
            return log.isEmpty() ? scala.Option.empty() : scala.Option.apply(fake(Partition.class, Map.of("leaderLogIfLocal", b -> log, "log", b -> log, "isLeader", b -> true,
                "getLeaderEpoch", b -> leaderEpoch((TopicPartition) a[0]))));
        }));
        KafkaApis apis = fake(KafkaApis.class, Map.of("authorizerPlugin", a -> authorizer(), "clusterId", a -> clusterId(), "isConsumerGroupProtocolEnabled", a -> true,
            "metadataCache", a -> cache, "brokerId", a -> 0));
        BrokerLifecycleManager life = fake(BrokerLifecycleManager.class, Map.of("initialUnfenceFuture", a -> CompletableFuture.completedFuture(null)));
        SocketServer sockets = sockets();
        broker = fake(BrokerServer.class, Map.ofEntries(
            Map.entry("config", a -> config.get()), Map.entry("metadataCache", a -> cache), Map.entry("groupCoordinator", a -> groups),
            Map.entry("socketServer", a -> sockets), Map.entry("boundPort", a -> process.portOf(((ListenerName) a[0]).value())),
            Map.entry("clusterId", a -> clusterId()),
            Map.entry("logManager", a -> logs), Map.entry("replicaManager", a -> replicas), Map.entry("dataPlaneRequestProcessor", a -> apis),
            Map.entry("lifecycleManager", a -> life), Map.entry("authorizerPlugin", a -> authorizer()), Map.entry("credentialProvider", a -> credentials()),
            Map.entry("brokerState", a -> process.isAlive() ? BrokerState.RUNNING : BrokerState.NOT_RUNNING),
            Map.entry("isShutdown", a -> !process.isAlive()), Map.entry("shutdown", a -> { process.stop(); return null; }),
            Map.entry("awaitShutdown", a -> { process.awaitEnd(); return null; }), Map.entry("startup", a -> { process.start(); return null; })));
        return broker;
    }

    ControllerServer controller() {
        if (controller != null) return controller;
        Controller inner = fake(Controller.class, Map.of(
            "isActive", a -> true,
            "findAllTopicIds", a -> CompletableFuture.completedFuture(topicIds()),
            "findTopicIds", a -> {
                Map<String, ResultOrError<Uuid>> found = new HashMap<>();
                Map<String, Uuid> ids = topicIds();
                for (Object name : (Collection<?>) a[1])
                    found.put((String) name, ids.containsKey(name) ? ResultOrError.of(ids.get(name)) : new ResultOrError<>(Errors.UNKNOWN_TOPIC_OR_PARTITION, ""));
                return CompletableFuture.completedFuture(found);
            }));
        SocketServer sockets = sockets();
        controller = fake(ControllerServer.class, Map.of("controller", a -> inner, "config", a -> config.get(), "socketServer", a -> sockets,
            "authorizerPlugin", a -> authorizer(), "clusterId", a -> clusterId()));
        return controller;
    }
}
