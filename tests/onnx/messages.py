#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages of the ONNX parser that no test expects.

    python3 tests/onnx/messages.py

A message counts as tested where a text of tests/onnx/*.cpp, tests/fuzz/*.cpp or tests/alloc_failure/*.cpp shares a run of
12 characters with its fixed parts, or has two of them in order that come to as many. The others are printed, and one of them is an error.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RUN = 12
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def call_text(text, begin):
    """The arguments of a call that begins with the parenthesis at `begin`."""
    depth, at, quoted = 0, begin, False
    while at < len(text):
        c = text[at]
        if c == "\\" and quoted:
            at += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
            if depth == 0:
                break
        at += 1
    return text[begin:at]


def joined(text):
    """Literals beside each other as one."""
    return re.sub(r'"\s*\n?\s*"', "", text)


def messages():
    """(file, line, fixed parts) of each call of fail."""
    for path in sorted([*ROOT.glob("parsers/onnx/**/*.cpp"), *ROOT.glob("parsers/common/*.cpp"), *ROOT.glob("parsers/**/*.h")]):
        text = path.read_text()
        for found in re.finditer(r"\bfail\(", text):
            literals = LITERAL.findall(joined(call_text(text, found.end() - 1)))
            parts = [part for literal in literals for part in re.split(r"\{[^}]*\}", literal) if len(part) >= 4]
            if parts:
                yield path.relative_to(ROOT), text.count("\n", 0, found.start()) + 1, parts


def runs(text):
    return {text[i:i + RUN] for i in range(len(text) - RUN + 1)}


def has_parts(literal, parts):
    """Whether the literal has parts in order, at least two, of RUN characters in all."""
    at, found, length = 0, 0, 0
    for part in parts:
        place = literal.find(part, at)
        if place >= 0:
            at, found, length = place + len(part), found + 1, length + len(part)
    return found > 1 and length >= RUN


def main():
    texts = [literal for folder in ("onnx", "fuzz", "alloc_failure") for path in ROOT.glob(f"tests/{folder}/*.cpp")
             for literal in LITERAL.findall(joined(path.read_text()))]
    expected = set().union(*map(runs, texts))
    total, untested = 0, []
    for path, line, parts in messages():
        total += 1
        if not any(runs(part) & expected for part in parts) and not any(has_parts(text, parts) for text in texts):
            untested.append(f"{path}:{line}: {' | '.join(parts)[:150]}")
    print("\n".join([*untested, f"{total - len(untested)} of {total} messages are expected by a test"]))
    return 1 if untested else 0


if __name__ == "__main__":
    sys.exit(main())
