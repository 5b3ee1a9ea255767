#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ programs that compare the public headers with the table of the binary interface.

layout.cpp checks sizes, offsets, values, signatures and slots; calls.cpp checks what the inline functions do: that each
forwarder reaches its slot with its arguments in order, and what default arguments and default bodies give.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "abi"))

from abi_table import Table, identifier  # noqa: E402

PRELUDE = '#include "probe_support.h"\n\nusing namespace nvinfer1;\nusing namespace probe;\n\n'


def layout_of_class(table, name, entry):
    lines = [f'static_assert(sizeof({name}) == {entry["size"]}, "size of {name}");',
             f'static_assert(alignof({name}) == {entry["align"]}, "alignment of {name}");',
             f'static_assert(std::is_abstract_v<{name}> == {str(bool(entry.get("abstract"))).lower()}, "{name}");']
    for base in entry.get("bases", []):
        lines.append(f'static_assert(std::is_base_of_v<{base}, {name}>, "{base} under {name}");')
    for constant, (kind, value) in entry.get("constants", {}).items():
        lines.append(f'static_assert(std::is_same_v<decltype({name}::{constant}), const {kind}> && '
                     f'{name}::{constant} == static_cast<{kind}>({value}), "{name}::{constant}");')
    for field, kind, offset, _ in entry.get("fields", []):
        kind = re.sub(r"(?<![\w:])apiv::", "nvinfer1::apiv::", kind)
        lines.append(f'static_assert(offsetof({name}, {field}) == {offset}, "offset of {name}::{field}");')
        lines.append(f'static_assert(std::is_same_v<decltype({name}::{field}), {kind}>, "type of {name}::{field}");')
    if entry.get("slots"):
        lines.append(f'static_assert(std::has_virtual_destructor_v<{name}> == '
                     f'{str(has_virtual_destructor(table, name)).lower()}, "destructor of {name}");')
    return lines


def has_virtual_destructor(table, name):
    return any(table.classes[owner].get("destructor", ["", -1])[1] >= 0 for owner in table.chain(name))


def checked_slots(table, name):
    """Statements that run: the slot of each function and the number of slots."""
    lines = []
    for f in table.functions(name):
        kind = f'{f.returns} ({name}::*)({", ".join(f.parameters)}) {f.qualifiers}'
        lines.append(f'  expect(slotOf(static_cast<{kind}>(&{name}::{f.name})) == '
                     f'{-1 if f.slot is None else f.slot}, "slot of {f.text()}");')
        object_type = f"const {name}&" if f.is_const else f"{name}&"
        arguments = ", ".join(f"std::declval<{p}>()" for p in f.parameters)
        lines.append(f'  static_assert(noexcept(std::declval<{object_type}>().{f.name}({arguments})) == '
                     f'{str(f.is_noexcept).lower()}, "noexcept of {f.text()}");')
    slots = table.classes[name].get("slots", 0)
    if slots:
        lines.append(f"  struct Next : {name} {{ virtual void afterTheLast(); }};")
        lines.append(f'  expect(slotOf(&Next::afterTheLast) == {slots}, "number of slots of {name}");')
    return lines


def layout_of_enum(name, entry):
    lines = [f'static_assert(std::is_same_v<std::underlying_type_t<{name}>, {entry["underlying"]}>, "{name}");',
             f'static_assert(!std::is_convertible_v<{name}, {entry["underlying"]}>, "{name} is scoped");']
    for value, number in entry["values"].items():
        lines.append(f'static_assert(static_cast<int64_t>({name}::{value}) == {number}, "{name}::{value}");')
    if entry["max"] is not None:
        space = name.split("::")[0]
        lines.append(f'static_assert({space}::EnumMax<{name}>() == {entry["max"]}, "EnumMax of {name}");')
    return lines


