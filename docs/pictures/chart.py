# SPDX-License-Identifier: Apache-2.0
"""Charts as small SVG files, which follow the reader's colour scheme, dark or light.

Every chart has a title, a note (what was measured, and on which machine), units and values. Equal
data make equal bytes. Functions return the file's text.
"""

import math
import textwrap
from html import escape

SCHEMES = {
    #         paper, ink, soft, grid, series 0 to 4
    "light": ("#ffffff", "#1f2328", "#59636e", "#d1d9e0",
              ("#0b62b0", "#b05500", "#1b7f5c", "#8a3fa0", "#59636e")),
    "dark": ("#0d1117", "#e6edf3", "#9aa4ae", "#3d444d",
             ("#6cb6ff", "#ffa657", "#56d4a0", "#d2a8ff", "#9aa4ae")),
}
LEFT, RIGHT, LINE = 70, 24, 18


def rules(scheme):
    paper, ink, soft, grid, series = SCHEMES[scheme]
    return (f".p{{fill:{paper}}}.i{{fill:{ink}}}.s{{fill:{soft}}}.g{{stroke:{grid}}}"
            f".a{{stroke:{soft}}}.v{{stroke:{paper}}}" +
            "".join(f".f{n}{{fill:{c}}}.l{n}{{stroke:{c}}}" for n, c in enumerate(series)))


class Svg:
    """A picture with a title, a note and a legend; .top is where the rest begins."""

    def __init__(self, width, height, title, note=(), legend=()):
        self.parts = []
        self.width, self.height, self.title = width, height, title
        self.rect(0, 0, width, height, "p")
        self.text(16, 26, title, "i t")
        y = 26
        for line in [note] if isinstance(note, str) else note:
            y += LINE
            self.text(16, y, line, "s")
        if legend:
            y = self.legend(16, y + LINE + 4, legend)
        self.top = y + 22

    def legend(self, x, y, names):
        begin = x
        for name, number, dashed in names:
            if x > begin and x + 24 + width_of(name) > self.width - 16:
                x, y = begin, y + LINE
            if dashed:
                self.path(f"M{x},{y - 4}h18", f"l{number} d")
            else:
                self.rect(x, y - 10, 18, 11, f"f{number}")
            self.text(x + 24, y, name, "i")
            x += 24 + width_of(name) + 22
        return y

    def text(self, x, y, text, kind="i", anchor=None, turn=False):
        extra = f' text-anchor="{anchor}"' if anchor else ""
        if turn:
            extra += f' transform="rotate(-90 {fixed(x)} {fixed(y)})"'
        self.parts.append(f'<text x="{fixed(x)}" y="{fixed(y)}" class="{kind}"{extra}>'
                          f"{escape(text)}</text>")

    def rect(self, x, y, width, height, kind, tip=None, round_=0):
        inner = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        corner = f' rx="{round_}"' if round_ else ""
        self.parts.append(f'<rect x="{fixed(x)}" y="{fixed(y)}" width="{fixed(width)}" '
                          f'height="{fixed(height)}"{corner} class="{kind}"{inner}')

    def path(self, steps, kind):
        self.parts.append(f'<path d="{steps}" class="{kind}"/>')

    def dot(self, x, y, number):
        self.parts.append(f'<circle cx="{fixed(x)}" cy="{fixed(y)}" r="3" class="f{number}"/>')

    def __str__(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
                f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img">\n'
                f"<title>{escape(self.title)}</title>\n"
                f"<style>text{{font:12px sans-serif}}.t{{font:bold 15px sans-serif}}"
                f"path{{fill:none;stroke-width:1.5}}.w{{stroke-width:2.5}}"
                f".d{{stroke-dasharray:5 4}}.v{{stroke-width:3;paint-order:stroke}}"
                f"{rules('light')}"
                f"@media(prefers-color-scheme:dark){{{rules('dark')}}}</style>\n" +
                "\n".join(self.parts) + "\n</svg>\n")


def fixed(number):
    """A coordinate with a digit behind the point at most."""
    return f"{number:.1f}".removesuffix(".0")


