"""`python -m tenon`: the same as the command `tenon`."""

from __future__ import annotations

import sys

from tenon._cli import main

sys.exit(main())
