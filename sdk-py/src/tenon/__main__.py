"""Runs the command `tenon` as `python -m tenon`."""

from __future__ import annotations

import sys

from tenon._cli import main

sys.exit(main())
