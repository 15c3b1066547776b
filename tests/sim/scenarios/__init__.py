"""One module a scenario: ``settings`` of the broker, and ``play`` with what goes wrong. Found by their names."""
