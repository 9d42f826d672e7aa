"""Builds the Rust part of a wheel with cargo, and determines the oldest Linux that it supports.

The hook of every wheel in this repository. Its settings in `pyproject.toml`:

    packages = ["…"]                       the packages that cargo builds
    files = { "libx.so" = "x/libx.so" }    the built files, and the path of each in the wheel, or a list of paths
    exports = "…"                          a symbol that the library must have, if any

A source distribution contains the sources of these packages in `rust/`, so that it can be built without the
repository. An editable install links the files that cargo built into the source tree.

Two environment variables change the build:

- `TENON_GLIBC=2.17` builds for systems with that glibc or a newer one, independent of this system.
- `TENON_PACKAGES="…"` names further packages, separated by spaces. If all builds have the same packages, cargo compiles
  the crates that they share only once.
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
    "building this needs Rust 1.89 or newer, but there is no `cargo` on the PATH; "
    "https://rustup.rs installs it with one line"
)
NO_ZIGBUILD = (
    "TENON_GLIBC builds with cargo-zigbuild, which is not on the PATH; `pip install cargo-zigbuild ziglang` installs it"
)
OLDEST_GLIBC = (2, 17)
"""The oldest glibc that pip's tags for x86_64 and aarch64 have in common, and that Rust supports."""

MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


class BuildError(Exception):
    """The wheel cannot be built. The message is shown to the user."""


class CargoHook(BuildHookInterface[BuilderConfig]):
    """The hook that hatchling calls before and after it packs the wheel."""

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
            files = [(built.path(name), to) for name, places in self.config["files"].items() for to in listed(places)]
            libraries = list(dict.fromkeys(path for path, _ in files))
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag(libraries)}"
            check_exports(libraries, self.config.get("exports"))
        except BuildError as error:
            # Prints one line instead of a traceback through hatchling.
            self.app.abort(f"error: {error}")
        if version == "editable":
            link(files, Path(self.root) / "src")
        else:
            build_data["force_include"].update(self._copied(files))

    def _copied(self, files: Iterable[tuple[Path, str]]) -> dict[str, str]:
        """Returns a source for each path in the wheel. A file with several paths is copied: a wheel has no links."""
        included: dict[str, str] = {}
        for path, to in files:
            source = path
            if str(path) in included:
                source = self._scratch_folder() / Path(to).name
                shutil.copy2(path, source)
            included[str(source)] = to
        return included

    def _scratch_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="tenon-build-")
        return Path(self._scratch.name)

    def _sources(self, workspace: Workspace, packages: list[str]) -> dict[str, str]:
        if not (Path(self.root) / self.config["path"]).resolve().is_relative_to(self.root):
            raise BuildError("this project has no source distribution; build the wheel from a checkout")
        sources = workspace.sources(packages, self._scratch_folder())
        return {str(path): f"{VENDORED}/{to}" for path, to in sources}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes temporary files after the wheel is packed."""
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
        """Returns the workspace in a source distribution, or the one that contains the project."""
        for folder in (project / VENDORED, *project.parents):
            manifest = folder / "Cargo.toml"
            if manifest.is_file() and "[workspace]" in manifest.read_text(encoding="utf-8"):
                return cls(folder)
        raise BuildError(f"{project} is neither in Tenon's repository nor a source distribution")

    def build(self, packages: Iterable[str], glibc: str | None) -> Built:
        """Builds packages in release mode, for this system or for an older glibc."""
        command = [self.cargo, "build"]
        if glibc is not None:
            if not re.fullmatch(r"2\.\d+", glibc):
                raise BuildError(f"TENON_GLIBC is `{glibc}`, which is not a version such as `2.17`")
            if shutil.which("cargo-zigbuild") is None:
                raise BuildError(NO_ZIGBUILD)
            target = f"{platform.machine()}-unknown-linux-gnu.{glibc}"
            command = [self.cargo, "zigbuild", "--target", target]
        command += ["--release", "--message-format=json-render-diagnostics"]
        packages = [*packages, *os.environ.get("TENON_PACKAGES", "").split()]
        command += [argument for package in packages for argument in ("--package", package)]
        ran = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            raise BuildError(f"cargo ended with exit code {ran.returncode}; its output is above")
        return Built(json.loads(line) for line in ran.stdout.splitlines() if line[:1] == b"{")

    def sources(self, packages: Iterable[str], scratch: Path) -> Iterator[tuple[Path, str]]:
        """Returns the sources of these packages: each file or folder, with its path in the distribution.

        Writes a workspace manifest without other members to the folder `scratch`.
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
        """Returns the folders of packages and of their dependencies in the workspace, including those of tests."""
        command = [self.cargo, "metadata", "--no-deps", "--format-version=1"]
        ran = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            raise BuildError("cargo cannot read the workspace; its output is above")
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
        """Returns the path of a built file."""
        try:
            return self._files[name]
        except KeyError:
            raise BuildError(f"cargo did not build `{name}`") from None


def platform_tag(files: Iterable[Path]) -> str:
    """Returns the tag of the oldest Linux on which all files run (PEP 600)."""
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
            raise BuildError(f"{path} is not a Linux library or program: {error}") from None
    major, minor = max(versions)
    (machine,) = machines
    return f"manylinux_{major}_{minor}_{machine}"


def check_exports(files: Iterable[Path], symbol: str | None) -> None:
    """Checks that one of the files exports the symbol."""
    from elftools.elf.elffile import ELFFile

    if symbol is None:
        return
    for path in files:
        with path.open("rb") as stream:
            dynamic = ELFFile(stream).get_section_by_name(".dynsym")
            found = dynamic and dynamic.get_symbol_by_name(symbol)
            if found and any(entry["st_shndx"] != "SHN_UNDEF" for entry in found):
                return
    raise BuildError(f"no file in the wheel exports `{symbol}`")


def listed(places: str | list[str]) -> list[str]:
    """Returns the paths of a file in the wheel: one, or a list."""
    return [places] if isinstance(places, str) else places


def link(files: Iterable[tuple[Path, str]], sources: Path) -> None:
    """Links the built files into the source tree, so that Python loads the result of the latest build."""
    for path, to in files:
        place = sources / to
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(path)
        print(f"{place} -> {path}", file=sys.stderr)
