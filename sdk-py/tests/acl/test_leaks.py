"""Leak tests: ten thousand rounds must leave nothing behind in the process or in the validation layer."""

from __future__ import annotations

import textwrap

import pytest

from support import Program

ROUNDS = {
    "contexts": """
        context, ret = acl.rt.create_context(0)
        assert ret == acl.rt.destroy_context(context) == acl.rt.set_device(0) == acl.rt.reset_device(0) == 0
    """,
    "streams": """
        stream, ret = acl.rt.create_stream()
        assert ret == acl.rt.destroy_stream(stream) == 0
    """,
    "events": """
        event, ret = acl.rt.create_event()
        assert ret == acl.rt.record_event(event, 0) == acl.rt.synchronize_event(event) == 0
        assert acl.rt.destroy_event(event) == 0
    """,
    "memory": """
        memory, ret = acl.rt.malloc(1 << 16, 0)
        assert ret == acl.rt.memset_async(memory, 1 << 16, 1, 1 << 16, 0) == 0
        assert acl.rt.synchronize_stream(0) == acl.rt.free(memory) == 0
    """,
    "pinned memory": """
        memory, ret = acl.rt.malloc_host(1 << 16)
        assert ret == acl.rt.free_host(memory) == 0
    """,
    "callbacks": """
        assert acl.rt.launch_callback(bytearray, 4096, 1, served) == 0
        assert acl.rt.process_report(1000) == 0
    """,
    "failures": """
        assert acl.rt.free(12345) != 0
        assert acl.rt.synchronize_stream(12345) != 0
    """,
}

PROGRAM = """
import acl, threading, resource

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def round():
{body}

assert acl.init() == acl.rt.set_device(0) == 0
served, ret = acl.rt.create_stream()
assert ret == acl.rt.subscribe_report(threading.get_ident(), served) == 0
# The layer remembers a number of destroyed handles for its messages. This memory is filled first.
for _ in range(10_000):
    round()
before = resident()
for _ in range(10_000):
    round()
grown = resident() - before
assert acl.rt.unsubscribe_report(threading.get_ident(), served) == 0
assert acl.rt.destroy_stream(served) == 0
assert acl.rt.reset_device(0) == acl.finalize() == 0
print(grown)
"""


@pytest.mark.parametrize("what", ROUNDS)
def test_repeated_use_leaks_nothing(program: Program, what: str) -> None:
    body = textwrap.indent(textwrap.dedent(ROUNDS[what]).strip(), "    ")
    done = program(PROGRAM.format(body=body), TENON_LAYERS="validate")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) < 4 << 20, "bytes that ten thousand rounds left in the process"
