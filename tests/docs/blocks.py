#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Take the code blocks out of the documents, for run.sh; docs/testing.md says how a
document marks them.

    blocks.py [--all] OUT DOCUMENT...

Writes OUT/c/N.c, OUT/host/N.sh and OUT/card/N.sh, N counting all blocks, and beside
each N.name with its place in the document. Prints TAP: a result for each command that
is run elsewhere, and one that fails for each block that is not marked, each link to a
file or heading that is not there, and each `make TARGET` or `FILE: TEST` of the kernel's
tests in the text that does not exist; with --all, also for each command of the table that no
document has, and each page for users and programmers without code to paste.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ELSEWHERE = HERE / "elsewhere"
ROOT = HERE.parent.parent

# Languages of blocks without commands.
QUIET = {"text", "json", "python", "diff", "make", "ini", "desc"}
# Beginnings of commands, to find them in a block without a fence.
COMMAND = re.compile(
    r"[$#] |(\w+=\S+ )*(sudo |make\b|git |apt|dpkg|dnf|rpm|ls(mod|pci)?\b|cat |echo |cd |sh |"
    r"insmod|rmmod|modprobe|dkms|mokutil|journalctl|dmesg|systemctl|udevadm|perf |trace-cmd|"
    r"sensors|groups|usermod|vta|python|gcc|cc |\.?/?(build|tools|tests|examples|usr)/|\./)")


class Tap:
    count = failed = 0

    @classmethod
    def result(cls, ok, name):
        cls.count += 1
        cls.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {cls.count} {name}")


def read_elsewhere():
    """The table: command -> reason."""
    table, command = {}, None
    for line in ELSEWHERE.read_text().splitlines():
        if not line or line.startswith("# "):
            continue
        if not line.startswith("\t"):
            command = line
            continue
        where, _, why = line.strip().partition(": ")
        known = where == "nowhere" or (ROOT / where).exists()
        Tap.result(known and why, f"{ELSEWHERE.name}: {command}: {line.strip()}")
        table[command] = line.strip()
    return table


def blocks(document):
    """(line, info string, lines) of each code block; without fence, info is None."""
    lines = document.read_text().splitlines()
    i = 0
    while i < len(lines):
        fence = re.match(r"( *)```(.*)$", lines[i])
        if fence:
            indent, info = len(fence[1]), fence[2].strip()
            end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == "```")
            yield i + 1, info, [line[indent:] for line in lines[i + 1:end]]
            i = end + 1
        elif lines[i].startswith("    ") and i and not lines[i - 1].strip():
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            yield i + 1, None, [line[4:] for line in lines[i:end]]
            i = end
        else:
            i += 1


def run_here(commands, table, used, name):
    """The lines of a script, without those that are run elsewhere."""
    script, rest, settings = [], False, []
    for line in "\n".join(commands).replace("\\\n", " ").splitlines():
        bare = " ".join(re.sub(r"(^|\s+)#\s.*$", "", line).split())
        if bare in table:
            used.add(bare)
            settings += re.findall(r"^(?:export|unset) .*", bare)
            Tap.result(True, f"{name}: {bare} (elsewhere)")
            continue
        rest = rest or bool(bare)
        script.append(line)
    for setting in settings if rest else ():
        Tap.result(False, f"{name}: {setting} is left out of commands that run")
    return script if rest else None


def make_targets():
    makefiles = [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]
    return {target for file in makefiles
            for rule in re.findall(r"^([\w -]+):(?!=)", file.read_text(), re.M)
            for target in rule.split()}


def check_tests(document, text):
    """`file: test`, and the names that follow in a row: tests of that file, or variants."""
    for file, names in re.findall(
            r"`((?:vta|iso)_\w+): (\w+(?:\.\w+)?`(?:(?: \([^)]*\))?,\s`\w+`)*)", text):
        source, = [*(ROOT / "tests/selftests").glob(f"**/{file}.c")] or [None]
        tests = re.findall(r"^(?:TEST\w*|FIXTURE_VARIANT_ADD)\(([^)]*)", source.read_text(),
                           re.M) if source else []
        tests = {name.split(", ")[1 if ", " in name else 0] for name in tests}
        for name in re.findall(r"(?:\w+\.)?(\w+)`", names):
            if name not in tests:
                Tap.result(False, f"{document}: a test {file}: {name}")


def check_first_commands():
    """The pages for users of networks and programmers have code to paste."""
    table = (ROOT / "docs/README.md").read_text().split("| you administer")[0]
    for page in sorted(set(re.findall(r"\(([\w-]+\.md)\)", table))):
        infos = [(info or "").split()[:1] for _, info, _ in blocks(ROOT / "docs" / page)]
        if ["sh"] not in infos and ["c"] not in infos:
            Tap.result(False, f"docs/{page}: a first command or program to paste")


def text_of(path):
    """The text between the blocks."""
    return re.sub(r"^( *)```.*?^ *```$", "", path.read_text(), flags=re.M | re.S)


def check_links(path, text):
    for link, heading in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
        to = path.parent / link if link else path
        if to.suffix == ".md" and heading and to.exists():
            headings = re.findall(r"^#+ (.*)$", text_of(to).lower(), re.M)
            good = heading in [re.sub(r"[^\w -]", "", h).replace(" ", "-") for h in headings]
        else:
            good = to.exists()
        if not good:
            Tap.result(False, f"{path.relative_to(ROOT)}: a link to {link}#{heading}")


def check_text(document, targets):
    """Check the references in the text between the blocks."""
    text = text_of(ROOT / document)
    check_tests(document, re.sub(r"\s+", " ", text))
    check_links(ROOT / document, text)
    for target in re.findall(r"`make ([a-z][a-z-]*)(?=[ `])", text):
        if target not in targets:
            Tap.result(False, f"{document}: make {target}")


def main():
    args = sys.argv[1:]
    everything = args[0] == "--all"
    out, documents = Path(args[everything]), args[everything + 1:]
    for kind in ("c", "host", "card"):
        (out / kind).mkdir()
    table, used, n = read_elsewhere(), set(), 0
    targets = make_targets()
    for document in documents:
        check_text(document, targets)
        for line, info, text in blocks(ROOT / document):
            n += 1
            name, words = f"{document}:{line}", (info or "").split()
            if info is None:
                if any(COMMAND.match(command) for command in text):
                    Tap.result(False, f"{name}: commands in a block without a fence")
            elif words[:1] == ["c"]:
                text.insert(0, f'#line {line + 1} "{document}"')
                (out / "c" / f"{n:03}.c").write_text("\n".join(text) + "\n")
                (out / "c" / f"{n:03}.name").write_text(name + "\n")
                (out / "c" / f"{n:03}.dirs").write_text(" ".join(words[1:]) + "\n")
            elif info in ("sh", "sh card"):
                script = run_here(text, table, used, name)
                where = out / ("card" if words[1:] else "host")
                if script:
                    (where / f"{n:03}.sh").write_text("\n".join(script) + "\n")
                    (where / f"{n:03}.name").write_text(name + "\n")
            elif info not in QUIET:
                Tap.result(False, f"{name}: a block marked '{info}'")
    if everything:
        check_first_commands()
    for command in table.keys() - used if everything else ():
        Tap.result(False, f"{ELSEWHERE.name}: no document has '{command}'")
    print(f"1..{Tap.count}")
    return 1 if Tap.failed else 0


sys.exit(main())
