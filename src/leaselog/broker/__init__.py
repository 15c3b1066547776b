"""The broker: sockets, dispatch, the APIs, the owners of partitions and groups, config and metrics."""
