#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a source tree against the rules that a reader can check by eye: who includes whom, lengths, leftovers.

    check.py ROOT

Prints one line per breach, with file, line, and what was expected, and ends with status 1 if there is any.
"""
import os
import pathlib
import re
import sys

# Folders of src/ that each folder of src/ may include, from the dependency rule of docs/architecture.md.
MAY_INCLUDE = {
    "core": {"core"},
    "ops": {"core", "ops"},
    "graph": {"core", "ops", "graph"},
    "memory": {"core", "memory"},
    "plan": {"core", "ops", "memory", "plan"},
    "runtime": {"core", "ops", "memory", "plan", "runtime"},
    "passes": {"core", "ops", "graph", "passes"},
    "compile": {"core", "ops", "graph", "memory", "passes", "plan", "runtime", "compile"},
    "quantize": {"core", "ops", "graph", "plan", "runtime", "quantize"},
}
# What stands outside of src/ and reaches the library by its public headers only.
OUTSIDE = ("parsers", "plugins", "capture", "python", "tools", "samples")
FORMATS = ("onnx", "caffe", "google")  # folders of parsers/, and the library of their schemas
PUBLIC = re.compile(r"Nv(Infer|Onnx|Caffe)\w*\.h|impl/NvInfer")
CODE = {".cpp", ".h", ".cu", ".c", ".inc"}
TEXT = CODE | {".py", ".sh", ".cmake", ".md", ".txt", ".table", ".proto", ".fbs", ".map", ".json", ".in"}
LONGEST = 700
# Spelled so that this file does not hold them.
LEFTOVERS = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "not " + "implemented", r"(?<!zero_is_)place" + "holder", "for " + r"now\b"]))
PATHS = re.compile(r"(?<![\w.}/-])/(work|root)/\w")
# Highway compiles a file once per instruction set, by conditionals and a re-entered header of its own.
SIMD = re.compile(r"HWY_|SIMD_TARGETS")
DECLARATION_FOLDERS = ("include/", "hostcuda/include/")


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("__pycache__", ".git", ".cache", "build"))
        for path in (pathlib.Path(folder) / name for name in sorted(names)):
            if path.suffix in TEXT and not path.is_symlink():
                yield path.relative_to(root).as_posix(), path.read_text(errors="replace").splitlines()


def includes(lines):
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        if found:
            yield number, found.group(1)


def backend_of(name):
    """`src/backends/cpu/...` or an include of `backends/cpu/...` -> cpu."""
    found = re.search(r"(?:^|/)backends/([^/]+)/", name)
    return found.group(1) if found else None


def check_includes(name, lines):
    parts = name.split("/")
    inner = set(MAY_INCLUDE) | {"api", "backends"}
    for number, target in includes(lines):
        first = target.split("/")[0]
        if parts[0] == "src":
            if parts[1] != "api" and PUBLIC.search(target):
                yield number, f"includes {target}; expected that only src/api sees the public headers"
            allowed = MAY_INCLUDE.get(parts[1])
            if allowed and first in inner and "/" in target and first not in allowed:
                yield number, f"src/{parts[1]} includes {target}; expected only {', '.join(sorted(allowed))}"
            other = backend_of(target)
            if first == "backends" and other and backend_of(name) != other and parts[1] != "api":
                yield number, f"includes {target}; expected that nobody includes a backend but itself"
            if parts[1] == "backends" and first == "api":
                yield number, f"includes {target}; expected that a backend knows nothing of the facade"
        elif name.startswith("parsers/common/") and (first in FORMATS or target.endswith(".pb.h")):
            yield number, f"parsers/common includes {target}; expected that it knows no format"
        elif parts[0] in OUTSIDE and first in inner and "/" in target:
            yield number, f"{parts[0]} includes {target}; expected the public headers only"


def check_text(name, lines):
    declarations = name.startswith(DECLARATION_FOLDERS)
    suffix = pathlib.PurePosixPath(name).suffix
    if suffix in CODE | {".py", ".sh"} and not declarations and len(lines) > LONGEST:
        yield len(lines), f"{len(lines)} lines; expected at most {LONGEST}"
    if suffix in CODE and lines and not lines[0].startswith(("//", "/*")):
        yield 1, "begins with code; expected a sentence on what the file is for"
    if suffix == ".h" and not SIMD.search("".join(lines[:4])) and not any(line.startswith("#pragma once") for line in lines[:40]):
        yield 1, "expected #pragma once"
    for number, line in enumerate(lines, 1):
        if LEFTOVERS.search(line):
            yield number, f"holds '{LEFTOVERS.search(line).group(0)}'; expected finished work"
        if PATHS.search(line):
            yield number, f"names a folder of one machine: {line.strip()}"
        conditional = name.startswith(("src/", "parsers/", "plugins/", "tools/")) and suffix in CODE
        if conditional and not name.startswith("src/core/platform/") and re.match(r"\s*#\s*if(def|ndef)?\b", line) \
                and not SIMD.search(line):
            yield number, f"'{line.strip()}'; expected conditional compilation in src/core/platform only"


def anchors_of(text):
    """What links to the headings of a Markdown page say behind the #."""
    headings = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(root, name, lines):
    """Relative links of a Markdown page lead to something that is there, those to a heading to one of that page."""
    for number, line in enumerate(lines, 1):
        for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", line) if name.endswith(".md") else ():
            if "://" in target:
                continue
            page = (root / name).parent / target if target else root / name
            if not page.exists():
                yield number, f"links to {target}, which is not there"
            elif heading and page.suffix == ".md" and heading not in anchors_of(page.read_text()):
                yield number, f"links to #{heading}, which is no heading of {page.name}"