def layout_source(table):
    out = [PRELUDE]
    for name, entry in table.classes.items():
        out += layout_of_class(table, name, entry)
    for name, entry in table.data["enums"].items():
        out += layout_of_enum(name, entry)
    for name, target in table.data["aliases"].items():
        out.append(f'static_assert(std::is_same_v<{name}, {target}>, "{name}");')
    for name, (_, value) in table.data["macros"].items():
        out.append(f'static_assert({name} == {value}, "{name}");')
    for name, (_, kind, value) in table.data["constants"].items():
        out.append(f'static_assert(std::is_same_v<decltype({name}), {kind}> && {name} == {value}, "{name}");')
    calls = []
    for name in table.classes:
        lines = checked_slots(table, name)
        if lines:
            out += [f"\nstatic void slots_{identifier(name)}() {{"] + lines + ["}"]
            calls.append(f"  slots_{identifier(name)}();")
    out += ["\nvoid checkLayout();", "void checkLayout() {"] + calls + ["}"]
    return "\n".join(out) + "\n"


def mock(table, name, checks=True):
    """A class that records every call of a pure function, with the hidden pointers leading to more of its kind."""
    lines = [f"struct Mock_{identifier(name)} : {name} {{"]
    for f in table.unimplemented(name):
        names = [f"a{i}" for i in range(len(f.parameters))]
        types = ", ".join([f.returns] + f.parameters)
        lines.append(f'  {f.returns} {f.name}({f.declared(names)}) {f.qualifiers} override {{ return record<{types}>('
                     + ", ".join([f'"{name}"', str(f.slot)] + names) + "); }")
    if checks:
        lines += body_checks(table, name) + default_checks(table, name)
    for owner, member, target in table.hidden_pointers(name):
        lines.append(f"  Mock_{identifier(target)} implementationOf_{identifier(owner)};")
    if table.hidden_pointers(name):
        lines.append(f"  Mock_{identifier(name)}() {{")
        lines += [f"    this->{owner}::{member} = &implementationOf_{identifier(owner)};"
                  for owner, member, _ in table.hidden_pointers(name)]
        lines.append("  }")
    return lines + ["};"]


def body_checks(table, name):
    """A member function that compares what default bodies return with what they shall return."""
    lines = ["  void checkBodies() {"]
    pure = {f.name: f for f in table.unimplemented(name)}
    for f in table.functions(name):
        self_type = f"const {name}*" if f.is_const else f"{name}*"
        call = f"static_cast<{self_type}>(this)->{name}::{f.name}({f.made()})"
        if f.extra.get("gives"):
            value = re.sub(r"\((PluginVersion::\w+) << 24\)", r"(static_cast<int32_t>(\1) << 24)", f.extra["gives"])
            value = value if not value.startswith("{") else f.returns + value
            lines.append(f'    expect(token<{f.returns}>({call}) == token<{f.returns}>({value}), "body of {f.text()}");')
        elif "calls" in f.extra and f.extra["calls"][0] is None and f.extra["calls"][1] in pure:
            target = pure[f.extra["calls"][1]]
            wanted = []
            for position, argument in enumerate(f.extra["arguments"]):
                if argument == "nullptr":
                    wanted.append("uint64_t{0}")
                else:
                    source = f.extra["names"].index(argument)
                    wanted.append(f"token<{f.parameters[source]}>(make<{f.parameters[source]}>({source + 1}))")
            lines.append(f"    (void){call};")
            lines.append(f'    expectCall("body of {f.text()}", "{name}", {target.slot}, {{{", ".join(wanted)}}});')
    return lines + ["  }"]


