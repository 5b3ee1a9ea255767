# SPDX-License-Identifier: Apache-2.0
"""Walks the description of the interface itself, where it is here (TENON_API_FACTS names it, else ../shared/api/python-api.md beside the
repository): what surface.py does with the project's table, the package tensorrt.plugin, and the names of releases 8 and 9."""
import inspect
import os
import pathlib
import re
import sys

import support
import surface
import tensorrt as trt

FACTS = pathlib.Path(os.environ.get("TENON_API_FACTS", support.ROOT.parent / "shared/api/python-api.md"))
# Names of older releases that stay away: they have no meaning any more, and Python says that they are not there.
WITHOUT_MEANING = {
    "EXPLICIT_PRECISION": "1 is STRONGLY_TYPED now", "ENABLE_TACTIC_HEURISTIC": "builder_optimization_level = 2",
    "FASTER_DYNAMIC_SHAPES_0805": "always on", "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805": "set_tactic_sources",
    "FULLY_CONNECTED": "such layers are convolutions", "RNN_V2": "no such layer", "CAFFE_ROUND_DOWN": "EXPLICIT_ROUND_DOWN",
    "CAFFE_ROUND_UP": "EXPLICIT_ROUND_UP", "tensor_format": "strides and vectorized_dim", "tensorrt_version": "interface_info",
    "get_output_datatypes": "get_output_data_types, which classes define", "__iter__": "Dims are sequences",
    "free": "deallocate; classes that define free are asked", "reallocate_output": "classes define it", "notify_shape": "classes define it",
}
PLUGIN_FUNCTION = re.compile(r"- `(\w+)\((.*)\)( -> .*)?`")


def sections(text, level):
    """{title: lines} of the headings of a level; a title goes to its last line before the next of that level or above."""
    found, title = {}, None
    for line in text.splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if heading and len(heading[1]) <= level:
            title = heading[2] if len(heading[1]) == level else None
            found.setdefault(title, [])
        elif title:
            found[title].append(line)
    found.pop(None, None)
    return found


def table_line(line):
    """A line of the description in the words of the table, or None."""
    line = re.sub(r" — .*$|, accepts [\w\[\]]+", "", line)
    line, _, functions = line.partition(" → ")
    functions = re.sub(r"\(and adapter\)", "adapter", re.sub(r" \[.*", "", functions)).replace(",", "")
    line = re.sub(r" \[.*\]$", "", line)
    call = re.fullmatch(r"- (static )?`(.*)`", line)
    if call:
        return f"{'static' if call[1] else 'method'} {call[2]}" + (f" = {functions}" if functions else "")
    property_ = re.fullmatch(r"- (\w+): (.*) \((rw?)\)", line)
    if property_:
        return f"{'property' if property_[3] == 'rw' else 'readonly'} {property_[1]}: {property_[2]} = {functions or 'adapter'}"
    return None


def facts_of(text):
    """The description as the surface that surface.py walks."""
    found = surface.table.Surface()
    parts = sections(text.partition("\n## Package tensorrt.plugin")[0], 3)
    for title, lines in parts.items():
        kind, name, *_ = re.split(r"[ (]", title)
        bases = [base.strip() for base in re.findall(r"\((.*)\)", title)[0].split(",")] if "(" in title else []
        cpp = next((line[5:] for line in lines if line.startswith("C++: ")), name)
        entry = surface.table.Entry(name, cpp, bases)
        if kind == "enum":
            entry.values = {row[0]: int(row[1]) for row in (re.fullmatch(r"- (\w+) = (\d+)", line) and line[2:].split(" = ") for line in lines) if row}
            found.enums[name] = entry
        else:
            entry.members = [surface.table.member(row) for row in map(table_line, lines) if row]
            found.classes[name] = entry
    (functions,) = [lines for title, lines in sections(text, 2).items() if title == "Module functions"]
    found.functions = [surface.table.callable_of("function", line.strip("- `")) for line in functions if line.startswith("- ")]
    return found


