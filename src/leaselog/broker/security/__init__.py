"""Security: who a client is, and what it may do."""

from leaselog.broker.security.principals import PrincipalContext

__all__ = ["PrincipalContext"]
