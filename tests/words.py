#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the sentences of comments and documents. Prints TAP.

    words.py [PATH...]          check the tracked files, or those below PATH
    words.py --list [PATH...]   print each finding as FILE:LINE: text, and the counts by part

A headless sentence begins with What, Where, Which, Who, Whose, Whether or How and is no
question: "What the card has of a row." It has no subject, and is read twice. A part of the
tree may have one such sentence in 10,000 words of comment.

A stale name is a function, "name()", or a source file, "name.c", that a comment mentions and
that no code of the tree has. OUTSIDE lists names of other projects; one in capitals stands
for any.

Then wrong sentences and names are made up, and each must be found.
"""

import collections
import io
import pathlib
import re
import subprocess
import sys
import tokenize

TOP = pathlib.Path(__file__).resolve().parents[1]
MOST = 1            # headless sentences in 10,000 words of a part
# Names of the kernel's, of TVM's and of libraries', and of files that are made.
OUTSIDE = frozenset((
    "aer_inject.c", "clear_stats", "debug_mode", "exit_group", "functions0.c", "hw_spec.h",
    "kselftest_harness.h", "mm_types.h", "name_run", "pci_regs.h", "rmb", "timespec64_to_ns",
    "truncate"))
HEAD = re.compile(r"(?:What|Where|Which|Who|Whose|Whether|How)\b")


def c_comments(text):
    """Pairs of a line number and a comment's text; adjacent // lines are one."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    for match in pattern.finditer(text):
        found = match[0]
        if found.startswith("/"):
            body = re.sub(r"^/[/*]+<?|\*/$", "", found)
            body = re.sub(r"^[ \t]*\*(?: |$)", "", body, flags=re.M)
            yield text.count("\n", 0, match.start()) + 1, body


def hash_comments(text):
    """Runs of lines that are comments, as one each."""
    block, begin = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#(?!!)(?: ?)(.*)", line)
        if match:
            begin = begin if block else number
            block.append(match[1])
            continue
        if block:
            yield begin, "\n".join(block)
            block = []
        match = re.search(r"\s#\s+([^'\"]*)$", line)
        if match:
            yield number, match[1]
    if block:
        yield begin, "\n".join(block)


def python_comments(text):
    yield from hash_comments(text)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""')):
            yield token.start[0], token.string.strip('r"')


def prose(text):
    """A document without its code blocks and tables."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^( {4}|\|).*$", "", text, flags=re.M)
    yield 1, re.sub(r"^(?:\s*[*-] |#+ .*)", "\n", text, flags=re.M)


NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w+)\(\)|\b([\w-]*\w\.(?:c|h|cc|cl|sh|py|mk|v))\b")


def names_in(text):
    """The functions and files that a text mentions."""
    return {match[1] or match[2] for match in NAME.finditer(text)}


def code_names(path, text):
    """The identifiers and the files that a source has outside its comments, and its own name."""
    if path.suffix in (".c", ".h", ".cc", ".cl", ".v"):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    else:
        text = re.sub(r"^\s*#(?!\s*include).*$", "", text, flags=re.M)
    return {path.name} | set(re.findall(r"[A-Za-z_]\w*", text)) | {
        name for name in re.findall(r"[\w-]+\.\w+", text)}


def stale(path, text, known):
    """Pairs of a line and a name that its comment mentions and that is not known."""
    read = reader_of(path, text)
    for line, comment in read(text) if read and path.suffix != ".md" else ():
        for name in sorted(names_in(comment) - known - OUTSIDE):
            if not name.split(".")[0].isupper():
                yield line, name


READERS = {".c": c_comments, ".h": c_comments, ".cc": c_comments, ".cl": c_comments,
           ".v": c_comments, ".sh": hash_comments, ".mk": hash_comments, ".py": python_comments,
           ".md": prose}


def reader_of(path, text):
    if path.suffix in READERS:
        return READERS[path.suffix]
    if path.name in ("Makefile", "Kbuild") or re.match(r"#!.*sh\b", text):
        return hash_comments
    return python_comments if re.match(r"#!.*python", text) else None


def sentences(comment):
    """Pairs of a line offset and a sentence, in its one line."""
    start = 0
    for match in re.finditer(r"(?<=[.!?;])[)\"']?\s+(?=[A-Z])|\n\s*\n|\n(?=\s*@)|\Z", comment):
        piece = comment[start:match.start()]
        offset = comment.count("\n", 0, start + len(piece) - len(piece.lstrip()))
        text = " ".join(piece.split())
        # A field of kernel-doc: the sentence begins behind its name.
        text = re.sub(r"^(?:@\w+(?:, ?@\w+)*:|\w+\(\) -) ", "", text)
        if text:
            yield offset, text
        start = match.end()


def headless(sentence):
    return bool(HEAD.match(sentence)) and not sentence.endswith("?")


def part_of(path):
    parts = path.parts
    return parts[0] if parts[0] not in ("tools",) or len(parts) < 3 else "/".join(parts[:2])


def tracked(paths):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *paths], cwd=TOP,
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in out.splitlines():
        path = pathlib.Path(name)
        if (TOP / path).is_file() and not (TOP / path).is_symlink():
            try:
                yield path, (TOP / path).read_text()
            except UnicodeDecodeError:
                pass


def findings(path, text):
    """The words of a file's comments, and its headless sentences with their lines."""
    read = reader_of(path, text)
    words, bad = 0, []
    for line, comment in read(text) if read else ():
        words += len(comment.split())
        bad += [(line + offset, s) for offset, s in sentences(comment) if headless(s)]
    return words, bad


