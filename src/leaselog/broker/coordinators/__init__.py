"""What any coordinator does: it loads a partition of an internal topic, answers from it, writes to it, begins anew."""
