#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins C++ sources to batches that are compiled as one file each: headers are read and templates compiled once a batch.

    unity_batches.py plan SOURCE...                   prints how many batches there are, then the sources that stand alone
    unity_batches.py write PREFIX COUNT SOURCE...     writes PREFIX_0.cpp ..., which include the sources

Sources of one batch share their unnamed namespaces. So none of a batch declares a name at namespace scope that another of it
mentions, whatever it means there; qualified names and members aside, which such a declaration cannot hide. Names in namespaces
that do not enclose each other do not meet. Sources with macros of their own, and with all names of a namespace, stand alone.
The reading leans on the tree's format, which leaves namespaces unindented; what it misses the compiler reports.
"""
import pathlib
import re
import sys

BATCH = 8  # larger ones save little more, and a change of one source compiles its whole batch
ALONE = re.compile(r"^\s*#\s*(?:define|undef)\b|^using namespace\b|^enum (?!class\b)", re.M)
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|^\s*#[^\n]*', re.S | re.M)
NAMESPACE_ENDS = re.compile(r'} +""$')  # "}  // namespace", whose comment is no code
DECLARED_TYPE = re.compile(r"(?:struct|class|enum class|union) (?:alignas\([^)]*\) )?(\w+)|using (\w+) =")
DECLARED = re.compile(r"([\w:~]+)\s*(?:[(={\[;]|$)")
MENTIONED = re.compile(r"(?<![\w.:>])[A-Za-z_]\w*|(?<=[^-]>)[A-Za-z_]\w*|(?<=[^:]:)[A-Za-z_]\w*")


class NoBatch(Exception):
    """A source that changed since CMake asked for the plan has no place in it."""


class Source:
    def __init__(self, path):
        text = pathlib.Path(path).read_text()
        self.path = path
        self.alone = ALONE.search(text) is not None
        code = NO_CODE.sub('""', text)
        self.scopes = re.findall(r"^namespace ([\w:]+) \{", code, re.M) or [""]
        self.mentions = set(MENTIONED.findall(code))
        self.declares = set(hidden_names(code))

    def meets(self, other):
        """Whether names of a namespace of one are seen in the other."""
        return any(is_within(a, b) or is_within(b, a) for a in self.scopes for b in other.scopes)

    def clashes(self, other):
        """The names that keep two sources apart."""
        if not self.meets(other):
            return set()
        return (self.declares & other.mentions) | (other.declares & self.mentions)


def is_within(inner, outer):
    return not outer or (inner + "::").startswith(outer + "::")


def hidden_names(code):
    """The names that only this source declares: those of unnamed namespaces, and what is static."""
    unnamed = False
    for line in code.split("\n"):
        if line.startswith("namespace"):
            unnamed = line.startswith("namespace {")
        elif NAMESPACE_ENDS.match(line):
            unnamed = False
        elif unnamed or line.startswith("static "):
            yield from declared(line)


def declared(line):
    """What a line at namespace scope declares: lines of functions and classes are indented."""
    line = re.sub(r"^(?:\[\[[^\]]*\]\] |alignas\([^)]*\) )+", "", line)
    if not re.match(r"(?!template\b|static_assert\b|__attribute__\b|using [\w:]+;)[A-Za-z_]", line):
        return []
    named = DECLARED_TYPE.match(line)
    if named:
        return [named[1] or named[2]]
    before = None
    while before != line:  # arguments of templates, from within
        before, line = line, re.sub(r"<[^<>()]*(?:\([^()]*\)[^<>()]*)*>", "", line)
    found = DECLARED.search(line)
    return [found[1]] if found and "::" not in found[1] else []


def batches(sources, most):
    """Each source joins the first batch with room and without a clash; beyond `most` batches, room counts no longer."""
    made = []
    for source in sources:
        fitting = [batch for batch in made if not any(source.clashes(other) for other in batch)]
        batch = next((batch for batch in fitting if len(batch) < BATCH), None)
        if batch is None and len(made) >= most:
            if not fitting:
                names = sorted(set().union(*(source.clashes(other) for batch in made for other in batch)))
                raise NoBatch(f"{source.path} fits into none of {most} batches, as others mention or declare {', '.join(names)}")
            batch = min(fitting, key=len)
        if batch is None:
            batch = []
            made.append(batch)
        batch.append(source)
    return made


def write(prefix, count, sources):
    for source in sources:
        if source.alone:
            raise NoBatch(f"{source.path} has macros, an unscoped enum or all names of a namespace now, and stands alone")
    made = batches(sources, count)
    for i in range(count):
        included = "".join(f'#include "{source.path}"\n' for source in made[i]) if i < len(made) else ""
        path = pathlib.Path(f"{prefix}_{i}.cpp")
        text = f"// Generated: sources that are compiled as one.\n{included}"
        if not path.exists() or path.read_text() != text:  # what stays as it was is not compiled again
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def main(arguments):
    if arguments[:1] == ["plan"]:
        sources = [Source(path) for path in arguments[1:]]
        joined = [source for source in sources if not source.alone]
        print("\n".join([str(len(batches(joined, len(joined))))] + [source.path for source in sources if source.alone]))
    elif arguments[:1] == ["write"] and len(arguments) > 3:
        try:
            write(arguments[1], int(arguments[2]), [Source(path) for path in arguments[3:]])
        except NoBatch as error:
            pathlib.Path(f"{arguments[1]}_plan").touch()  # CMake runs again when it is newer than the build's files
            sys.exit(f"error: {error}; build again, which makes another plan")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
