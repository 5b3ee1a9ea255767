#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/status.md: what of the public interface answers "not supported yet" or changes nothing, read off the code.

    status.py            writes the page
    status.py --check    ends with status 1 when the page is not what would be written

Methods that do nothing yet call notSupported("IClass::method"), or throw Unsupported with a message that begins
"IClass::method is not supported". Layers are supported when a file of
src/api/network/layers describes their type, and network_add.cpp says which method adds which type.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "status.md"
API = ROOT / "src" / "api"


def sources():
    return sorted(API.rglob("*.cpp")) + sorted(API.rglob("*.h"))


def unsupported_methods():
    found = set()
    for path in sources():
        text = path.read_text()
        found |= set(re.findall(r'notSupported\(\s*"I(\w+::\w+)"', text))
        found |= set(re.findall(r'Unsupported\(\s*"I(\w+::\w+) is not supported', text))
    return found


def layer_types():
    """The layer types with a file, and which method of the network adds which type."""
    present = set()
    for path in [*sorted((API / "network" / "layers").glob("*.cpp")), API / "network" / "attention.cpp"]:
        present |= set(re.findall(r"LayerType::(k\w+)", path.read_text()))
    adders = {}
    for path in sorted((API / "network").glob("network_add*.cpp")):
        for method, type_ in re.findall(r"Network::(add\w+)\([^{]*\{.*?LayerType::(k\w+)", path.read_text(), re.S):
            adders[method] = type_
    return present, adders


def refused_flags():
    text = (API / "builder" / "build_options.cpp").read_text()
    table = text[text.index("kRefusedFlags[] = {"):]
    return re.findall(r'"(k\w+)"', table[:table.index("};")])


def refused_options():
    return re.findall(r'refuse\([^"]*?"([^"]*)"\)', (API / "builder" / "build_options.cpp").read_text())


def idle_options():
    """What is taken without effect: the rows of kIdleOptions, and the setters that call noEffect()."""
    text = (API / "builder" / "build_options.cpp").read_text()
    table = text[text.index("kIdleOptions[] = {"):]
    table = table[:table.index("\n};")]
    literal = r'((?:"[^"\n]*"\s*)+)'
    found = set()
    for option, lines in re.findall(r'\{"(\w+::\w+)",\s*' + literal, table):
        found.add((option, joined(lines)))
    for path in sources():
        for option, lines in re.findall(r'noEffect\([^"]*"(\w+::\w+)",\s*' + literal, path.read_text()):
            found.add((option, joined(lines)))
    return sorted(found)


def joined(literals):
    return "".join(re.findall(r'"([^"]*)"', literals))


def refused_by_layers():
    found = []
    for path in sorted((API / "network" / "layers").glob("*.cpp")):
        found += re.findall(r'throw Unsupported\("\{\}: ([^"]*)"', path.read_text())
    return found


def page():
    present, adders = layer_types()
    missing = unsupported_methods() | {f"NetworkDefinition::{m}" for m, t in adders.items() if t not in present}
    lines = [
        "# What is not supported yet", "",
        "This page is written by `scripts/status.py` from the code; a test compares the two. Each method below exists,",
        "reports that it is not supported, and returns what TensorRT returns on failure. Options below are refused by name",
        "when a build begins, or change nothing and say so.", "",
    ]
    classes = {}
    for entry in missing:
        owner, method = entry.split("::")
        classes.setdefault(owner, []).append(method)
    for owner in sorted(classes):
        lines += [f"## I{owner}", ""] + [f"- `{method}`" for method in sorted(classes[owner])] + [""]
    lines += ["## IRefitter", "", "- `createInferRefitter`: no refitter is made yet", ""]
    if refused := refused_by_layers():
        lines += ["## Layers", ""] + [f"- {text}" for text in refused] + [""]
    lines += ["## Options of a build", ""] + [f"- `BuilderFlag::{flag}`" for flag in sorted(refused_flags())]
    lines += [f"- {text}" for text in refused_options()] + [""]
    lines += [
        "## What is taken and changes nothing", "",
        "Where one of these is set, a warning says the same, unless what was asked for holds anyway. A test walks every",
        "setter of the interface: it changes something, is refused, or stands here.", "",
    ]
    lines += [f"- `{option}`: {text}" for option, text in idle_options()] + [""]
    return "\n".join(lines)


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    wanted = page()
    if arguments == []:
        PAGE.write_text(wanted)
        return 0
    if PAGE.exists() and PAGE.read_text() == wanted:
        return 0
    print(f"{PAGE.name} is not current; run scripts/status.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
