# SPDX-License-Identifier: Apache-2.0
"""Walks the table of the module's surface: every name is there, with its value or signature and a text of its own, or stands below with
a reason. Then each name is hidden and each signature changed in turn, which the walk must notice."""
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
# Older programs set them.
SET_ALL_THE_SAME = {"IExecutionContext.active_optimization_profile": "with a DeprecationWarning"}
# Functions of Python, which have no signature of pybind11's.
OF_PYTHON = {"ICudaEngine.__getitem__": "takes names too, as before release 10"}
HIDDEN = set()  # names that the walk shall not find


def is_python_list(name):
    return name in ("NodeIndices", "SubGraphCollection")


def has_text(name, value):
    """Whether a docstring says more than signatures and lists of members. Enums are asked with None."""
    text = re.sub(r"^ *(\d+\. )?\w+\(.*\)( -> .*)?$|^Overloaded function\.$", "", value.__doc__ or "", flags=re.MULTILINE)
    return bool(text.partition("Members:")[0].strip()) and name not in HIDDEN


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
    value = None if name in HIDDEN else trt
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def member_of(owner, title):
    """A member of a class or enum by its full name, or None."""
    return None if title in HIDDEN else getattr(owner, title.rpartition(".")[2], None)


def check_enum(report, entry):
    enum = resolve(entry.name)
    report.check(enum is not None and has_text(entry.name, enum), f"{entry.name} is missing, or its text")
    members = {name: value for name, value in getattr(enum, "__members__", {}).items() if f"{entry.name}.{name}" not in HIDDEN}
    for name, value in entry.values.items():
        report.check(name in members and int(members[name]) == value,
                     f"{entry.name}.{name} is {members.get(name)!r}, expected {value}")
        report.check(bool(re.search(rf"^ *{name} : \S", enum.__doc__ or "", re.MULTILINE)), f"{entry.name}.{name} has no text")
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
        if a.name != b.name and not a.name.startswith("arg") or plain_default(a.default) != plain_default(b.default):
            return False
        if a.type in known and b.type in known and a.type != b.type:
            return False
    return True


def plain_default(text):
    """<Severity.WARNING: 2> -> Severity.WARNING; numbers alike."""
    text = re.sub(r"<([\w.]+): \d+>", r"\1", text or "")
    return float(text) if re.fullmatch(r"-?\d+(\.\d*)?", text) else text


def returns_alike(wanted, found):
    """Whether what is returned agrees; what classes in Python define, and what may be None, is an object."""
    names = {"IParserError": "ParserError"}
    return found.type in (names.get(wanted.type, wanted.type), "object") or wanted.kind == "method" and wanted.adapter


def check_method(report, entry, owner, name, overloads, known):
    title = f"{entry.name}.{name}"
    function = member_of(owner, title)
    report.check(callable(function), f"{title} is missing")
    if function is None or report.excuse(OTHER_SIGNATURES, title) or report.excuse(OF_PYTHON, title):
        return
    if not name.startswith("__") or name == "__init__" and any(o.parameters for o in overloads):
        report.check(has_text(title, function), f"{title} has no text")
    found = signatures(function)
    report.check(bool(found), f"{title} tells no signature")
    for overload in overloads:
        report.check(any(agrees(overload, other, known) and returns_alike(overload, other) for other in found),
                     f"{title}: {[(p.name, p.type, p.default) for p in overload.parameters]} is no overload of {function.__doc__.strip()}")


