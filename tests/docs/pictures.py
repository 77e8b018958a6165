#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the documents are what their script makes of the data, are legible in both colour
schemes, and their texts neither overlap nor leave the picture (in Chromium).

    pictures.py

Prints TAP. The last is skipped without chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parents[2]
PICTURES = TOP / "docs/pictures"
sys.path.insert(0, str(PICTURES))
import chart    # pylint: disable=wrong-import-position
import make     # pylint: disable=wrong-import-position

# The page of each picture
SHOWN = {"parts": "README.md", "models": "docs/models.md", "tracing": "docs/operating.md",
         "monitoring": "docs/operating.md", "bench": "docs/bench.md"}
MEASURED = ("tracing", "monitoring", "bench")
LARGEST = 40000
results = []

# For each picture: texts that leave it, and pairs that overlap. An upright text has its own box.
SCRIPT = """
const found = {};
for (const svg of document.querySelectorAll("svg")) {
  const frame = svg.getBoundingClientRect(), bad = [];
  const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  for (const [i, [text, a]] of texts.entries()) {
    if (a.left < frame.left || a.right > frame.right || a.top < frame.top || a.bottom > frame.bottom)
      bad.push(text);
    for (const [other, b] of texts.slice(i + 1))
      if (a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
        bad.push(text + " | " + other);
  }
  found[svg.parentNode.id] = bad;
}
document.body.innerHTML = "";
document.body.textContent = "RESULT" + JSON.stringify(found) + "END";
"""


def check(name, test):
    """Counts a test; test returns True, or something to print."""
    try:
        what = test()
    except Exception as error:      # pylint: disable=broad-except
        what = repr(error)
    results.append(what is True)
    print(f"{'ok' if what is True else 'not ok'} {len(results)} {name}")
    if what is not True:
        print("\n".join(f"# {line}" for line in str(what)[:4000].splitlines()))


def current(name):
    made = make.PICTURES[name]()
    return made == (PICTURES / f"{name}.svg").read_text() or \
        f"docs/pictures/make.py makes another {name}.svg"


def described(name):
    """A title, values with a unit, both schemes, and the machine, in a small file."""
    text = (PICTURES / f"{name}.svg").read_text()
    root = ElementTree.fromstring(text)
    words = " ".join(root.itertext())
    return len(text) < LARGEST and root[0].tag.endswith("title") and root[0].text and \
        "prefers-color-scheme:dark" in text and \
        (name not in MEASURED or make.machine() in words) or words


def shown(name):
    page = TOP / SHOWN[name]
    found = re.findall(r"!\[([^\]]{20,})\]\(([^)]*)\)", page.read_text().replace("\n", " "))
    return any((page.parent / path).resolve() == PICTURES / f"{name}.svg" for _, path in found) or \
        found


def no_others():
    """Each file is a picture that a page shows, its data, or a script."""
    have = {path.stem for path in PICTURES.glob("*.svg")}
    return have == set(make.PICTURES) == set(SHOWN) or have


def luminance(colour):
    def linear(value):
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    r, g, b = (linear(int(colour[i:i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def legible(scheme):
    """The ratio that WCAG 2 asks for: 4.5, also of bars, on which there is text."""
    paper, ink, soft, _, series = chart.SCHEMES[scheme]
    ratios = [contrast(paper, c) / 4.5 for c in (ink, soft)] + \
        [contrast(paper, c) / 4.5 for c in series]
    return min(ratios) >= 1 or ratios


def laid_out():
    pages = "".join(f'<div id="{name}">{(PICTURES / f"{name}.svg").read_text()}</div>'
                    for name in SHOWN)
    with tempfile.TemporaryDirectory(prefix="vta-pictures.") as work:
        page = Path(work) / "page.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><body>{pages}"
                        f"<script>{SCRIPT}</script></body>")
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={work}/chromium", "--dump-dom", f"file://{page}"],
            capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(re.search("RESULT(.*)END", done.stdout)[1])
    return set(found) == set(SHOWN) and not any(found.values()) or found


print("TAP version 13")
check("every picture has its function and its page", no_others)
for picture in SHOWN:
    check(f"{picture}: is made from the data", lambda: current(picture))
    check(f"{picture}: has a title, both schemes, and the machine if measured",
          lambda: described(picture))
    check(f"{picture}: {SHOWN[picture]} shows it, with a description", lambda: shown(picture))
for colours in chart.SCHEMES:
    check(f"the {colours} scheme is legible", lambda: legible(colours))
if shutil.which("chromium"):
    check("no text overlaps another or leaves its picture", laid_out)
else:
    results.append(True)
    print(f"ok {len(results)} no text overlaps another # SKIP chromium is not installed")
print(f"1..{len(results)}")
sys.exit(not all(results))
