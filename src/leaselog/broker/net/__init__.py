"""From bytes to handlers and back: connections, frames, the registry of APIs, dispatch."""
