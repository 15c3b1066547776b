"""Where clients are told to connect: by listener, as a client can only be sure to reach the one that it came by."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import EVERY_ADDRESS, Address, advertised_addresses

__all__ = ["AdvertisedAddresses"]

_BEFORE_IT_LISTENS = Address("localhost", 9092)


class AdvertisedAddresses:
    def __init__(self, config: BrokerConfig) -> None:
        self._wanted = advertised_addresses(config)
        self._told: Mapping[str, Address] = self._wanted
        self.first = next(iter(self._wanted.values()), _BEFORE_IT_LISTENS)

    def listening_on(self, places: Mapping[str, Address]) -> None:
        """The broker accepts connections there, the first listener first; clients are told so unless the config says
        otherwise."""
        self._told = {name: self._of(name, place) for name, place in places.items()}
        self.first = next(iter(self._told.values()))

    def _of(self, name: str, place: Address) -> Address:
        wanted = self._wanted.get(name)
        if wanted is not None:
            return Address(wanted.host, wanted.port or place.port)
        # Nobody can connect to "every address"; Kafka tells its own name then.
        return Address(socket.gethostname(), place.port) if place.host in EVERY_ADDRESS else place

    def of(self, listener: str) -> Address:
        """What clients of that listener are told."""
        return self._told.get(listener, self.first)
