"""The host of the tests itself."""

import subprocess
import sys
from pathlib import Path


def test_host_notices_what_libraries_do_wrong() -> None:
    # A process can load one library.
    checks = Path(__file__).parent / "host_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=checks.parent)
    assert done.returncode == 0, done.stdout
