"""Memory of two processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import acl
from support import PATIENCE, environment

IMPORTER = """
import os, sys
import acl

print(os.getpid(), flush=True)
key = input()
assert acl.rt.set_device(0) == 0
memory, ret = acl.rt.ipc_mem_import_by_key(key, 0)
assert ret == 0, acl.get_recent_err_msg()
print(acl.util.ptr_to_bytes(memory, 4), flush=True)
assert acl.rt.memset(memory, 4096, 2, 4096) == 0
assert acl.rt.ipc_mem_close(key) == 0
memory, ret = acl.rt.ipc_mem_import_by_key("tenon-1-1-1-0-10", 0)
assert ret == 107000, ret
assert acl.rt.reset_device(0) == 0
"""


def test_memory_is_shared_with_another_process(device: int, tmp_path: Path) -> None:
    path = tmp_path / "importer.py"
    path.write_text(IMPORTER)
    memory, ret = acl.rt.malloc(4096, 0)
    assert ret == 0
    assert acl.rt.memset(memory, 4096, 1, 4096) == 0
    with subprocess.Popen(
        [sys.executable, str(path)],
        env=environment(TENON_LAYERS="validate"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as importer:
        assert importer.stdout is not None
        process = int(importer.stdout.readline())
        key, ret = acl.rt.ipc_mem_get_export_key(memory, 4096, 65, 0)
        assert ret == 0
        assert acl.rt.ipc_mem_set_import_pid(key, [process]) == 0
        output, errors = importer.communicate(key + "\n", timeout=PATIENCE)
        assert (importer.returncode, output, errors) == (0, "b'\\x01\\x01\\x01\\x01'\n", "")
    assert acl.util.ptr_to_bytes(memory, 4096) == bytes([2]) * 4096
    assert acl.rt.ipc_mem_close(key) == 0
    assert acl.rt.free(memory) == 0
