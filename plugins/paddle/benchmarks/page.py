"""The page of the guide with the results of the benchmark."""

from __future__ import annotations

from importlib import metadata

from report import Measured, geometric_mean, processor, wall

GOALS = {
    "mlp": 0.5,
    "lenet": 0.3,
    "transformer": 0.4,
    "resnet18": 0.5,
    "mobilenet_v2": 0.4,
    "lstm": 0.6,
    "gpt": 0.6,
}
"""The ratios of processor time that we want for training steps and inference."""

OTHER_MODELS = 0.7
"""The goal of the models that are not in `GOALS`."""

MEAN_OF_OPERATORS = 0.5
"""The goal of the geometric mean of all operators."""

EACH_OPERATOR = 1.2
"""The goal of each operator."""

HEAD = """# Performance in PaddlePaddle

Training steps, inference and single operators on the CPU device, compared to the same program on
PaddlePaddle's own CPU. This page is written by the benchmark:

```console
$ cargo xtask bench paddle -- --threads {threads} --page docs/src/guide/performance.md
```

The machine: {machine}. PaddlePaddle {version}. All processes of a run take turns and have the same
number of threads. The baseline of a row is PaddlePaddle's CPU with `FLAGS_use_mkldnn` 0 or 1,
whichever takes less processor time. Times are medians of {rounds} rounds, and ratios are
medians of the ratios of each round; below 1 the device is faster. Processor time includes all
threads of the process. *Without oneDNN* is the device with `TENON_DNNL=off`, which then uses
kernels of its own only.

[Benchmarks](benchmarks.md#models-and-operators-in-paddlepaddle) says what limits the ratios.
[A timeline](timeline.md) shows the dispatch and the kernels of one training step.
"""

KINDS = {"step": "Training steps", "inference": "Inference"}

LEGEND = (
    "A yellow mark is a goal. Green meets it, blue does not, and red is slower than PaddlePaddle."
)

WIDTH, LABEL, ROW = 640, 150, 22
"""The width of a plot, of its labels, and the height of a bar, in pixels."""

NUMBER, MARK = 28, 3
"""The width of the number behind a bar, and of the mark at a goal, in pixels."""


def _goal(one: Measured) -> float:
    return GOALS.get(one.name.partition(" ")[0], OTHER_MODELS)


def _number_at(end: float, mark: float) -> float:
    """Returns the place of the number behind a bar, which is behind the mark if that is there."""
    is_hidden = end + 2 < mark + MARK and mark < end + 6 + NUMBER
    return (mark + MARK if is_hidden else end) + 6


def _plot(rows: list[tuple[str, float, float]], caption: str) -> str:
    """Returns bars of ratios with a line at 1, and a mark at the goal of each row."""
    largest = max(1.2, *(ratio for _, ratio, _ in rows))
    scale = (WIDTH - LABEL - 50) / largest
    height = ROW * len(rows) + 26

    def x(ratio: float) -> float:
        return LABEL + ratio * scale

    lines = [
        '<div class="drawing">',
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{caption}" '
        f'style="max-width: {WIDTH}px; font: 12px sans-serif" fill="currentColor">',
    ]
    for index, (name, ratio, goal) in enumerate(rows):
        top = index * ROW + 4
        colour = "#2e7d32" if ratio <= goal else "#5c6bc0" if ratio < 1 else "#c62828"
        lines += [
            f'<text x="{LABEL - 8}" y="{top + 12}" text-anchor="end">{name}</text>',
            f'<rect x="{LABEL}" y="{top}" width="{ratio * scale:.0f}" height="{ROW - 6}" '
            f'fill="{colour}"/>',
            f'<text x="{_number_at(x(ratio), x(goal)):.0f}" y="{top + 12}">{ratio:.2f}</text>',
            f'<rect x="{x(goal):.0f}" y="{top - 2}" width="{MARK}" height="{ROW - 2}" '
            f'fill="#f9a825"/>',
        ]
    bottom = height - 20
    lines += [
        f'<rect x="{x(1.0):.0f}" y="0" width="1" height="{bottom}"/>',
        f'<text x="{x(1.0):.0f}" y="{height - 6}" text-anchor="middle">PaddlePaddle</text>',
        "</svg>",
        "</div>",
    ]
    return "\n".join(lines) + "\n"


