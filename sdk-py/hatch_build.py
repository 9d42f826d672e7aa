"""Build the Rust half of a wheel with cargo, and find out on which Linux it runs.

The hook of every wheel in this repository. Its settings in `pyproject.toml`:

    packages = ["…"]                       what cargo builds
    files = { "libx.so" = "x/libx.so" }    which of the files goes where in the wheel
    exports = "…"                          a symbol that the library must have, if any

A source distribution gets the sources of these packages under `rust/`, and can be built where the
repository is not. An editable install gets links to what cargo built, in the source tree.

`TENON_GLIBC=2.17` builds for systems as old as that, whatever this one is.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDORED = "rust"
"""The folder of the Rust sources in a source distribution."""

NO_CARGO = (
    "this is built with Rust 1.89 or newer, and there is no `cargo` on the PATH; "
    "https://rustup.rs installs it with one line"
)
NO_ZIGBUILD = (
    "TENON_GLIBC builds with cargo-zigbuild, which is not on the PATH; `pip install cargo-zigbuild ziglang` installs it"
)
OLDEST_GLIBC = (2, 17)
"""The oldest that pip's tags for x86_64 and aarch64 have in common, and that Rust supports."""

MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


class BuildError(Exception):
    """The wheel cannot be built. The message is shown to the user."""


class CargoHook(BuildHookInterface[BuilderConfig]):
    """The hook that hatchling calls before and after it packs."""

    _scratch: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the libraries, and sets the files and the tag of the wheel."""
        try:
            workspace = Workspace.around(Path(self.root))
            packages: list[str] = self.config["packages"]
            if self.target_name == "sdist":
                build_data["force_include"].update(self._sources(workspace, packages))
                return
            built = workspace.build(packages, os.environ.get("TENON_GLIBC"))
            files = {built.path(name): to for name, to in self.config["files"].items()}
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag(files)}"
            check_exports(files, self.config.get("exports"))
        except BuildError as error:
            # One line, and not the way that it took through hatchling.
            self.app.abort(f"error: {error}")
        if version == "editable":
            link(files, Path(self.root) / "src")
        else:
            build_data["force_include"].update({str(path): to for path, to in files.items()})

    def _sources(self, workspace: Workspace, packages: list[str]) -> dict[str, str]:
        if not (Path(self.root) / self.config["path"]).resolve().is_relative_to(self.root):
            raise BuildError("its source is the repository; build the wheel from a checkout")
        self._scratch = tempfile.TemporaryDirectory(prefix="tenon-sdist-")
        sources = workspace.sources(packages, Path(self._scratch.name))
        return {str(path): f"{VENDORED}/{to}" for path, to in sources}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was needed until all was packed."""
        if self._scratch is not None:
            self._scratch.cleanup()


