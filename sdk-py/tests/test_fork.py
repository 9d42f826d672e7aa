"""Forked children of processes that use devices."""

from __future__ import annotations

from support import Program, silent

FORK = """
    import gc, os, sys, threading
    import tenon
    BEFORE
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        CHILD
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    print("child ended with", status)
    AFTER
"""


def forked(program: Program, before: str, child: str, after: str = "pass", **variables: str) -> str:
    source = FORK.replace("BEFORE", "\n    ".join(before.strip().splitlines()))
    source = source.replace("CHILD", "\n        ".join(child.strip().splitlines()))
    source = source.replace("AFTER", "\n    ".join(after.strip().splitlines()))
    done = program(source, PYTHONWARNINGS="ignore::DeprecationWarning", **variables)
    assert done.returncode == 0
    assert done.stderr == ""
    return done.stdout


USES = """
for use in (
    device.synchronize,
    stream.query,
    stream.synchronize,
    event.query,
    event.record,
    device.create_stream,
    tenon.devices,
    tenon.plugins,
    lambda: tenon.device("cpu:0"),
    lambda: stream.add_callback(print),
    lambda: stream.handle,
    lambda: event.handle,
    lambda: device.plugin,
    lambda: plugin.open_devices,
    plugin.devices,
    plugin.unload,
    lambda: tenon.load_plugin("nowhere.so"),
    tenon.plugin_failures,
    lambda: tenon.empty(1),
    lambda: tenon.pinned(1),
    lambda: tenon.Buffer.from_array([1]),
    lambda: buffer.ptr,
    lambda: buffer[0],
    lambda: buffer.T,
    buffer.tolist,
    buffer.memoryview,
    buffer.__dlpack__,
    lambda: buffer.fill(1),
    lambda: buffer.fill(1, stream),
    lambda: buffer.copy_from(bytes(4)),
    lambda: buffer.copy_from(bytearray(4)),
    lambda: buffer.copy_to(bytearray(4)),
    lambda: buffer.record_stream(stream),
    lambda: closed.ptr,
    pinned.tolist,
    lambda: pinned.copy_to(bytearray(4)),
    borrowed.tolist,
    lambda: borrowed.fill(1),
    lambda: tenon.init(layers="validate"),
):
    try:
        use()
        print("no error", use)
    except tenon.NotInitialisedError as error:
        assert "spawn" in str(error), error
"""

OBJECTS = """
device = tenon.device("cpu:0")
stream = device.create_stream()
event = stream.record_event()
event.synchronize()
plugin = device.plugin
buffer, pinned, closed = tenon.zeros(4, "uint8"), tenon.pinned(4, "uint8"), tenon.empty(1)
closed.close()
pinned.fill(1)
class OfAnother:
    # Device memory of another package, as DLPack describes it.
    def __dlpack__(self, **_):
        from tenon import _dlpack_layout, dlpack
        lent = buffer.__dlpack__(max_version=(1, 0))
        managed = _dlpack_layout.ManagedVersioned.from_address(dlpack._capsule_get(lent, dlpack._VERSIONED))
        self.lent = lent
        self.copy = _dlpack_layout.ManagedVersioned(1, 0, tensor=managed.tensor)
        self.copy.tensor.device.type = _dlpack_layout.EXT_DEV
        return dlpack._capsule_new(dlpack.ctypes.addressof(self.copy), dlpack._VERSIONED, None)
other = OfAnother()
borrowed = tenon.from_dlpack(other, device=device)
"""


def test_use_in_a_forked_child_is_an_error(program: Program) -> None:
    assert forked(program, OBJECTS, USES) == "child ended with 0\n"


def test_finalisers_do_nothing_in_a_child(program: Program) -> None:
    output = forked(
        program,
        OBJECTS,
        """
        stream.close()
        event.close()
        device.close()
        del stream, event
        gc.collect()
        tenon.shutdown()
        """.replace("        ", ""),
        "event.synchronize()\nprint(stream.query(), stream.closed)",
        TENON_LAYERS="validate",
    )
    assert output == "child ended with 0\nTrue False\n"


def test_child_exits_while_its_parent_has_work_and_threads(program: Program) -> None:
    output = forked(
        program,
        OBJECTS
        + """
gate = threading.Event()
stream.add_callback(gate.wait)
def make():
    while not gate.is_set():
        tenon.Stream("cpu:0").close()
threads = [threading.Thread(target=make) for _ in range(2)]
for thread in threads: thread.start()
""",
        USES,
        "gate.set()\nfor thread in threads: thread.join()\nstream.synchronize()",
    )
    assert output == "child ended with 0\n"


def test_child_of_an_unused_parent_may_use_it(program: Program) -> None:
    output = forked(program, "", "print(tenon.Stream('cpu:0').query(), flush=True)")
    assert output == "True\nchild ended with 0\n"


USES_LOCKS = """
stream = tenon.Stream("cpu:0")
buffer = tenon.zeros(4, "uint8", stream=stream)
buffer.copy_from(bytearray(b"abcd"), stream)
print(buffer.tolist(), flush=True)
"""


def test_child_does_not_wait_for_locks_of_parent_threads(program: Program) -> None:
    """Another thread initialises the library or uses memory while its process forks."""
    output = forked(
        program,
        """
from tenon import _memory
from tenon._lifecycle import host_memory, process
held, forked = threading.Event(), threading.Event()
def begin():
    with process.lock, host_memory._lock, _memory._lock:
        held.set()
        forked.wait()
thread = threading.Thread(target=begin)
thread.start()
held.wait()
""",
        USES_LOCKS,
        "forked.set()\nthread.join()" + USES_LOCKS,
    )
    assert output == "[97, 98, 99, 100]\nchild ended with 0\n[97, 98, 99, 100]\n"


def test_spawned_processes_can_use_devices(program: Program) -> None:
    done = program(
        """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import tenon

        def work(name, device):
            seen = []
            with device.create_stream() as stream:
                stream.add_callback(seen.append, name)
                stream.synchronize()
            return seen[0]

        if __name__ == "__main__":
            device = tenon.device("cpu:0")
            device.synchronize()
            with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
                print(list(pool.map(work, ["one", "two"], [device, device])))
        """
    )
    assert silent(done, "['one', 'two']")


def test_forked_workers_get_an_error(program: Program) -> None:
    done = program(
        """
        import multiprocessing
        import tenon

        def work(_):
            tenon.Stream("cpu:0")

        if __name__ == "__main__":
            tenon.Stream("cpu:0")
            with multiprocessing.get_context("fork").Pool(1) as pool:
                try:
                    pool.map(work, [0])
                except tenon.NotInitialisedError as error:
                    print("spawn" in str(error))
        """,
        PYTHONWARNINGS="ignore::DeprecationWarning",
    )
    assert silent(done, "True")
