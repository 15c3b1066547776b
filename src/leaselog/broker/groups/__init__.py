"""Groups of every kind and the offsets they commit, in `__consumer_offsets`."""
