"""Share partitions at work: sessions, who waits for records, who holds which, and what becomes of them."""
