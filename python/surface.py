# SPDX-License-Identifier: Apache-2.0
"""Reads the table of the module's surface, python/api/surface-10.16.api, for the generators and the tests."""
import dataclasses
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parent / "api/surface-10.16.api"


@dataclasses.dataclass
class Parameter:
    name: str
    type: str = "object"
    default: str = None


@dataclasses.dataclass
class Member:
    kind: str  # property, readonly, constant, value, method, static
    name: str
    type: str = "None"  # what is returned
    parameters: list = dataclasses.field(default_factory=list)
    functions: list = dataclasses.field(default_factory=list)  # of C++
    adapter: bool = False
    deprecated: str = None


@dataclasses.dataclass
class Entry:
    name: str
    cpp: str
    bases: list = dataclasses.field(default_factory=list)
    members: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=dict)  # of an enum
    overridden: list = dataclasses.field(default_factory=list)  # (name, optional)


@dataclasses.dataclass
class Surface:
    functions: list = dataclasses.field(default_factory=list)
    attributes: dict = dataclasses.field(default_factory=dict)
    enums: dict = dataclasses.field(default_factory=dict)
    classes: dict = dataclasses.field(default_factory=dict)


def plain(text):
    """The class in a type of C++: without namespaces, const, pointer and reference."""
    return text.replace("nvinfer1::", "").replace("v_1_0::", "").replace("const ", "").removesuffix(" const").strip(" *&")


def split_parameters(text):
    """`a: List[int], b: int = 0` -> its parts; commas inside brackets do not count."""
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[last:place])
            last = place + 1
    return [part.strip() for part in [*parts, text[last:]] if part.strip()]


def parameter(text):
    text, _, default = text.partition(" = ")
    name, _, kind = text.partition(": ")
    return Parameter(name, kind or "object", default or None)


def callable_of(kind, text, functions="", deprecated=None):
    name, rest = text.split("(", 1)
    arguments, _, result = rest.rpartition(") -> ")
    names = functions.split()
    return Member(kind, name, result, [parameter(p) for p in split_parameters(arguments) if p != "self"],
                  [f for f in names if f not in ("adapter", "+adapter", "subclass")],
                  any(f.endswith("adapter") or f == "subclass" for f in names) or not names, deprecated)


def member(line):
    kind, rest = line.strip().split(" ", 1)
    rest, mark, deprecated = rest.partition(" !")
    deprecated = deprecated if mark else None
    if kind in ("method", "static"):
        # The last " = " that follows the result's type stands before the C++ function; those of defaults stand inside.
        text, _, functions = re.fullmatch(r"(.*\) -> [^=]*?)( = (.*))?", rest).group(1, 2, 3)
        return callable_of(kind, text, functions or "", deprecated)
    name, _, rest = rest.partition(": ")
    kind_of_value, _, functions = rest.partition(" = ")
    names = functions.split()
    return Member(kind, name, kind_of_value, [], [f for f in names if not f.endswith("adapter")],
                  any(f.endswith("adapter") for f in names), deprecated)


def read(path=TABLE):
    surface, entry = Surface(), None
    for line in pathlib.Path(path).read_text().splitlines():
        word, _, rest = line.strip().partition(" ")
        if line.startswith("#"):
            continue
        if word == "function":
            surface.functions.append(callable_of("function", rest))
        elif word == "attribute":
            name, _, value = rest.partition(": ")
            surface.attributes[name] = value
        elif word in ("enum", "class"):
            head, _, bases = rest.partition(" : ")
            name, cpp = head.split(" ")
            entry = Entry(name, cpp, [b.strip() for b in bases.split(",") if b.strip()])
            (surface.enums if word == "enum" else surface.classes)[name] = entry
        elif word == "overridden":
            entry.overridden = [(n.split()[0], "optional" in n) for n in rest.split(", ")]
        elif entry.name in surface.enums:
            entry.values[word] = int(rest)
        else:
            entry.members.append(member(line))
    return surface
