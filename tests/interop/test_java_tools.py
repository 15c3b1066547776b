"""Apache's command-line tools as an operator runs them, judged by what they print."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

from confluent_kafka import TopicPartition

from interop.broker_process import BrokerProcess
from interop.confluent_io import consumer_of, create_topic, numbered, produce, read
from interop.toolbox import TOOLS

GROUP_TOOL = "consumer.group.ConsumerGroupCommand"


def segments(broker: BrokerProcess, topic: str, suffix: str) -> list[Path]:
    return sorted((broker.log_dir / f"{topic}-0").glob(f"*.{suffix}"))


def test_topics_are_created_and_described(tool, fresh) -> None:
    topic = fresh("topic")
    create = ["--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=5000000"]
    assert f"Created topic {topic}." in tool("TopicCommand", *create)
    described = tool("TopicCommand", "--describe", "--topic", topic)
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: .*retention.ms=5000000", described)
    assert re.search(r"Partition: 1\s+Leader: (\d+)\s+Replicas: \1\s+Isr: \1\s", described)


def test_configs_are_altered_and_described(tool, broker, fresh) -> None:
    entity = ["--entity-type", "topics", "--entity-name", create_topic(broker, fresh("topic"))]
    tool("kafka.admin.ConfigCommand", "--alter", *entity, "--add-config", "max.message.bytes=2000000")
    described = tool("kafka.admin.ConfigCommand", "--describe", *entity)
    assert "max.message.bytes=2000000 sensitive=false" in described
    assert "DEFAULT_CONFIG:message.max.bytes=1048588" in described


def test_the_producers_benchmark_and_the_offsets_tool_count_the_same(tool, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    load = ["--topic", topic, "--num-records", "5000", "--record-size", "100", "--throughput", "-1"]
    assert "5000 records sent" in tool("ProducerPerformance", *load)
    assert tool("GetOffsetShell", "--topic", topic).split() == [f"{topic}:0:5000"]


def test_what_the_console_producer_is_told_the_console_consumer_prints(tool, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    parse = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    tool("ConsoleProducer", "--topic", topic, *parse, "--compression-codec", "zstd", stdin="k1:v1\nk2:v2\n")
    asked = ["--topic", topic, "--from-beginning", "--max-messages", "2", "--group", fresh("group")]
    printed = tool("consumer.ConsoleConsumer", *asked, "--formatter-property", "print.key=true")
    assert "k1\tv1\nk2\tv2\n" in printed


def test_a_group_is_described_reset_and_deleted(tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(10))
    with closing(consumer_of(broker, group)) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    described = tool(GROUP_TOOL, "--describe", "--group", group)
    assert re.search(rf"{re.escape(group)}\s+{re.escape(topic)}\s+0\s+4\s+10\s+6\s", described)
    reset = ["--reset-offsets", "--to-earliest", "--topic", topic, "--execute"]
    assert re.search(rf"{re.escape(topic)}\s+0\s+0\s", tool(GROUP_TOOL, "--group", group, *reset))
    assert "was successful" in tool(GROUP_TOOL, "--delete", "--group", group)


def test_groups_are_listed_with_type_and_protocol(tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(1))
    with closing(consumer_of(broker, group)) as consumer:
        consumer.subscribe([topic])
        consumer.consume(1, 10)
        assert re.search(rf"{re.escape(group)}\s+Classic\s+consumer", tool("GroupsCommand", "--list"))


def test_records_are_deleted_by_a_file_of_offsets(tool, broker, fresh, tmp_path) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, numbered(10))
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 5}]}
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(wanted))
    assert f"{topic}-0\tlow_watermark: 5" in tool("DeleteRecordsCommand", "--offset-json-file", str(file))
    assert read(broker, topic, 1)[0].offset() == 5


def test_disk_use_is_told_for_each_partition(tool, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, numbered(100))
    answer = json.loads(tool("LogDirsCommand", "--describe", "--topic-list", topic).splitlines()[-1])
    (directory,) = answer["brokers"][0]["logDirs"]
    (partition,) = directory["partitions"]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] == segments(broker, topic, "log")[0].stat().st_size
    assert Path(directory["logDir"]) == broker.log_dir


def test_every_version_the_java_client_wants_is_there(tool) -> None:
    printed = tool("BrokerApiVersionsCommand")
    for api in (
        "Produce(0)",
        "Fetch(1)",
        "ListOffsets(2)",
        "Metadata(3)",
        "JoinGroup(11)",
        "CreateTopics(19)",
    ):
        assert re.search(rf"{re.escape(api)}: \d+ to \d+ \[usable: \d+\]", printed), api


def test_the_cluster_tells_its_id(tool) -> None:
    assert re.search(r"Cluster ID: [\w-]{22}\n", tool("ClusterTool", "cluster-id"))


def test_features_are_described(tool) -> None:
    assert re.search(r"Feature: group.version\s+SupportedMinVersion: 0\s", tool("FeatureCommand", "describe"))


def test_the_dump_tool_reads_our_segments_and_agrees_with_our_indexes(java, broker, fresh) -> None:
    config = {"segment.bytes": str(1 << 20), "index.interval.bytes": "4096"}
    topic = create_topic(broker, fresh("topic"), config=config)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        produce(broker, topic, numbered(300, size=4_000), compression_type=codec, batch_size=40_000)
    logs = segments(broker, topic, "log")
    files = [*logs, *segments(broker, topic, "index"), *segments(broker, topic, "timeindex")]
    assert len(logs) >= 2
    dumped = java.run(
        TOOLS + "DumpLogSegments",
        "--files",
        ",".join(map(str, files)),
        "--deep-iteration",
        "--print-data-log",
    )
    assert dumped.code == 0, dumped.err
    everything = dumped.out + dumped.err
    for complaint in (
        "Mismatches in",
        "mismatch",
        "out of order",
        "sanity",
        "isvalid: false",
    ):
        assert complaint not in everything
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+) ", dumped.out, re.MULTILINE)]
    assert offsets == list(range(1_500))
    assert {"none", "gzip", "snappy", "lz4", "zstd"} == set(re.findall(r"compresscodec: (\w+)", dumped.out))
    assert re.findall(r"payload: (value-\d+-)", dumped.out) == [f"value-{n}-" for n in range(300)] * 5
    # the indexes of a segment that still grows are mapped ahead of it, with zeros
    rolled = [path for path in files if path.suffix != ".log" and path.stem != logs[-1].stem]
    sane = java.run(
        TOOLS + "DumpLogSegments",
        "--files",
        ",".join(map(str, rolled)),
        "--index-sanity-check",
    )
    assert sane.out.count("passed sanity check.") == len(rolled) == 2 * len(logs) - 2, sane.out + sane.err