def _models(rows: list[Measured], title: str, threads: int) -> str:
    """Returns the section of one kind of workloads of models."""
    caption = f"{title}, threads: {threads}"
    bars = [(one.name.partition(" ")[0], one.ratio(1), _goal(one)) for one in rows]
    table = [
        "| Model | Device, ms | PaddlePaddle's CPU, ms | Ratio | Processor time "
        "| Without oneDNN | Goal | Over by |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in rows:
        ratio, goal = one.ratio(1), _goal(one)
        above = f"{ratio / goal - 1:.0%}" if ratio > goal else ""
        alone = f"{one.ratio(1, one.alone):.2f}" if one.alone else ""
        table.append(
            f"| {one.name.partition(' ')[0]} | {wall(one.device) * 1e3:.2f} "
            f"| {wall(one.baseline()) * 1e3:.2f} | {one.ratio(0):.2f} | {ratio:.2f} "
            f"| {alone} | {goal} | {above} |"
        )
    return "\n".join(
        [
            f"## {caption}\n",
            f"Ratios of processor time. {LEGEND}\n",
            _plot(bars, caption),
            *table,
            "",
        ]
    )


def _operators(rows: list[Measured], threads: int) -> str:
    """Returns the section of single operators."""
    title = f"Operators, threads: {threads}"
    sizes = {"of 1,024 elements": ("1024", "32x32"), "of 65,536": ("65536", "256x256")}
    sizes["of 1,048,576"] = ("1048576", "1024x1024")
    groups = {
        name: [one for one in rows if one.name.rpartition(" ")[2] in words]
        for name, words in sizes.items()
    }
    groups["other shapes"] = [
        one for one in rows if not any(one in group for group in groups.values())
    ]
    groups["all"] = rows
    means = {
        name: geometric_mean([one.ratio(1) for one in group])
        for name, group in groups.items()
        if group
    }
    table = ["| Tensors | Operators | Geometric mean | Above 1.2 |", "|---|--:|--:|--:|"]
    for name, mean in means.items():
        above = sum(one.ratio(1) > EACH_OPERATOR for one in groups[name])
        table.append(f"| {name} | {len(groups[name])} | {mean:.2f} | {above} |")
    slow = sorted(
        (one for one in rows if one.ratio(1) > EACH_OPERATOR),
        key=lambda one: one.ratio(1),
        reverse=True,
    )
    slowest = [
        "| Operator | Device, µs | PaddlePaddle's CPU, µs | Processor time |",
        "|---|--:|--:|--:|",
    ]
    for one in slow:
        ours, theirs = wall(one.device) * 1e6, wall(one.baseline()) * 1e6
        slowest.append(f"| {one.name} | {ours:,.1f} | {theirs:,.1f} | {one.ratio(1):.2f} |")
    bars = [(name, mean, MEAN_OF_OPERATORS) for name, mean in means.items()]
    return "\n".join(
        [
            f"## {title}\n",
            "Geometric means of the ratios of processor time. The goal is "
            f"{MEAN_OF_OPERATORS} for the mean, and {EACH_OPERATOR} for each operator. {LEGEND}\n",
            _plot(bars, title),
            *table,
            "",
            f"The operators above {EACH_OPERATOR}:\n",
            *slowest,
            "",
        ]
    )


def page(found: list[Measured]) -> str:
    """Returns the page with the results of a run."""
    threads = sorted({one.threads for one in found})
    parts = [
        HEAD.format(
            threads=" ".join(map(str, threads)),
            machine=processor(),
            rounds=len(found[0].device),
            version=metadata.version("paddlepaddle"),
        )
    ]
    for count in threads:
        for kind, title in KINDS.items():
            rows = [one for one in found if one.kind == kind and one.threads == count]
            if rows:
                parts.append(_models(rows, title, count))
        rows = [one for one in found if one.kind == "operator" and one.threads == count]
        if rows:
            parts.append(_operators(rows, count))
    return "\n".join(parts)
