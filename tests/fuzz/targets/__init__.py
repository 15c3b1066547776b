"""What is fuzzed: functions of bytes, each of which reads them as the broker, the log or a client would.

A target returns normally, raises ``Unwanted`` for bytes that say nothing new, or fails. What may leave the code under
test is ``DecodeError``, and where a room has an error of its own for the same thing, that one; the target swallows it.
Anything else is a finding: an exception of another kind, an answer that contradicts another, a cost out of proportion.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fuzz.cost import Budget
from fuzz.targets.batches import batches, bodies, codecs
from fuzz.targets.broker import broker, logins
from fuzz.targets.connections import frames, session
from fuzz.targets.files import segments
from fuzz.targets.handshakes import handshakes
from fuzz.targets.messages import requests, responses
from fuzz.targets.states import state_logs, states
from fuzz.targets.target import Target, Unwanted
from fuzz.targets.texts import texts

__all__ = ["TARGETS", "Target", "Unwanted"]

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "frames": Target(frames),
        "session": Target(session),
        "handshakes": Target(handshakes, budget=None),
        "requests": Target(requests),
        "responses": Target(responses),
        "codecs": Target(codecs, budget=Budget(base_bytes=16 << 20)),
        "batches": Target(batches, budget=Budget(base_bytes=64 << 20)),
        "bodies": Target(bodies, budget=Budget(base_bytes=64 << 20)),
        "segments": Target(segments, max_bytes=16384, budget=Budget(base_bytes=64 << 20)),
        "states": Target(states),
        "state_logs": Target(state_logs, budget=Budget(base_bytes=64 << 20)),
        "broker": Target(broker, budget=None),
        "logins": Target(logins, max_bytes=2048, budget=None),
        "texts": Target(texts, max_bytes=1024),
    }
)
