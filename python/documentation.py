# SPDX-License-Identifier: Apache-2.0
"""What the public headers say of classes and functions, in the words of Python: the docstrings of the module."""
import pathlib
import re

import surface

OWN = pathlib.Path(__file__).resolve().parent / "api/texts.txt"
INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
HEADERS = ("NvInferRuntimeBase.h", "NvInferPluginBase.h", "NvInferRuntimeCommon.h", "NvInferRuntimePlugin.h", "NvInferRuntime.h",
           "NvInfer.h", "NvOnnxParser.h", "impl/NvInferPythonPlugin.h")
WORDS = {"nullptr": "None", "true": "True", "false": "False", "DimsExprs": "DimsExprs"}


def guesses(name):
    """What a function or property without a function in the table is called in C++."""
    words = name.split("_")
    camel = words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])
    return [camel, f"get{camel[:1].upper()}{camel[1:]}", camel.replace("num", "getNb", 1) if camel.startswith("num") else camel]


def own_texts():
    """Texts of members that are Python's own, by their names."""
    rows = (line.split(": ", 1) for line in OWN.read_text().splitlines() if line and not line.startswith("#"))
    return {name: text for name, text in rows}


class Documentation:
    """Texts by C++ class and function; `members` maps names of C++ functions to Python's, to speak of those."""

    def __init__(self, members, classes):
        self.members, self.classes = members, classes
        self.of_class, self.of_function, self.of_enum, self.own = {}, {}, {}, own_texts()
        for name in HEADERS:
            text = (INCLUDE / name).read_text()
            self.read(text)
            self.read_enums(text)

    def read(self, text):
        owner, comment = None, []
        for line in text.splitlines():
            words = line.strip()
            if words.startswith("//!"):
                comment.append(words[3:].strip())
                continue
            found = re.match(r"(?:class|struct)\s+(?:TRT_DEPRECATED )?(\w+)[^;]*\{", line)
            function = re.match(r"\s{2}(?:TRT_DEPRECATED )?(?:virtual )?[\w:<>,&* ]+?[&* ](\w+)\(", line)
            if found:
                owner = found.group(1)
                self.of_class.setdefault(owner, self.plain(comment))
            elif function and comment and owner:
                text = self.plain(comment)
                if not text.startswith("The same"):
                    self.of_function.setdefault((owner, function.group(1)), text)
            comment = []

    def read_enums(self, text):
        """Texts of enums, and of their values by (enum, value); `//!<` follows a value, in its line or in the next one."""
        enum, value, comment = None, None, []
        for line in map(str.strip, text.splitlines()):
            code, _, behind = line.partition("//!<")
            begins = re.match(r"enum class (?:TRT_\w+ )?(\w+)[^;]*\{", code)
            found = re.match(r"k(\w+)", code)
            if begins:
                enum = begins.group(1)
                self.of_enum.setdefault((enum, ""), self.plain(comment))
            elif enum and line.startswith("};"):
                enum = None
            elif enum and found:
                value = found.group(1)
                self.of_enum.setdefault((enum, value), behind.strip() or self.plain(comment))
            elif enum and behind and not self.of_enum[enum, value]:
                self.of_enum[enum, value] = behind.strip()
            comment = [*comment, line[3:].strip()] if line.startswith("//!") and not line.startswith("//!<") else []

    def enum(self, entry, value=""):
        """What an enum of the table is, or one of its values."""
        text = self.own.get(f"{entry.name}.{value}") or self.of_enum.get((entry.cpp.rsplit("::")[-1], value), "")
        return self.translated(text)

    def entry(self, entry):
        """What a class of the table is."""
        return self.own.get(entry.name) or self.translated(self.of_class.get(surface.plain(entry.cpp).rsplit("::")[-1], ""))

    @staticmethod
    def plain(comment):
        return " ".join(line for line in comment if not line.startswith("\\")).strip()

    def translated(self, text):
        """kNAME -> NAME, getName() -> name, IBuilder -> Builder, nullptr -> None."""
        def call(found):
            owner, name = found.group(1) or "", found.group(2)
            member = self.members.get(name)
            if not member:
                return found.group(0)
            owner = owner.removesuffix("::")
            return (f"{self.classes.get(owner, owner)}." if owner else "") + member
        text = re.sub(r"(\w+::)?(\w+)\(\)", call, text)
        text = re.sub(r"\b(\w+)::k([A-Z]\w*)", r"\1.\2", text)
        text = re.sub(r"\bk([A-Z][A-Z0-9_]+)\b", r"\1", text)
        text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: self.classes.get(m.group(0), WORDS.get(m.group(0), m.group(0))), text)
        return text

    def function(self, owner, name):
        return self.translated(self.of_function.get((owner, name), ""))

    def property(self, owner, getter, setter):
        """What the getter says; where that is only what was set, what the setter says of it."""
        text = self.of_function.get((owner, getter), "")
        if setter and (not text or text.startswith("The value given to")):
            text = self.of_function.get((owner, setter), "")
            found = re.match(r"Sets (the |how |where |which |whether |what |a )?", text)
            if found:
                rest = text[5:]
                text = rest[:1].upper() + rest[1:]
        return self.translated(text)


def of(table):
    """The texts for the classes and enums of the table."""
    classes = table.classes.values()
    members = {f: m.name for e in classes for m in e.members for f in m.functions}
    names = {surface.plain(e.cpp): e.name for e in classes}
    return Documentation(members, {c: n for c, n in names.items() if c.startswith("I") and c != n})
