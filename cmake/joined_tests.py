#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins sources of tests into one, so that the compiler reads headers and makes templates once for all of them.

    joined_tests.py OUTPUT SOURCE...

What a source has in a namespace without a name gets one named after the file around it: files may have helpers of the same
name, as they may when each is compiled alone. Macros end with their file. Messages of the compiler name the sources.
"""
import pathlib
import re
import sys


def part(path):
    text = path.read_text()
    name = "file_" + re.sub(r"\W", "_", path.stem)
    text = re.sub(r"^namespace \{$", f"namespace {name} {{ namespace {{", text, flags=re.MULTILINE)
    text = re.sub(r"^\}  // namespace\n(?=\s*(?:\}|\Z))", "}}\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\}  // namespace$", f"}}}} using namespace {name};", text, flags=re.MULTILINE)  # code follows
    macros = dict.fromkeys(re.findall(r"^#define (\w+)", text, flags=re.MULTILINE))
    return "\n".join([f'#line 1 "{path}"', text, *(f"#undef {macro}" for macro in macros), ""])


def main():
    output, *sources = map(pathlib.Path, sys.argv[1:])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(map(part, sources)))


if __name__ == "__main__":
    main()
