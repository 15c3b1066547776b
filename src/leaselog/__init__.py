"""leaselog: queues for Kafka, in Python."""
