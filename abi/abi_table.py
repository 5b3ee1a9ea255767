# SPDX-License-Identifier: Apache-2.0
"""The table of the binary interface, and how its entries are spelled in C++."""
import json
import os
import re

LAYOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layout-10.16.json")


class Function:
    """One function of a class, as a row of the table describes it."""

    def __init__(self, owner, row):
        self.owner = owner
        self.name, self.returns, self.parameters, self.qualifiers, self.extra = row
        self.returns = spelled(self.returns)
        self.parameters = [spelled(p) for p in self.parameters]
        self.slot = self.extra.get("slot")
        self.is_const = self.qualifiers.startswith("const")
        self.is_noexcept = self.qualifiers.endswith("noexcept")

    def key(self):
        plain = tuple(re.sub(r"(^const | const$)", "", p) if not re.search(r"[*&]$", p) else p for p in self.parameters)
        return self.name, plain, self.is_const

    def declared(self, names):
        return ", ".join(f"{p} {n}" for p, n in zip(self.parameters, names))

    def made(self, count=None):
        return ", ".join(f"make<{p}>({i + 1})" for i, p in enumerate(self.parameters[:count]))

    def tokens(self, count=None):
        return [f"token<{p}>(make<{p}>({i + 1}))" for i, p in enumerate(self.parameters[:count])]

    def text(self):
        return f"{self.owner}::{self.name}({', '.join(self.parameters)}) {self.qualifiers}".strip()


def spelled(kind):
    """A type of the table as a parameter is declared with it."""
    kind = re.sub(r"(?<![\w:])apiv::", "nvinfer1::apiv::", kind)
    match = re.fullmatch(r"(.*)\[\]", kind)
    return match.group(1) + "*" if match else kind


def identifier(name):
    return re.sub(r"\W+", "_", name)


class Table:
    """The whole table, with the questions that the probes ask."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.data = json.load(file)
        self.classes = self.data["classes"]

    def functions(self, name):
        return [Function(name, row) for row in self.classes[name].get("functions", [])]

    def chain(self, name):
        """The class and its bases, the most basic first."""
        bases = self.classes[name].get("bases", [])
        return (self.chain(bases[0]) if bases else []) + [name]

    def unimplemented(self, name):
        """The functions that are still pure in the class."""
        pending = {}
        for owner in self.chain(name):
            for function in self.functions(owner):
                if function.extra.get("pure"):
                    pending[function.key()] = function
                else:
                    pending.pop(function.key(), None)
        return list(pending.values())

    def hidden_pointers(self, name):
        """(member, class of the implementation) for each pointer of an object to its implementation."""
        found = []
        for owner in self.chain(name):
            for field, kind, _, _ in self.classes[owner].get("fields", []):
                if field in ("mImpl", "mLayer", "mBoundary"):
                    target = spelled(kind).rstrip("*")
                    found.append((owner, field, target))
        return found

    def only(self, names):
        """Drops all but the given enumerations and classes, and what these classes need."""
        self.data["enums"] = {n: e for n, e in self.data["enums"].items() if n in names}
        for section in ("aliases", "macros", "constants"):
            self.data[section] = {n: v for n, v in self.data[section].items() if n in names}
        wanted = set()
        todo = [n for n in names if n in self.classes]
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += self.classes[name].get("bases", []) + [t for _, _, t in self.hidden_pointers(name)]
        self.classes = self.data["classes"] = {n: c for n, c in self.classes.items() if n in wanted}
