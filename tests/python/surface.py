# SPDX-License-Identifier: Apache-2.0
"""Walks the table of the module's surface: every name is there, with its value or signature, or stands below with a reason."""
import importlib.util
import pathlib
import re
import sys

import tensorrt as trt

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
_SPEC = importlib.util.spec_from_file_location("surface_table", ROOT / "python/surface.py")
table = importlib.util.module_from_spec(_SPEC)
sys.modules["surface_table"] = table
_SPEC.loader.exec_module(table)

# Classes that are not there.
MISSING_CLASSES = {"FallbackString": "stands only for the names of plugin fields, which are texts"}
# Members whose signature differs, and why.
OTHER_SIGNATURES = {
    "Builder.build_serialized_network": "kernel_text is a list, to which the text is added",
    "ICudaEngine.get_tensor_profile_values": "the table names its arguments in the wrong order; both orders are taken",
    "IExecutionContext.set_input_shape": "one overload takes every sequence",
    "INetworkDefinition.add_dist_collective": "the optional ones are typed",
}

def is_python_list(name):
    return name in ("NodeIndices", "SubGraphCollection")


class Report:
    def __init__(self):
        self.checked, self.wrong, self.explained = 0, [], set()

    def check(self, holds, what):
        self.checked += 1
        if not holds:
            self.wrong.append(what)

    def excuse(self, reasons, name):
        if name in reasons:
            self.explained.add(name)
        return name in reasons


def resolve(name):
    value = trt
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def check_enum(report, entry):
    enum = resolve(entry.name)
    report.check(enum is not None, f"{entry.name} is missing")
    members = getattr(enum, "__members__", {})
    for name, value in entry.values.items():
        report.check(name in members and int(members[name]) == value,
                     f"{entry.name}.{name} is {members.get(name)!r}, expected {value}")
    extra = set(members) - set(entry.values)
    report.check(not extra, f"{entry.name} has members that the table lacks: {extra}")


def signatures(function):
    """The overloads of a function as its docstring lists them."""
    text = function.__doc__ or ""
    rows = re.findall(r"^(?:\d+\. )?(\w+\(.*\) -> .*)$", text, re.MULTILINE)
    rows = [row for row in rows if not row.startswith(f"{function.__name__}(*args")]
    return [table.callable_of("method", re.sub(r"(\w+\.)+(\w+)(?=[,\]) :]|$)", shorten, row)) for row in rows]


def shorten(found):
    """tensorrt.tensorrt.ITensor -> ITensor, and no value of an enum."""
    return found.group(2) if found.group(0).startswith("tensorrt.") else found.group(0)


def agrees(wanted, found, known):
    """Whether two signatures agree: names, which have defaults, and types where both are classes of the module."""
    wanted, found = list(wanted.parameters), [p for p in found.parameters if p.name != "self"]
    if len(wanted) != len(found):
        return False
    for a, b in zip(wanted, found):
        if a.name != b.name and not a.name.startswith("arg") or bool(a.default) != bool(b.default):
            return False
        if a.type in known and b.type in known and a.type != b.type:
            return False
    return True


def check_method(report, entry, owner, name, overloads, known):
    title = f"{entry.name}.{name}"
    function = getattr(owner, name, None)
    report.check(callable(function), f"{title} is missing")
    if function is None or not (function.__doc__ or "").strip() or report.excuse(OTHER_SIGNATURES, title):
        return
    found = signatures(function)
    if not found:
        return
    for overload in overloads:
        report.check(any(agrees(overload, other, known) for other in found),
                     f"{title}: {[(p.name, p.type, p.default) for p in overload.parameters]} is no overload of {function.__doc__.strip()}")


def check_class(report, entry, known, surface):
    if report.excuse(MISSING_CLASSES, entry.name):
        report.check(resolve(entry.name) is None, f"{entry.name} is there, though it stands among the missing ones")
        return
    owner = resolve(entry.name)
    report.check(isinstance(owner, type), f"class {entry.name} is missing")
    if owner is None:
        return
    for base in entry.bases:
        report.check(base in MISSING_CLASSES or issubclass(owner, resolve(base)), f"{entry.name} does not derive from {base}")
    methods = {}
    for member in entry.members:
        title = f"{entry.name}.{member.name}"
        if member.kind in ("method", "static"):
            methods.setdefault(member.name, []).append(member)
        else:
            report.check(hasattr(owner, member.name), f"{title} is missing")
            value = vars(owner).get(member.name)
            if member.kind == "property" and isinstance(value, property):
                report.check(value.fset is not None or title == "InterfaceInfo.kind", f"{title} cannot be set")
            if member.kind == "readonly" and isinstance(value, property):
                report.check(value.fset is None, f"{title} can be set")
    for name, overloads in methods.items():
        if is_python_list(entry.name):
            report.check(name == "__bool__" or callable(getattr(owner, name, None)), f"{entry.name}.{name} is missing")
        else:
            check_method(report, entry, owner, name, overloads, known)


def main():
    surface, report = table.read(), Report()
    known = set(surface.enums) | set(surface.classes)
    for entry in surface.enums.values():
        check_enum(report, entry)
    for entry in surface.classes.values():
        check_class(report, entry, known, surface)
    for function in surface.functions:
        report.check(callable(getattr(trt, function.name, None)), f"function {function.name} is missing")
    for name, value in surface.attributes.items():
        report.check(hasattr(trt, name), f"attribute {name} is missing")
        if value.startswith("DataType."):
            report.check(getattr(trt, name) == resolve(value), f"{name} is not {value}")
    stale = (set(MISSING_CLASSES) | set(OTHER_SIGNATURES)) - report.explained
    report.check(not stale, f"explained, but not in the table: {sorted(stale)}")
    print("\n".join(report.wrong))
    print(f"{report.checked} facts checked, {len(report.wrong)} wrong, {len(report.explained)} explained")
    return 1 if report.wrong or report.checked < 2000 else 0


if __name__ == "__main__":
    sys.exit(main())
