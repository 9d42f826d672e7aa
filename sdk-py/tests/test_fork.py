"""Children of a process that uses devices."""

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
"""


def test_using_it_in_a_child_is_a_clear_error(program: Program) -> None:
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


def test_a_child_ends_while_its_parent_has_work_and_threads(program: Program) -> None:
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


def test_a_child_of_a_process_that_has_not_used_it_may(program: Program) -> None:
    output = forked(program, "", "print(tenon.Stream('cpu:0').query(), flush=True)")
    assert output == "True\nchild ended with 0\n"


def test_processes_that_are_spawned_use_devices(program: Program) -> None:
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


def test_processes_that_are_forked_are_told(program: Program) -> None:
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