def check_class(report, entry, known, surface):
    if report.excuse(MISSING_CLASSES, entry.name):
        report.check(resolve(entry.name) is None, f"{entry.name} is there, though it stands among the missing ones")
        return
    owner = resolve(entry.name)
    report.check(isinstance(owner, type), f"class {entry.name} is missing")
    if owner is None:
        return
    report.check(has_text(entry.name, owner), f"class {entry.name} has no text")
    for base in entry.bases:
        report.check(base in MISSING_CLASSES or issubclass(owner, resolve(base)), f"{entry.name} does not derive from {base}")
    methods = {}
    for member in entry.members:
        title = f"{entry.name}.{member.name}"
        if member.kind in ("method", "static"):
            methods.setdefault(member.name, []).append(member)
        else:
            value = vars(owner).get(member.name)
            report.check(isinstance(value, property) or member_of(owner, title) is not None, f"{title} is missing")
            if isinstance(value, property):  # those of the class itself can have no text
                report.check(title not in HIDDEN and (type(value) is not property or bool((value.__doc__ or "").strip())),
                             f"{title} is missing, or its text")
            if member.kind == "property" and isinstance(value, property):
                report.check(value.fset is not None or title == "InterfaceInfo.kind", f"{title} cannot be set")
            if member.kind == "readonly" and isinstance(value, property) and not report.excuse(SET_ALL_THE_SAME, title):
                report.check(value.fset is None, f"{title} can be set")
    for name, overloads in methods.items():
        if is_python_list(entry.name):
            report.check(name == "__bool__" or callable(member_of(owner, f"{entry.name}.{name}")), f"{entry.name}.{name} is missing")
        else:
            check_method(report, entry, owner, name, overloads, known)


def check_all(surface, report):
    known = set(surface.enums) | set(surface.classes)
    for entry in surface.enums.values():
        check_enum(report, entry)
    for entry in surface.classes.values():
        check_class(report, entry, known, surface)
    for function in surface.functions:
        value = resolve(function.name)
        report.check(callable(value) and has_text(function.name, value), f"function {function.name} is missing, or its text")
    for name, value in surface.attributes.items():
        report.check(hasattr(trt, name), f"attribute {name} is missing")
        if value.startswith("DataType."):
            report.check(getattr(trt, name) == resolve(value), f"{name} is not {value}")
    stale = (set(MISSING_CLASSES) | set(OTHER_SIGNATURES) | set(OF_PYTHON) | set(SET_ALL_THE_SAME)) - report.explained
    report.check(not stale, f"explained, but not in the table: {sorted(stale)}")


def wrong_of(check, *arguments):
    """How much a part of the walk finds wrong."""
    report = Report()
    check(report, *arguments)
    return len(report.wrong)


def unnoticed(surface):
    """Names that the walk does not miss when they are not there, and signatures that could be others: (tried, [those])."""
    known, tried, lost = set(surface.enums) | set(surface.classes), 0, []
    for entry in [*surface.enums.values(), *surface.classes.values()]:
        is_enum = entry.name in surface.enums
        check = (check_enum, entry) if is_enum else (check_class, entry, known, surface)
        names = list(entry.values) if is_enum else sorted({m.name for m in entry.members if m.name != "__bool__"})
        if entry.name in MISSING_CLASSES:
            continue
        for name in [entry.name, *(f"{entry.name}.{name}" for name in names)]:
            HIDDEN.add(name)
            tried += 1
            lost += [] if wrong_of(*check) else [name]
            HIDDEN.clear()
        for member in entry.members:
            title = f"{entry.name}.{member.name}"
            if not member.parameters or is_python_list(entry.name) or title in OTHER_SIGNATURES or title in OF_PYTHON:
                continue
            last = member.parameters[-1]
            kept = last.default
            last.default = None if kept else "17"
            tried += 1
            lost += [] if wrong_of(*check) else [f"the default of {title}"]
            last.default = kept
    return tried, lost


def main():
    surface, report = table.read(), Report()
    check_all(surface, report)
    print("\n".join(report.wrong))
    print(f"{report.checked} facts checked, {len(report.wrong)} wrong, {len(report.explained)} explained")
    if report.wrong or report.checked < 4000:
        return 1
    tried, lost = unnoticed(surface)
    print(f"{tried} names hidden and signatures changed, {len(lost)} not noticed: {', '.join(lost) or 'none'}")
    return 1 if lost or tried < 1800 else 0


if __name__ == "__main__":
    sys.exit(main())
