"""The durable state of share partitions, in `__share_group_state` or beside their records, and who may keep it."""