def default_checks(table, name):
    """A member function that leaves out every argument that has a default."""
    lines = ["  void checkDefaults() {"]
    for f in table.functions(name):
        defaults = f.extra.get("defaults")
        if not defaults:
            continue
        first = min(int(i) for i in defaults)
        calls = f.extra.get("calls")
        owner, slot = (calls[1].rsplit("::", 1)[0], calls[2]) if calls else (name, f.slot)
        wanted = f.tokens(first) + [f"token<{p}>({defaults[str(i)]})" for i, p in enumerate(f.parameters) if i >= first]
        strings = [i for i in range(first, len(f.parameters)) if defaults[str(i)].startswith('"')]
        lines.append(f"    (void)static_cast<{name}*>(this)->{f.name}({f.made(first)});")
        if strings:  # equal strings need not have equal addresses
            lines.append(f"    expect(lastCall().slot == {slot} && *reinterpret_cast<const char*>("
                         f'lastCall().arguments.at({strings[0]})) == 0, "defaults of {f.text()}");')
        else:
            lines.append(f'    expectCall("defaults of {f.text()}", "{owner}", {slot}, {{{", ".join(wanted)}}});')
    return lines + ["  }"]


def forwarder_checks(table, name):
    lines = []
    for f in table.functions(name):
        calls = f.extra.get("calls")
        if not calls or calls[0] is None:
            continue
        owner = calls[1].rsplit("::", 1)[0]
        what = f"forwarding of {f.text()}"
        call = f"static_cast<{name}&>(object).{f.name}({f.made()})"
        if f.returns == "void":
            lines.append(f"  {call};")
        else:
            lines.append(f"  expect(token<{f.returns}>({call}) == "
                         f'token<{f.returns}>(make<{f.returns}>(kResult)), "result of {f.text()}");')
        lines.append(f'  expectCall("{what}", "{owner}", {calls[2]}, {{{", ".join(f.tokens())}}});')
    return lines


def constructor_checks(table, name):
    lines = []
    for parameters in table.classes[name].get("constructors", []):
        if all(default is not None for _, _, default in parameters):
            for kind, parameter, default in parameters:
                lines.append(f'  expect({name}{{}}.{parameter.rstrip("_")} == {default}, "default of {name}");')
        elif "Dims" in name:
            values = ", ".join(f"{i + 5}" for i in range(len(parameters)))
            lines.append(f'  expect(tokenOf({name}({values})) == '
                         f'tokenOf(Dims{{{len(parameters)}, {{{values}}}}}), "constructor of {name}");')
    return lines


def calls_source(table):
    out = [PRELUDE, "namespace {"]
    done = []

    def emit(name):
        if name in done or name == "nvinfer1::INoCopy":
            return
        done.append(name)
        for _, _, target in table.hidden_pointers(name):
            emit(target)
        out.extend(mock(table, name))

    for name, entry in table.classes.items():
        if entry.get("functions") or entry.get("constructors"):
            emit(name)
    for name in done:
        out.append(f"void calls_{identifier(name)}() {{")
        out.append(f"  static Mock_{identifier(name)} object;")
        out.append("  object.checkBodies();\n  object.checkDefaults();")
        out += forwarder_checks(table, name) + constructor_checks(table, name) + ["}"]
    out += ["}  // namespace", "", "void checkCalls();", "void checkCalls() {"]
    out += [f"  calls_{identifier(name)}();" for name in done] + ["}"]
    return "\n".join(out) + "\n"


MAIN = """#include "probe_support.h"

void checkLayout();
void checkCalls();

int main() {
  checkLayout();
  checkCalls();
  std::printf("%d differences\\n", probe::failures());
  return probe::failures() == 0 ? 0 : 1;
}
"""


def write(folder, file, text):
    path = os.path.join(folder, file)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("folder", help="where the sources go")
    parser.add_argument("--only", nargs="*", help="the classes and enumerations to look at, instead of everything")
    options = parser.parse_args()
    table = Table(options.table)
    if options.only is not None:
        table.only(options.only)
    os.makedirs(options.folder, exist_ok=True)
    write(options.folder, "layout.cpp", layout_source(table))
    write(options.folder, "calls.cpp", calls_source(table))
    write(options.folder, "main.cpp", MAIN)


if __name__ == "__main__":
    main()
