"""Sizes against what public systems ship: by density on generated pairs, and on chains of real checkpoints."""
import json
import subprocess

import plot
from measure import remove, run

LEVELS = ("fast", "default", "max")

# Share of the weights that change, and whether the size is judged there.
DENSITIES = [(0.0003, False), (0.001, True), (0.003, False), (0.01, True), (0.03, True), (0.1, True), (0.3, False),
             (0.5, True), (1, True)]

# The default must not lose to any of these: a block that is dense is to be coded as they do.
GENERAL = {"xor": "XOR", "xor_planes": "planes of the XOR", "new": "new", "new_planes": "planes of new"}

# Bits for each changed weight, the whole file, by how the name of a chain begins.
CHAIN_LIMITS = {
    "fp32-master": {"fast": 9.7, "default": 6.35, "max": 6.10},
    "pure-bf16": {"fast": 11.8, "default": 4.60, "max": 4.25},
}

MARKDOWN = [
    ("int32 index + bf16 value, raw (TRL)", "raw"),
    ("u16 gap + bf16 value, zstd -1 (PULSE-like)", "gaps"),
    ("XOR, zstd -1 (slime, SGLang, Stitch, ModelExpress)", "xor"),
    ("**wdelta** `--level fast`", "fast"),
    ("**wdelta**", "default"),
    ("**wdelta** `--level max`", "max"),
    ("entropy of the steps, given the base's exponents", "entropy_exponent"),
]


def peer_sizes(bench, base, new):
    return json.loads(run([bench.tools / "peers", base, new], output=subprocess.PIPE)[2])


def level_sizes(bench, base, new, levels):
    out = bench.work / "out.wdp"
    sizes = {level: bench.pack(base, new, out, "--level", level)["delta_bytes"] for level in levels}
    remove(out)
    return sizes


def bits(sizes):
    return {key: 8 * value / sizes["changed"] for key, value in sizes.items()}


def measure_pair(bench, name, label, judged, levels, *options):
    (base, new), made = bench.make(name, "--scale", bench.table_scale, *options)
    sizes = peer_sizes(bench, base / "model.safetensors", new / "model.safetensors")
    sizes.update(level_sizes(bench, base, new, levels))
    best = min(GENERAL, key=sizes.get)
    row = bits(sizes)
    shown = ", ".join(f"{key} {row[key]:.2f}" for key in ("raw", "gaps", *GENERAL, "entropy_rows", *levels))
    bench.score.line(f"{label}: pack / {GENERAL[best]}, zstd -1", sizes["default"] / sizes[best],
                     1.01 if judged else None, note=f"{sizes['default']:,} bytes against {sizes[best]:,}")
    print(f"    bits for each changed weight: {shown}", flush=True)
    bench.drop(name)
    return {**row, "density": made["density"]}


def by_density(bench, picture):
    """`picture`: where to put the plot, or None."""
    bench.score.title("sizes by density, against the best of general compression in blocks of 1 MiB")
    levels = LEVELS if picture else ("default",)
    rows = []
    for density, judged in DENSITIES:
        if judged or picture:
            label = f"{100 * density:g} % changed"
            rows.append(measure_pair(bench, "density", label, judged, levels, "--density", density))
    measure_pair(bench, "density", "unrelated model", True, ("default",), "--dense")
    if picture:
        plot.draw(rows, picture, "generated bf16 pairs; most rows of the embedding are idle up to 30 %")
        print(f"  wrote {picture}")


def of_chain(bench, name, base, new):
    """Judges the sizes of a chain whose name has limits; returns its column for the Markdown table."""
    sizes = peer_sizes(bench, base, new)
    sizes.update(level_sizes(bench, base, new, LEVELS))
    row = bits(sizes)
    limits = next((limits for start, limits in CHAIN_LIMITS.items() if name.startswith(start)), {})
    for level in LEVELS:
        bench.score.line(f"bits for each changed weight, {level}", row[level], limits.get(level),
                         note=f"{sizes[level]:,} bytes")
    for key in ("raw", "gaps", "xor", "xor_planes", "entropy", "entropy_exponent"):
        bench.score.line(f"the same, {key}", row[key])
    return row


def print_markdown(columns):
    """`columns`: for each chain its name and its row of bits."""
    print("\nBits for each changed weight, position and value together:\n")
    print("| |", " | ".join(name for name, _ in columns), "|")
    print("|---|" + "---:|" * len(columns))
    for title, key in MARKDOWN:
        bold = "**" if title.startswith("**") else ""
        print(f"| {title} |", " | ".join(f"{bold}{row[key]:.2f}{bold}" for _, row in columns), "|", flush=True)