class Workspace:
    """The Rust sources, and the cargo that builds them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = os.environ.get("CARGO") or shutil.which("cargo")
        if found is None:
            raise BuildError(NO_CARGO)
        self.cargo = found

    @classmethod
    def around(cls, project: Path) -> Workspace:
        """The workspace that a source distribution brings along, or that the project lies in."""
        for folder in (project / VENDORED, *project.parents):
            manifest = folder / "Cargo.toml"
            if manifest.is_file() and "[workspace]" in manifest.read_text(encoding="utf-8"):
                return cls(folder)
        raise BuildError(f"{project} is neither in Tenon's repository nor a source distribution")

    def build(self, packages: Iterable[str], glibc: str | None) -> Built:
        """Build packages for release, for this system or for those with an older glibc."""
        command = [self.cargo, "build"]
        if glibc is not None:
            if not re.fullmatch(r"2\.\d+", glibc):
                raise BuildError(f"TENON_GLIBC is `{glibc}`, where `2.17` would be a version")
            if shutil.which("cargo-zigbuild") is None:
                raise BuildError(NO_ZIGBUILD)
            target = f"{platform.machine()}-unknown-linux-gnu.{glibc}"
            command = [self.cargo, "zigbuild", "--target", target]
        command += ["--release", "--message-format=json-render-diagnostics"]
        command += [argument for package in packages for argument in ("--package", package)]
        ran = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            raise BuildError(f"cargo ended with exit code {ran.returncode}; it says above why")
        return Built(json.loads(line) for line in ran.stdout.splitlines() if line[:1] == b"{")

    def sources(self, packages: Iterable[str], scratch: Path) -> Iterator[tuple[Path, str]]:
        """Returns the sources of these packages, each file or folder with its place.

        A manifest of the workspace that has no other members is written to the folder `scratch`.
        """
        manifest = scratch / "Cargo.toml"
        members = sorted(self._closure(packages))
        text = (self.root / "Cargo.toml").read_text(encoding="utf-8")
        listed = json.dumps(members)
        text, count = re.subn(r"^members = \[.*?\]", f"members = {listed}", text, flags=re.M | re.S)
        if count != 1:
            raise BuildError("the workspace's Cargo.toml has no list of members")
        manifest.write_text(text, encoding="utf-8")
        yield manifest, "Cargo.toml"
        folders = [member for member in members if not any(member.startswith(f"{other}/") for other in members)]
        # The macros read the spec when they are built.
        for name in [*folders, "spec", "Cargo.lock", "LICENSE"]:
            yield self.root / name, name

    def _closure(self, packages: Iterable[str]) -> set[str]:
        """The folders of packages and of all in the workspace that they need, tests included."""
        command = [self.cargo, "metadata", "--no-deps", "--format-version=1"]
        ran = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            raise BuildError("cargo cannot read the workspace; it says above why")
        known = {package["name"]: package for package in json.loads(ran.stdout)["packages"]}
        folders: set[str] = set()
        waiting = list(packages)
        while waiting:
            package = known[waiting.pop()]
            folder = Path(package["manifest_path"]).parent.relative_to(self.root).as_posix()
            if folder not in folders:
                folders.add(folder)
                waiting += [need["name"] for need in package["dependencies"] if need.get("path")]
        return folders


class Built:
    """The files that cargo built."""

    def __init__(self, messages: Iterable[Mapping[str, Any]]) -> None:
        self._files = {
            Path(name).name: Path(name)
            for message in messages
            if message.get("reason") == "compiler-artifact"
            for name in message["filenames"]
        }

    def path(self, name: str) -> Path:
        """Where the file of a name is."""
        try:
            return self._files[name]
        except KeyError:
            raise BuildError(f"cargo built no `{name}`") from None


def platform_tag(files: Iterable[Path]) -> str:
    """The oldest Linux on which all of these files run, as wheels say it (PEP 600)."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    versions = [OLDEST_GLIBC]
    machines = set()
    for path in files:
        try:
            with path.open("rb") as stream:
                elf = ELFFile(stream)
                machines.add(MACHINES.get(elf["e_machine"], elf["e_machine"]))
                for section in elf.iter_sections():
                    if not isinstance(section, GNUVerNeedSection):
                        continue
                    for _, needed in section.iter_versions():
                        for symbol in needed:
                            if match := re.match(r"GLIBC_(\d+)\.(\d+)", symbol.name):
                                versions.append((int(match[1]), int(match[2])))
        except ELFError as error:
            raise BuildError(f"{path} is no library or program of Linux: {error}") from None
    major, minor = max(versions)
    (machine,) = machines
    return f"manylinux_{major}_{minor}_{machine}"


def check_exports(files: Iterable[Path], symbol: str | None) -> None:
    """Refuse files of which none has the symbol."""
    from elftools.elf.elffile import ELFFile

    if symbol is None:
        return
    for path in files:
        with path.open("rb") as stream:
            dynamic = ELFFile(stream).get_section_by_name(".dynsym")
            found = dynamic and dynamic.get_symbol_by_name(symbol)
            if found and any(entry["st_shndx"] != "SHN_UNDEF" for entry in found):
                return
    raise BuildError(f"nothing in the wheel exports `{symbol}`")


def link(files: Mapping[Path, str], sources: Path) -> None:
    """Put links into the source tree: what cargo builds next is then what Python loads next."""
    for path, to in files.items():
        place = sources / to
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(path)
        print(f"{place} -> {path}", file=sys.stderr)
