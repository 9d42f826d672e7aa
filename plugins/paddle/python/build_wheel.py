"""Build the plugin's wheel from its library, with nothing but Python's standard library.

The wheel holds one file that matters: `paddle_custom_device/libtenon_paddle.so`, where Paddle
looks for plugins. It has no Python code, so it fits every Python; which Linux it fits is read
from the library itself, from the versions of glibc's symbols that it needs.

    python build_wheel.py --lib target/release/libtenon_paddle.so --out dist
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import struct
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

NAME = "tenon-paddle"
VERSION = "0.1.0"
FOLDER = "paddle_custom_device"
"""The folder in site-packages where Paddle looks for plugins."""

METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: A CPU device for PaddlePaddle 2.6 to 3.3, made with Tenon
License: Apache-2.0
Keywords: paddlepaddle,custom device,plugin,accelerator
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Rust
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: tenon build_wheel ({version})
Root-Is-Purelib: false
Tag: {tag}
"""


class BuildError(Exception):
    """What stands in the way of a wheel, in words for the one who asked for it."""


class Elf:
    """The little of an ELF library that says where it can be loaded."""

    MACHINES = {62: "x86_64", 183: "aarch64"}

    def __init__(self, data: bytes) -> None:
        # 64 bits, least significant byte first: all that Paddle runs on.
        if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":
            raise BuildError("not a 64-bit little-endian ELF library")
        self.data = data
        kind, machine = struct.unpack_from("<HH", data, 16)
        if kind != 3:
            raise BuildError("an ELF file, but not a shared library")
        if machine not in self.MACHINES:
            raise BuildError(f"built for machine {machine}, for which there is no wheel")
        self.machine = self.MACHINES[machine]

    def _sections(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Type, offset, size, link and info of each section."""
        (table,) = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        for index in range(count):
            header = struct.unpack_from("<IIQQQQIIQQ", self.data, table + index * size)
            yield header[1], header[4], header[5], header[6], header[7]

    def _text(self, table: int, offset: int) -> str:
        start = table + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def versions_needed(self) -> dict[str, set[str]]:
        """For each library that this one needs, the versions of its symbols that it needs."""
        sections = list(self._sections())
        needed: dict[str, set[str]] = {}
        for kind, at, _, link, count in sections:
            if kind != 0x6FFFFFFE:  # SHT_GNU_verneed
                continue
            strings = sections[link][1]
            for _ in range(count):
                _, versions, file, aux, following = struct.unpack_from("<HHIII", self.data, at)
                names = needed.setdefault(self._text(strings, file), set())
                entry = at + aux
                for _ in range(versions):
                    _, _, _, text, step = struct.unpack_from("<IHHII", self.data, entry)
                    names.add(self._text(strings, text))
                    entry += step
                at += following
        return needed

    def exports(self) -> set[str]:
        """The names that the library defines for others."""
        sections = list(self._sections())
        names = set()
        for kind, at, size, link, _ in sections:
            if kind != 11:  # SHT_DYNSYM
                continue
            for entry in range(at, at + size, 24):
                text, _, _, section = struct.unpack_from("<IBBH", self.data, entry)
                if section:
                    names.add(self._text(sections[link][1], text))
        return names


def platform_tag(elf: Elf) -> str:
    """The oldest Linux on which the library loads, as wheels say it (PEP 600)."""
    versions = [
        tuple(int(part) for part in match[1].split("."))
        for names in elf.versions_needed().values()
        for match in (re.fullmatch(r"GLIBC_(\d+\.\d+)(?:\.\d+)?", name) for name in names)
        if match
    ]
    # 2.17 is the oldest that pip's tags for x86_64 and aarch64 have in common.
    major, minor = max([(2, 17), *versions])[:2]
    return f"manylinux_{major}_{minor}_{elf.machine}"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _timestamp() -> tuple[int, int, int, int, int, int]:
    """The time of every file: fixed, so that the same library makes the same wheel."""
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))
    return (*moment[:5], moment.tm_sec // 2 * 2)


def build(library: Path, out: Path, readme: Path) -> Path:
    """Write the wheel of a library to a folder, and return its path."""
    try:
        data = library.read_bytes()
    except OSError as error:
        raise BuildError(f"{library}: {error.strerror}") from error
    try:
        elf = Elf(data)
        if "InitPlugin" not in elf.exports():
            raise BuildError("exports no `InitPlugin`, so Paddle would not take it for a plugin")
        tag = f"py3-none-{platform_tag(elf)}"
    except (BuildError, struct.error, ValueError, IndexError) as error:
        raise BuildError(f"{library}: {error}") from error
    distribution = f"{NAME.replace('-', '_')}-{VERSION}"
    info = f"{distribution}.dist-info"
    description = readme.read_text(encoding="utf-8")
    metadata = METADATA.format(name=NAME, version=VERSION, description=description)
    files = {
        f"{FOLDER}/libtenon_paddle.so": data,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": WHEEL.format(version=VERSION, tag=tag).encode(),
    }
    record = "".join(f"{path},sha256={_digest(body)},{len(body)}\n" for path, body in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{distribution}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in files.items():
            entry = zipfile.ZipInfo(path, _timestamp())
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if path.endswith(".so") else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, body)
    return wheel


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Build the wheel that puts the plugin where Paddle looks for it."
    )
    parser.add_argument("--lib", type=Path, required=True, help="the built libtenon_paddle.so")
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), help="where to put it (default: %(default)s)"
    )
    parser.add_argument(
        "--readme",
        type=Path,
        default=Path(__file__).with_name("README.md"),
        help="the description in the wheel (default: the README.md beside this script)",
    )
    options = parser.parse_args()
    try:
        print(build(options.lib, options.out, options.readme))
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