def same_as_the_table(facts):
    """Names of the description that the table lacks, and the other way round."""
    table = surface.table.read()

    def names(one):
        members = {f"{e.name}.{m.name}" for e in one.classes.values() for m in e.members if m.kind not in ("constant", "value")}
        values = {f"{e.name}.{v}={n}" for e in one.enums.values() for v, n in e.values.items()}
        return members | values | set(one.classes) | set(one.enums)

    return sorted(names(facts) ^ names(table))


def plugin_package(text):
    """What tensorrt.plugin lacks of its description."""
    import tensorrt.plugin as trtp  # pylint: disable=import-outside-toplevel
    wrong, checked = [], 0

    def check_call(owner, name, row, title):
        function = getattr(owner, name, None)
        if not callable(function):
            return [f"{title} is missing"]
        wanted = [p.split(":")[0].split("=")[0].strip() for p in surface.table.split_parameters(row) if p.strip() not in ("self", "cls")]
        has = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
        return [] if has[:len(wanted)] == wanted or name.startswith("__") and name != "__init__" else [f"{title}{has}, expected {wanted}"]

    part = re.search(r"\n## Package tensorrt\.plugin\n(.*?)\n# ", text, re.DOTALL)[1]
    lines, owner, title = part.splitlines(), trtp, "plugin"
    for line in lines:
        heading = re.match(r"### class (\w+)", line)
        if heading:
            title = f"plugin.{heading[1]}"
            owner = getattr(trtp, heading[1], None)
            wrong += [] if owner else [f"{title} is missing"]
            continue
        call, attribute = PLUGIN_FUNCTION.match(line), re.match(r"- (\w+): .* \((rw?)\)", line)
        checked += bool(call or attribute)
        if call and owner:
            wrong += check_call(owner, call[1], call[2], f"{title}.{call[1]}")
        elif attribute and owner and not hasattr(owner, attribute[1]) and attribute[1] not in names_of_objects(owner):
            wrong.append(f"{title}.{attribute[1]} is missing")
        if (call or heading) and owner and not inspect.getdoc(owner):
            wrong.append(f"{title} has no text")
    return checked, wrong


def names_of_objects(owner):
    """Names that the constructor gives an object."""
    return set(re.findall(r"self\.(\w+)", inspect.getsource(owner)))


def older_names(text):
    """Names of older releases that neither work nor are refused in words."""
    gone = text[text.index("## Classes gone"):text.index("## Enum members whose value changed")]
    names = [re.split(r"[ (]", title)[1] for title in sections(gone, 3) if title.startswith(("class", "enum"))]
    wrong, checked = [], 0
    for name in names:
        checked += 1
        try:
            if surface.resolve(name) is None:
                getattr(trt, name)
        except AttributeError as error:
            wrong += [] if "is gone since" in str(error) else [str(error)]
    members = text[text.index("## Members gone from classes"):text.index("## Signatures gone")]
    for owner, lines in sections(members, 3).items():
        for line in lines:
            found = re.match(r"- (?:member |`)?(\w+)", line)
            if found and found[1] not in WITHOUT_MEANING:
                checked += 1
                wrong += [] if hasattr(surface.resolve(owner), found[1]) else [f"{owner}.{found[1]} is neither there nor explained"]
    return checked, wrong


def main():
    if not FACTS.exists():
        print(f"skipped: no {FACTS}; TENON_API_FACTS names the description of the interface")
        return support.SKIPPED
    text = FACTS.read_text()
    facts, report = facts_of(text), surface.Report()
    surface.check_all(facts, report)
    wrong = report.wrong + same_as_the_table(facts)
    counts = [report.checked]
    for part in (plugin_package, older_names):
        checked, more = part(text)
        counts.append(checked)
        wrong += more
    print("\n".join(wrong))
    print(f"{len(facts.classes)} classes, {len(facts.enums)} enums; facts checked: {counts[0]} of the module, {counts[1]} of tensorrt.plugin, "
          f"{counts[2]} older names; {len(wrong)} wrong")
    enough = len(facts.classes) + len(facts.enums) >= 210 and counts[0] >= 4000 and counts[1] >= 60 and counts[2] >= 80
    return 0 if enough and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
