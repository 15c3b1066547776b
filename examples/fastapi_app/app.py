"""An endpoint that puts jobs into a queue. The worker beside it is `leaselog worker tasks:pack` (see ../README.md)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from pydantic import BaseModel

from leaselog.client import AsyncProducer, from_json


class Order(BaseModel):
    item: str


class Stored(BaseModel):
    partition: int
    offset: int


def create_app(bootstrap_servers: str | None = None, topic: str = "orders") -> FastAPI:
    address = bootstrap_servers or os.environ.get("LEASELOG_BOOTSTRAP_SERVERS", "127.0.0.1:9092")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncProducer(address, value_serializer=from_json) as producer:
            app.state.producer = producer
            yield  # what is on its way when the application ends is still delivered

    app = FastAPI(lifespan=lifespan)

    @app.post("/orders", status_code=202)
    async def order(order: Order, request: Request) -> Stored:
        receipt = await request.app.state.producer.send(topic, order.model_dump())
        stored = await receipt  # the job is on disk: now it may be promised
        return Stored(partition=stored.partition, offset=stored.offset)

    return app
