# SPDX-License-Identifier: Apache-2.0
"""A second reader of captures, written from docs/capture_format.md alone: it reads both files, checks that they hold
together and counts what the player's --list counts."""
import json
import os
import struct

BITS = {"kINT64": 64, "kFLOAT": 32, "kINT32": 32, "kHALF": 16, "kBF16": 16, "kINT8": 8, "kUINT8": 8, "kBOOL": 8,
        "kFP8": 8,
        "kE8M0": 8, "kINT4": 4, "kFP4": 4}


class Damaged(Exception):
    """What does not hold, and where."""


class Network:
    def __init__(self):
        self.name, self.layers, self.inputs, self.outputs, self.weights, self.elements, self.kinds = "", 0, 0, 0, 0, 0, {}


class Reader:
    """The capture in `path` (the JSON file)."""

    def __init__(self, path):
        self.number = 1
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
        self.need(lines[0].endswith('"calls":['), "the first line ends otherwise")
        self.header = json.loads(lines[0] + "]}")
        self.need(self.header["format"] == "tenon-capture" and self.header["version"] == 1, "another format")
        with open(os.path.join(os.path.dirname(path), self.header["bin"]), "rb") as file:
            self.bin = file.read()
        self.need(self.bin[:8] == b"TENONBIN" and struct.unpack("<II", self.bin[8:16]) == (1, 0), "another BIN file")
        self.objects, self.users, self.weights, self.data = set(), {}, {}, {}
        self.networks, self.network_of, self.builds = {}, {}, []
        self.calls = self.data_bytes = self.random = 0
        self.contents = set()
        last = len(lines) - 2 if lines[-1] == "" else len(lines) - 1
        for number, text in enumerate(lines[1:last], 2):
            self.number = number
            self.need(text.endswith(","), "no comma")
            self.take(json.loads(text[:-1]))
        self.number = last + 1
        self.need(lines[last].endswith("]}") and json.loads(lines[last][:-2]) == {"end": last - 1},
                  "the last line is another")

    def need(self, holds, what):
        if not holds:
            raise Damaged(f"line {self.number}: {what}")

    def define(self, number):
        self.need(number not in self.objects, f"object {number} is defined twice")
        self.objects.add(number)

    def take(self, line):
        if "m" in line:
            self.call(line)
        elif "weights" in line:
            self.take_weights(line)
        elif "data" in line:
            self.take_data(line)
        elif "user" in line:
            self.define(line["user"])
            self.users[line["user"]] = line["interface"]
        elif "u" in line:
            self.need(line["f"].split(".")[0] == self.users.get(line["u"]), "an answer of another interface")
            self.data_of(line.get("r"))
        elif "plugin" in line:
            self.define(line["plugin"])
            for fields in (line.get("fields", []), line.get("state", [])):
                self.plugin_state(fields)
        else:
            self.need(False, "a line of no known kind")

    def plugin_state(self, state):
        if isinstance(state, int):
            self.need(state in self.data, "unknown state")
        else:
            for field in state:
                self.need(field["type"].startswith("k") and field["length"] >= 0, "a field without type and length")
                self.data_of(field)

    def take_data(self, line):
        begin, size = line["offset"], line["bytes"]
        self.need(line["data"] not in self.data and begin % 64 == 0 and begin + size <= len(self.bin),
                  "a place outside")
        content = self.bin[begin:begin + size]
        self.need(hash(content) not in self.contents, "a content that is there already")
        self.contents.add(hash(content))
        self.data[line["data"]] = size
        self.data_bytes += size

    def take_weights(self, line):
        bits = line["count"] * BITS[line["type"]]
        if "data" in line:
            self.need(self.data[line["data"]] == (bits + 7) // 8, "weights of another size")
        elif "inline" in line:
            self.need(len(bytes.fromhex(line["inline"])) == (bits + 7) // 8, "inline weights of another size")
        else:
            self.need(line["random"] is True, "weights without values")
            self.random += 1
        self.need(line["weights"] not in self.weights, "weights that are defined twice")
        self.weights[line["weights"]] = line
        network = self.networks.setdefault(line["network"], Network())
        network.weights += 1
        network.elements += line["count"]

    def data_of(self, value):
        if isinstance(value, dict) and "data" in value:
            self.need(value["data"] in self.data, f"data {value['data']} is not defined")
        if isinstance(value, dict) and "w" in value:
            self.need(value["w"] in self.weights, f"weights {value['w']} are not defined")

    def call(self, line):
        name, arguments = line["m"], line["a"]
        self.calls += 1
        self.need("o" not in line or line["o"] in self.objects, f"object {line.get('o')} is not defined")
        for value in arguments + [line.get("r")]:
            self.data_of(value)
        if "new" in line:
            self.define(line["r"])
        if isinstance(line.get("out"), int):
            self.define(line["out"])
        self.count(line, name, arguments)

    def count(self, line, name, arguments):
        if line.get("new") == "INetworkDefinition":
            self.network_of[line["r"]] = line["network"]
            self.networks.setdefault(line["network"], Network())
        elif "build" in line:
            result = "did not end" if "r" not in line else f"{line['engine']['bytes']} bytes" if "engine" in line else \
                "failed" if line["r"] in (None, False) else "an engine"
            self.need(line["build"] == len(self.builds), "a build of another number")
            self.builds.append((self.network_of.get(arguments[0], 0), self.number, result))
        if line.get("o") in self.network_of:
            network = self.networks[self.network_of[line["o"]]]
            network.inputs += name == "INetworkDefinition.addInput"
            network.outputs += name == "INetworkDefinition.markOutput"
            if name == "INetworkDefinition.setName":
                network.name = arguments[0]
        if "Layer" in line.get("new", ""):
            network = self.networks[line["network"]]
            network.layers += 1
            network.kinds[line["new"]] = network.kinds.get(line["new"], 0) + 1

    def listing(self):
        """What the player's --list prints."""
        out = [f'capture of the interface "{self.header["api"]}", library {self.header["library"]}: {self.calls} calls, '
               f"{self.data_bytes} bytes of data, {self.random} weights without values"]
        for number, n in sorted(self.networks.items()):
            if number != 0:
                out.append(f"network {number} '{n.name}': {n.layers} layers, {n.inputs} inputs, {n.outputs} outputs, "
                           f"{n.weights} weights of {n.elements} elements")
                out += [f"  {count:6} {kind}" for kind, count in sorted(n.kinds.items())]
        out += [f"build {i} of network {network} (line {line}): {result}"
                for i, (network, line, result) in enumerate(self.builds)]
        return "\n".join(out) + "\n"