def check_variables(root, name, lines):
    """Each variable of the table of core/environment.cpp has a row in the table of README.md."""
    readme = root / "README.md"
    if name != "src/core/environment.cpp" or not readme.is_file():
        return
    rows = set(re.findall(r"^\| `(\w+)` \|", readme.read_text(), re.M))
    for number, line in enumerate(lines, 1):
        found = re.match(r' +\{"(TENON_\w+)", ', line)
        if found and found.group(1) not in rows:
            yield number, f"{found.group(1)} has no row in README.md; expected one that says what it does"


def check_map(root, name, lines):
    """Each row of the map that ends in a file and a name: the file is there and holds the name."""
    for number, line in enumerate(lines, 1):
        found = re.search(r"\| `([^`]+\.\w+)` \| `(\w+)` \|$", line) if name == "docs/map.md" else None
        if not found:
            continue
        path = root / found.group(1)
        if not path.is_file():
            yield number, f"names {found.group(1)}, which is not there"
        elif not re.search(rf"\b{found.group(2)}\b", path.read_text(errors="replace")):
            yield number, f"names {found.group(2)}, which is not in {found.group(1)}"


def check_tree(root, name, lines):
    """Each folder of the tree on the architecture's page is there, or its line says that it is a goal."""
    parents = []  # (indent, folder) of the lines above that this one may be in
    for number, line in enumerate(lines, 1):
        found = re.match(r"( {4,})([\w/]+)/(?: {2,}(.*))?$", line) if name == "docs/architecture.md" else None
        if not found:
            continue
        indent = len(found.group(1))
        parents = [parent for parent in parents if parent[0] < indent]
        folder = "/".join([parent[1] for parent in parents] + [found.group(2)])
        parents.append((indent, found.group(2)))
        goal, there = (found.group(3) or "").startswith("goal:"), (root / folder).is_dir()
        if goal == there:
            yield number, f"{folder} is {'there, and called a goal' if there else 'not there; expected the word goal: in front'}"


def main(root):
    breaches, count = [], 0
    for name, lines in files_of(root):
        count += 1
        for check in (check_links, check_map, check_tree, check_variables):
            breaches += [f"{name}:{number}: {what}" for number, what in check(root, name, lines)]
        for check in (check_includes, check_text):
            breaches += [f"{name}:{number}: {what}" for number, what in check(name, lines)]
    print("\n".join(breaches))
    print(f"{count} files, {len(breaches)} breaches")
    return 1 if breaches or not count else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
