"""Calls every function of the generated module, whose names are those that the module uses itself.

The names are the arguments: those of functions and parameters.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gadget import rt

calls = []


def refused(function, *args):
    """Returns true if a function refuses its arguments."""
    try:
        function(*args)
    except TypeError:
        return True
    return False


names = Path(sys.argv[1]).read_text().split()
for name in names:
    # The stand-in for C writes 7 to each output, and returns 0.
    assert getattr(rt, name)(5) == (7, 0), name
    assert refused(getattr(rt, name)), name
    assert refused(getattr(rt, name), "text"), name
    take = getattr(rt, f"take_{name}")
    assert take("text", [1, 2, 3], {"first": 4}) == ([0, 0], {"first": 0}, 7, 0), name
    assert refused(take, 1, [1], {}), name
assert set(names) <= set(dir(rt))
print("done")
