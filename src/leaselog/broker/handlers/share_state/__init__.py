"""APIs about the durable state of share partitions (KIP-932's five RPCs): one module each, its rules at the top."""
