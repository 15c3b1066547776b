"""The cluster's own state: topics, partitions, configs, features, quotas, and the log they survive in."""
