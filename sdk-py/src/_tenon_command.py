"""Entry point of the command `tenon`.

It is outside the package because importing the package loads the library. If the library cannot be loaded, the command
prints a one-line error.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command and returns its exit status."""
    try:
        from tenon._cli import main
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return main()