def width_of(text):
    """About as wide as the text is."""
    return 6.6 * len(text)


def shown(value):
    """Three digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9))
    return f"{value:,.{digits}f}" if digits < 6 else f"{value:.1e}"


def ticks(least, most, log=None):
    """Round numbers from least to most; log: powers of it."""
    if log:
        first, last = math.floor(math.log(least, log) + 1e-9), math.ceil(math.log(most, log) - 1e-9)
        step = max(1, -(-(last - first) // 8))
        return [log ** n for n in range(first, last + 1, step)]
    step = 10 ** math.floor(math.log10((most - least) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (most - least) / (step * m) <= 6)
    return [n * step for n in range(math.ceil(least / step - 1e-9),
                                    math.floor(most / step + 1e-9) + 1)]


def tick_text(value):
    for power, unit in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= power and value % power == 0:
            return f"{value // power:g} {unit}"
    return f"{value:,.10g}"


class Scale:
    """Of values to coordinates."""

    def __init__(self, least, most, begin, end, log=None):
        self.log = log
        self.least, self.most = self.by(least), self.by(most)
        self.begin, self.end = begin, end

    def by(self, value):
        return math.log(value, self.log) if self.log else value

    def __call__(self, value):
        share = (self.by(value) - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)


def axis_y(svg, scale, label, values, right):
    for value in values:
        svg.path(f"M{LEFT},{fixed(scale(value))}H{right}", "g")
        svg.text(LEFT - 8, scale(value) + 4, tick_text(value), "s", "end")
    svg.text(16, (scale.begin + scale.end) / 2, label, "s", "middle", turn=True)


def limit_lines(svg, scale, limits):
    for value, _ in limits:
        svg.path(f"M{LEFT},{fixed(scale(value))}H{svg.width - RIGHT}", "l4 d")


def limits_legend(limits):
    return [(name, 4, True) for _, name in limits]


def bars(title, note, unit, names, series, limits=(), most=None):
    """Groups of upright bars with their values. series: (name, values); limits: (value, name)."""
    width, height = 860, 400
    svg = Svg(width, height, title, note,
              ([(name, n, False) for n, (name, _) in enumerate(series)] if len(series) > 1 else []) +
              limits_legend(limits))
    most = most or 1.08 * max(max(values) for _, values in series)
    scale = Scale(0, most, height - 40, svg.top + 10)
    axis_y(svg, scale, unit, ticks(0, most), width - RIGHT)
    room = (width - LEFT - RIGHT) / len(names)
    each = 0.72 * room / len(series)
    places = [(LEFT + (i + 0.14) * room + n * each, values[i], n)
              for i in range(len(names)) for n, (_, values) in enumerate(series)]
    for x, value, n in places:
        svg.rect(x, scale(value), each - 1, scale.begin - scale(value), f"f{n}")
    limit_lines(svg, scale, limits)
    for x, value, _ in places:
        svg.text(x + each / 2, scale(value) - 4, shown(value), "i v", "middle")
    for i, name in enumerate(names):
        for n, line in enumerate(textwrap.wrap(name.replace("_", " "), int(room / 6.6))):
            svg.text(LEFT + (i + 0.5) * room, height - 24 + 15 * n, line, "i", "middle")
    return str(svg)


def rows(title, note, headings, entries):
    """Horizontal bars with words: entries are (name, share of the longest, its text, series, texts of
    further columns); headings are those of name, bar and columns."""
    width, columns = 860, len(headings) - 2
    svg = Svg(width, 0, title, note)
    names = 16 + max(width_of(e[0]) for e in entries) + 16
    right = width - RIGHT - 100 * columns
    most = max(e[1] for e in entries)
    texts = max(width_of(e[2]) for e in entries) + 10
    svg.text(16, svg.top, headings[0], "s")
    svg.text(names, svg.top, headings[1], "s")
    for k in range(columns):
        svg.text(right + 100 * (k + 1), svg.top, headings[2 + k], "s", "end")
    y = svg.top + 8
    for name, value, text, number, *more in entries:
        length = (right - names - texts) * value / most if most else 0
        svg.text(16, y + 14, name)
        svg.rect(names, y + 4, max(length, 1), 13, f"f{number}")
        svg.text(names + max(length, 1) + 6, y + 14, text)
        for k, word in enumerate(more):
            svg.text(right + 100 * (k + 1), y + 14, word, "i", "end")
        y += 21
    svg.height = int(y + 14)
    svg.parts[0] = svg.parts[0].replace('height="0"', f'height="{svg.height}"')
    return str(svg)


def lines(title, note, xlabel, ylabel, series, limits=(), log=(None, None), within=None, marks=(),
          dots=True):
    """Lines over numbers. series: (name, points, colour, dashed); log: bases of x and y; within:
    least and most y; marks: (x, text)."""
    width, height = 860, 430
    svg = Svg(width, height, title, note,
              [(name, number, dashed) for name, _, number, dashed in series] +
              limits_legend(limits))
    xs = sorted({x for _, points, _, _ in series for x, _ in points})
    values = [y for _, points, _, _ in series for _, y in points] + [v for v, _ in limits]
    least, most = within or (0 if not log[1] else min(values) / 1.3, 1.08 * max(values))
    sy = Scale(least, most, height - 56, svg.top + 10, log[1])
    sx = Scale(xs[0], xs[-1], LEFT + 10, width - RIGHT - 10, log[0])
    axis_y(svg, sy, ylabel, [t for t in ticks(least, most, log[1]) if least <= t <= most],
           width - RIGHT)
    for value in ticks(xs[0], xs[-1], log[0]):
        if xs[0] <= value <= xs[-1]:
            svg.path(f"M{fixed(sx(value))},{height - 56}v5", "a")
            svg.text(sx(value), height - 38, tick_text(value), "s", "middle")
    svg.text((LEFT + width - RIGHT) / 2, height - 14, xlabel, "s", "middle")
    limit_lines(svg, sy, limits)
    for x, text in marks:
        svg.path(f"M{fixed(sx(x))},{svg.top + 10}V{height - 56}", "a d")
        svg.text(sx(x) + 5, svg.top + 8, text, "s")
    for _, points, number, dashed in series:
        svg.path("M" + "L".join(f"{fixed(sx(x))},{fixed(sy(y))}" for x, y in points),
                 f"w l{number}" + (" d" if dashed else ""))
        for x, y in points if dots and not dashed else ():
            svg.dot(sx(x), sy(y), number)
    return str(svg)


def spans(title, note, unit, lanes, legend):
    """A time line. lanes: (name, spans), each of (begin, end, name, series)."""
    width, high = 860, 30
    svg = Svg(width, 0, title, note, [(name, n, False) for name, n in legend])
    left = 16 + max(width_of(name) for name, _ in lanes) + 12
    end = max(e for _, spans_ in lanes for _, e, _, _ in spans_)
    scale = Scale(0, end, left, width - RIGHT)
    bottom = svg.top + high * len(lanes)
    for value in ticks(0, end):
        svg.path(f"M{fixed(scale(value))},{svg.top - 6}V{bottom + 4}", "g")
        svg.text(scale(value), bottom + 20, tick_text(value), "s", "middle")
    svg.text((left + width - RIGHT) / 2, bottom + 38, unit, "s", "middle")
    for i, (name, spans_) in enumerate(lanes):
        y = svg.top + high * i
        svg.text(16, y + 16, name)
        for begin, stop, label, number in spans_:
            length = max(scale(stop) - scale(begin), 0.8)
            svg.rect(scale(begin), y + 2, length, high - 10, f"f{number}",
                     f"{label}: {shown(stop - begin)} {unit}")
            if width_of(label) + 6 < length:
                svg.text(scale(begin) + length / 2, y + 16, label, "p", "middle")
    svg.height = int(bottom + 50)
    svg.parts[0] = svg.parts[0].replace('height="0"', f'height="{svg.height}"')
    return str(svg)
