"""What a client may do, as bit sets of Kafka's operations: everything, as long as there are no access lists."""

from __future__ import annotations

__all__ = ["ALL_CLUSTER_OPERATIONS", "ALL_GROUP_OPERATIONS", "ALL_TOPIC_OPERATIONS", "NOT_ASKED"]

#: Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite
ALL_CLUSTER_OPERATIONS = 8096
#: Read, Delete, Describe, DescribeConfigs, AlterConfigs
ALL_GROUP_OPERATIONS = 3400
#: Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs
ALL_TOPIC_OPERATIONS = 3576
NOT_ASKED = -(2**31)
