"""APIs about topics, partitions, nodes and features: one module each, its rules at the top."""
