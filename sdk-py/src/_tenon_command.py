"""Where the command `tenon` begins: outside of the package, whose import loads the library.

Where the library cannot be loaded, the command says so in a line.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command, and returns its exit status."""
    try:
        from tenon._cli import main
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return main()
