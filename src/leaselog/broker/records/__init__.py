"""The logs of all partitions: opened, synced, cleaned, brought back; and who waits for what is written to them."""
