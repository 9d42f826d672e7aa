"""The command `tenon`, run as a program."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support import FUNCTIONS, needs_gloo
from tenon._cli.terminal import columns, parse_size, size

PATIENCE = 120
"""Seconds after which a program is considered hung."""

SCRIPT = Path(sysconfig.get_path("scripts")) / "tenon"
QUICK = ["bench", "--sizes", "64,4KiB", "--repeat", "2"]


def environment(**variables: str) -> dict[str, str]:
    """Returns the environment without the variables of Tenon that the test does not set."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("TENON_") or name == "TENON_LIBRARY"
    }
    return {**kept, "COLUMNS": "100", **variables}


def tenon(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    return subprocess.run(
        [sys.executable, "-m", "tenon", *arguments],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def said(*arguments: str, **variables: str) -> str:
    """Returns the output of a successful command, which writes nothing to standard error."""
    done = tenon(*arguments, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_help_names_every_command() -> None:
    text = said("--help")
    for command in (
        "info",
        "bench",
        "new",
        "check",
        "doctor",
        "matrix",
        "report",
        "trace",
        "capture",
        "replay",
        "trim",
        "rules",
    ):
        assert re.search(rf"^    {command} ", text, re.MULTILINE), text
    assert "exit status: 0 success" in text
    assert said("help") == said("help", "help") == text


def test_help_command_equals_help_option() -> None:
    text = said("help", "info")
    assert text == said("info", "--help")
    assert text.startswith("usage: tenon info")
    done = tenon("help", "inof")
    assert done.returncode == 2
    assert "inof" in done.stderr


def test_missing_command_is_a_wrong_option() -> None:
    done = tenon()
    assert done.returncode == 2
    assert "commands:" in done.stdout
    done = tenon("inof")
    assert done.returncode == 2
    assert "inof" in done.stderr and "Traceback" not in done.stderr


def test_versions() -> None:
    package, library = said("--version").splitlines()
    assert package.removeprefix("tenon ") == library.removeprefix("libtenon ")


def test_info_shows_devices_plugins_and_the_environment() -> None:
    text = said("info", TENON_CPU_DEVICES="3", TENON_CPU_MEMORY="64MiB")
    assert "  cpu:2 of plugin cpu\n    memory       64 MiB, 64 MiB free\n" in text
    assert "  cpu  3 × cpu  built in\n" in text
    assert "  TENON_CPU_DEVICES=3\n" in text
    assert re.search(r"^    TENON_PLUGIN_PATH +where to search for plugins", text, re.MULTILINE)
    assert re.search(r"functions +\d+ native, \d+ fallback, \d+ unavailable", text)
    assert "\x1b" not in text


def test_info_reports_why_a_plugin_was_refused(tmp_path: Path) -> None:
    broken = tmp_path / "libbroken.so"
    broken.write_text("no library")
    text = said("info", TENON_PLUGIN_PATH=str(broken))
    assert f"  refused {broken}\n    cannot load `{broken}`" in text
    found = json.loads(said("info", "--json", TENON_PLUGIN_PATH=str(broken)))
    (refused,) = found["refused"]
    assert refused["path"] == str(broken)
    assert "cannot load" in refused["reason"]


def test_info_as_json() -> None:
    found = json.loads(said("info", "--json", TENON_CPU_DEVICES="1", TENON_LAYERS="validate"))
    assert Path(found["library"]).name.startswith("libtenon")
    (device,) = found["devices"]
    assert (device["name"], device["type"], device["ordinal"]) == ("cpu:0", "cpu", 0)
    assert device["total_memory"] >= device["free_memory"] > 0
    assert sum(device["functions"].values()) == FUNCTIONS
    (plugin,) = found["plugins"]
    assert (plugin["name"], plugin["path"], plugin["devices"]) == ("cpu", None, 1)
    assert found["environment"]["TENON_LAYERS"] == "validate"
    assert found["environment"]["TENON_TRACE_FILE"] is None


def test_unloadable_library_prints_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from _tenon_command import main; sys.exit(main())", "info"],
        env=environment(TENON_LIBRARY="/nowhere/libtenon.so"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: TENON_LIBRARY is set to `/nowhere/libtenon.so`, which is not a file"]


def test_installed_command_equals_python_m_tenon() -> None:
    done = subprocess.run([SCRIPT, "--help"], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == said("--help")


def test_bench_measures_every_size_in_every_direction() -> None:
    found = json.loads(said(*QUICK, "--json"))
    measured = {(copy["direction"], copy["size"]): copy for copy in found["copies"]}
    assert set(measured) == {(direction, size) for direction in ("h2d", "d2h", "d2d") for size in (64, 4096)}
    for copy in measured.values():
        assert 0 < copy["fastest_seconds"] <= copy["seconds"]
        assert copy["bytes_per_second"] == copy["size"] / copy["seconds"]
    assert len(found["latencies"]) >= 8
    assert all(0 < latency["fastest_seconds"] <= latency["seconds"] for latency in found["latencies"])


@needs_gloo
def test_bench_measures_all_reduces_of_several_processes() -> None:
    found = json.loads(said("bench", "--processes", "2", "--sizes", "4,7,64KiB", "--repeat", "2", "--json"))
    assert [entry["size"] for entry in found["all_reduce"]] == [4, 7, 65536]
    for entry in found["all_reduce"]:
        assert entry["bytes_per_second"] == pytest.approx(entry["size"] / entry["seconds"])
        # Two processes: each sends and receives each byte once.
        assert entry["bus_bytes_per_second"] == pytest.approx(entry["bytes_per_second"])
    lines = said("bench", "--processes", "3", "--sizes", "4", "--repeat", "1").splitlines()
    assert lines[0] == "cpu:0, 3 processes, medians of 1 runs"
    assert lines[3].split() == ["size", "µs", "GB/s", "bus", "GB/s"]
    assert lines[4].split()[:2] == ["4", "bytes"]


def test_bench_in_a_terminal() -> None:
    text = said(*QUICK, "--pageable", "--device", "cpu:1")
    assert text.startswith("cpu:1 of plugin cpu, medians of 2 runs\n")
    assert "copies, GB/s, pageable host memory\n" in text
    assert re.search(r"^ +4 KiB +[\d.]+ +[\d.]+ +[\d.]+$", text, re.MULTILINE)
    assert re.search(r"^  queue an event +[\d.]+ +[\d.]+$", text, re.MULTILINE)


def test_size_that_does_not_fit_is_skipped() -> None:
    text = said("bench", "--sizes", "4KiB,64MiB", "--repeat", "1", TENON_CPU_MEMORY="1MiB")
    assert re.search(r"^ +64 MiB +- +- +-$", text, re.MULTILINE)


def test_bench_works_without_numpy_and_names_the_packages_of_plot() -> None:
    source = (
        "import sys; sys.modules.update(numpy=None, matplotlib=None); from tenon._cli import main; sys.exit(main({}))"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", source.format(list(arguments))]
        return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)

    done = run(*QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(*QUICK, "--plot", "x.png")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: --plot needs matplotlib: pip install 'tenon[plot]'\n"


BENCH = """
import sys, types
sys.modules["matplotlib"] = types.ModuleType("matplotlib")
from tenon._cli import main, measure, plot
def full(found, file):
    raise OSError(f"no space left for {{file}}")
plot.draw = full
sys.exit(main({}))
"""


def test_failed_plot_keeps_the_measurements(tmp_path: Path) -> None:
    arguments = [*QUICK, "--json", "--plot", str(tmp_path / "bench.PNG")]
    command = [sys.executable, "-c", BENCH.format(arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["copies"]) == 6
    assert done.stderr == f"error: no space left for {tmp_path / 'bench.PNG'}\n"


def test_plot_in_a_missing_folder_fails_before_the_measurement() -> None:
    done = tenon(*QUICK, "--plot", "/nowhere/x.png")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: --plot: the folder `/nowhere` does not exist\n"


def test_output_encoding_without_a_character_gets_a_replacement() -> None:
    text = said("info", TENON_CPU_DEVICES="3", PYTHONIOENCODING="ascii")
    assert "  cpu  3 ? cpu  built in\n" in text
    assert "latencies, ?s" in said(*QUICK, PYTHONIOENCODING="ascii")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--plot", "x.txt"], "`x.txt` must end in .png, .svg or .pdf"),
        (["--plot", "x"], "`x` must end in .png, .svg or .pdf"),
        (["--sizes", "4Ki,none"], "`none` is not a valid size"),
        (["--sizes", "0"], "`0` is not a valid size"),
        (["--repeat", "0"], "`0` is not a positive number of runs"),
        (["--processes", "1"], "`1` is not a number of processes, at least 2"),
        (["--processes", "2", "--pageable"], "--processes measures all-reduces"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], complaint: str) -> None:
    done = tenon("bench", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_failure_prints_one_line() -> None:
    done = tenon("bench", "--device", "npu:0")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "npu" in done.stderr


def test_check_runs_the_conformance_cases() -> None:
    text = said("check", "--builtin", "cpu", "--filter", "event.fresh")
    assert re.search(r"^\d+ passed, 0 failed, 0 skipped in ", text, re.MULTILINE)
    cases = json.loads(said("check", "--builtin", "cpu", "--filter", "event.fresh", "--json"))["cases"]
    assert {case["verdict"] for case in cases} == {"passed"}
    done = tenon("check", "/nowhere/libnpu.so")
    assert done.returncode == 2
    assert "there is no file `/nowhere/libnpu.so`" in done.stderr
    assert "Usage: tenon check" in said("check", "--help")


def test_rules_are_explained() -> None:
    assert said("rules", "v031").startswith("V031 (warning)")
    assert json.loads(said("rules", "--json"))
    assert tenon("rules", "V999").returncode == 1


def test_trace_of_a_program_is_summarised(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    subprocess.run(
        [sys.executable, "-c", "import tenon; tenon.device('cpu:0').create_stream().synchronize()"],
        env=environment(TENON_LAYERS="trace", TENON_TRACE_FILE=str(trace)),
        timeout=PATIENCE,
        check=True,
    )
    assert "create_stream" in said("trace", "summary", str(trace))
    names = {function["name"] for function in json.loads(said("trace", "summary", str(trace), "--json"))["functions"]}
    assert {"create_stream", "synchronize_stream"} <= names


def test_closed_pipe_is_not_an_error() -> None:
    for arguments in (["info"], ["rules"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", "tenon", *arguments],
            env=environment(),
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, "")


def test_progress_bar_needs_a_terminal_and_ends_at_ctrl_c() -> None:
    ours, theirs = pty.openpty()
    bench = subprocess.Popen(
        [sys.executable, "-m", "tenon", "bench", "--sizes", "64", "--repeat", "1000000"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    while "64 bytes host to device" not in shown:
        shown += os.read(ours, 4096).decode()
    assert "░" in shown
    bench.send_signal(signal.SIGINT)
    assert bench.wait(PATIENCE) == 130
    assert bench.stdout is not None and bench.stdout.read() == b""
    rest = os.read(ours, 4096).decode()
    assert "Traceback" not in rest and rest.endswith("\r\x1b[2K")
    os.close(ours)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (64, "64 bytes"), (4096, "4 KiB"), (1536, "1.5 KiB"), (3 << 30, "3 GiB"), (5 << 50, "5120 TiB")],
)
def test_sizes_are_formatted(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("text", "count"), [("512", 512), ("4KiB", 4096), ("4k", 4096), (" 1 MiB ", 1 << 20), ("2GB", 2 << 30), ("7b", 7)]
)
def test_sizes_are_parsed(text: str, count: int) -> None:
    assert parse_size(text) == count


def test_columns_are_aligned() -> None:
    assert columns([["a", "1"], ["bcd", "23", "rest"]], right=[1]) == ["  a     1", "  bcd  23  rest"]