MADE_UP = ("/* What the card has of @to beside @from. */",
           "/*\n * Reads a page. Where a process has several,\n * all are read.\n */",
           "/**\n * f() - read\n * @n: how many\n * @m: Whether it was read\n */",
           "int a; // How often it was called")
GOOD = ("/* Returns true if the queue has what it needs. */", '"What a string."; /* Is it? */',
        "/* What is read? The page. */")


def main():
    listing = sys.argv[1:2] == ["--list"]
    words, bad = collections.Counter(), collections.defaultdict(list)
    files = [(path, text) for path, text in tracked(sys.argv[2 if listing else 1:])
             if path.name != "CHANGELOG.md" and path.parts[0] != "LICENSES"]
    known = set().union(*(code_names(*file) for file in tracked([]) if reader_of(*file)))
    old = [f"{path}:{line}: {name}" for path, text in files for line, name in stale(path, text, known)]
    for path, text in files:
        part = "docs" if path.suffix == ".md" else part_of(path)
        count, found = findings(path, text)
        words[part] += count
        bad[part] += [f"{path}:{line}: {sentence}" for line, sentence in found]
    rates = {part: len(bad[part]) * 10000 / words[part] for part in words if words[part]}
    if listing:
        for part in sorted(bad):
            print(*bad[part], sep="\n", end="\n" if bad[part] else "")
        print(*(line + ": no such name" for line in old), sep="\n", end="\n" if old else "")
        for part, rate in sorted(rates.items(), key=lambda item: -item[1]):
            print(f"{rate:6.1f} in 10,000: {len(bad[part])} of {words[part]} words, {part}")
        return 0

    print("TAP version 13\n1..3")
    over = {part for part in rates if len(bad[part]) > max(1, MOST * words[part] / 10000)}
    for part in sorted(over):
        print(*("# " + line for line in bad[part]), sep="\n")
    print(f"{'not ok' if over else 'ok'} 1 sentences begin with their subject or verb: "
          f"{sum(map(len, bad.values()))} do not, in {sum(words.values())} words")
    print(*("# " + line for line in old), sep="\n", end="\n" if old else "")
    print(f"{'not ok' if old else 'ok'} 2 comments mention functions and files that exist")
    missed = [text for text in MADE_UP if len(findings(pathlib.Path("a.c"), text)[1]) != 1]
    missed += [text for text in GOOD if findings(pathlib.Path("a.c"), text)[1]]
    missed += [name for name in ("gone" + "_long_ago()", "not" + "_there.c")
               if not list(stale(pathlib.Path("a.c"), f"/* Calls {name}. */", known))]
    for text in missed:
        print("# judged wrongly: " + text.replace("\n", " "))
    print(f"{'not ok' if missed else 'ok'} 3 sentences and names that are made up are found")
    return bool(over or missed)


sys.exit(main())
