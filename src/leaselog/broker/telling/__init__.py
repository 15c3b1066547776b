"""What is told to whoever scrapes: the metrics in Prometheus' words, in small steps."""
