"""Workers as applications write them: handlers by decorator, with payloads of the type that they ask for.

How a worker's records come, wait and fail is the share consumer's (`client/share/worker.py`). What is here is a handler
for it, made of several: each record to that of its topic, decoded, through middleware, its result published.
"""

from leaselog.client.worker.trace_context import TraceContext
from leaselog.client.worker.tracing import current_trace, in_trace, trace_headers
from leaselog.client.worker.worker import Worker

__all__ = ["TraceContext", "Worker", "current_trace", "in_trace", "trace_headers"]
