"""The plot of sizes by density, as an SVG of plain lines and words that can be read on light and dark pages."""
import math

WIDTH, HEIGHT = 832, 480
LEFT, RIGHT, TOP, BOTTOM = 62, 258, 52, 56
TOP_BITS = 50

# Name, key of the row, colour on light pages, colour on dark ones, further style.
CURVES = [
    ("index + value, raw (TRL)", "raw", "#6e7781", "#8b949e", ""),
    ("gaps + values, zstd -1 (PULSE-like)", "gaps", "#9a6700", "#d29922", ""),
    ("XOR, zstd -1 (slime, SGLang)", "xor", "#cf222e", "#ff7b72", ""),
    ("wdelta fast", "fast", "#54aeff", "#79c0ff", ""),
    ("wdelta default", "default", "#0969da", "#2f81f7", "stroke-width:3.6"),
    ("wdelta max", "max", "#2da44e", "#3fb950", "stroke-width:1.6"),
    ("floor: entropy, exponents known", "entropy_rows", "#24292f", "#e6edf3", "stroke-dasharray:5 4"),
]


def spread(wanted, gap, low, high):
    """Moves labels apart that would lie on each other, keeping their order."""
    places = sorted(range(len(wanted)), key=lambda i: wanted[i])
    at = [0.0] * len(wanted)
    last = low - gap
    for i in places:
        last = at[i] = max(wanted[i], last + gap)
    limit = high + gap
    for i in reversed(places):
        limit = at[i] = min(at[i], limit - gap)
    return at


def draw(rows, path, subtitle):
    """`rows`: one for each density, {"density": share, KEY: bits for each changed weight, ...}, ascending."""
    low, high = math.log10(rows[0]["density"]), math.log10(rows[-1]["density"])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(density):
        return LEFT + (math.log10(density) - low) / (high - low) * (right - LEFT)

    def y(bits):
        return bottom - min(bits, TOP_BITS) / TOP_BITS * (bottom - TOP)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-label="Bits for each changed weight against the share of weights that changed">',
        "<style>",
        "text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#24292f}",
        ".title{font-size:15px;font-weight:600}.small{font-size:12px;fill:#57606a}",
        ".page{fill:#ffffff}.grid{stroke:#d0d7de;stroke-width:1}",
        ".curve{fill:none;stroke-width:2.2;stroke-linejoin:round}",
    ]
    for i, curve in enumerate(CURVES):
        out.append(f".c{i}{{stroke:{curve[2]}}}.d{i}{{fill:{curve[2]}}}")
    out.append("@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.page{fill:#0d1117}"
               ".grid{stroke:#30363d}")
    for i, curve in enumerate(CURVES):
        out.append(f".c{i}{{stroke:{curve[3]}}}.d{i}{{fill:{curve[3]}}}")
    out += [
        "}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        f'<text class="title" x="{LEFT}" y="20">Bits for each changed weight, position and value together</text>',
        f'<text class="small" x="{LEFT}" y="36">{subtitle}</text>',
    ]
    for bits in range(0, TOP_BITS + 1, 10):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(bits):.1f}" y2="{y(bits):.1f}"/>')
        out.append(f'<text class="small" x="{LEFT - 8}" y="{y(bits) + 4:.1f}" text-anchor="end">{bits}</text>')
    for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1):
        for factor in (1, 3):
            share = factor * 10**power
            if not rows[0]["density"] * 0.999 <= share <= rows[-1]["density"] * 1.001:
                continue
            out.append(f'<line class="grid" x1="{x(share):.1f}" x2="{x(share):.1f}" y1="{TOP}" y2="{bottom}"/>')
            out.append(f'<text class="small" x="{x(share):.1f}" y="{bottom + 18}" text-anchor="middle">'
                       f"{100 * share:g} %</text>")
    middle = (TOP + bottom) / 2
    out.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" text-anchor="middle">'
               "weights that changed (logarithmic)</text>")
    out.append(f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">'
               "bits for each changed weight</text>")

    places = spread([y(rows[-1][curve[1]]) for curve in CURVES], 17, TOP + 6, bottom - 8)
    for i, (name, key, _, _, further) in enumerate(CURVES):
        points = " ".join(f"{x(row['density']):.1f},{y(row[key]):.1f}" for row in rows)
        style = f' style="{further}"' if further else ""
        out.append(f'<polyline class="curve c{i}"{style} points="{points}"/>')
        end = y(rows[-1][key])
        out.append(f'<line class="c{i}" x1="{right}" y1="{end:.1f}" x2="{right + 14}" y2="{places[i]:.1f}"/>')
        out.append(f'<text class="d{i}" x="{right + 18}" y="{places[i] + 4:.1f}">{name}</text>')
    out.append("</svg>")
    path.write_text("\n".join(out) + "\n")
