"""APIs about configs of topics, groups and the broker: one module each, its rules at the top."""
