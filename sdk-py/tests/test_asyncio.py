"""Waits in asyncio tasks."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

import tenon
from support import PATIENCE, Gate, Program


def test_await_does_not_block_other_tasks(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    seen: list[str] = []

    async def wait(event: tenon.Event) -> None:
        await event
        seen.append("event")

    async def main() -> None:
        gate.hold(stream)
        waiting = asyncio.ensure_future(wait(stream.record_event()))
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        seen.append("opened")
        gate.open()
        await asyncio.wait_for(waiting, PATIENCE)
        await stream.synchronize_async()
        await stream
        await device.synchronize_async()
        assert stream.query()

    asyncio.run(main())
    assert seen == ["opened", "event"]


def test_many_tasks_wait_for_many_streams(device: tenon.Device) -> None:
    async def one(number: int) -> int:
        stream = device.create_stream()
        seen: list[int] = []
        for _ in range(10):
            stream.add_callback(seen.append, number)
            await stream.record_event()
        return sum(seen)

    async def main() -> list[int]:
        return await asyncio.gather(*[one(number) for number in range(20)])

    assert asyncio.run(main()) == [10 * number for number in range(20)]


def test_a_wait_can_be_cancelled(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    async def main() -> None:
        gate.hold(stream)
        event = stream.record_event()
        for wait in (event, stream, stream.synchronize_async(), device.synchronize_async()):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(wait, 0.01)
        gate.open()
        await event

    asyncio.run(main())


def test_awaited_event_is_kept_alive(stream: tenon.Stream, gate: Gate) -> None:
    async def wait() -> None:
        await stream.record_event()

    async def main() -> None:
        gate.hold(stream)
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0.01)
        gc.collect()
        gate.open()
        await waiting

    asyncio.run(main())


def test_await_of_a_closed_event_is_an_error(device: tenon.Device) -> None:
    event = device.create_event()
    event.close()

    async def main() -> None:
        with pytest.raises(tenon.InvalidHandleError):
            await event

    asyncio.run(main())


def test_current_device_and_stream_are_per_task(device: tenon.Device) -> None:
    async def one(rounds: int) -> None:
        with device.create_stream() as stream:
            for _ in range(rounds):
                assert tenon.current_stream() is stream
                await asyncio.sleep(0)
        assert tenon.current_stream() is device.default_stream

    async def main() -> None:
        await asyncio.gather(*[one(number) for number in range(1, 20)])

    asyncio.run(main())


def test_the_package_does_not_import_asyncio(program: Program) -> None:
    done = program("import sys, tenon\ntenon.Stream('cpu:0').synchronize()\nprint('asyncio' in sys.modules)")
    assert done.stdout.strip() == "False", sys.version
