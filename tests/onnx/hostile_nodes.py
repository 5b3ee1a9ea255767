#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's own node tests with one thing wrong at a time, through the parser: each is read or refused for a reason.

    LD_LIBRARY_PATH=build/release/lib python tests/onnx/hostile_nodes.py [--only PART] [--every N]      # packages: node_tests.py

Of each attribute: another type, no value, the least and the greatest integer, -1000 for an axis, a list that is empty or longer; of
each input: left out, of another name, of another rank, of another type, without elements; of constants: too few bytes; a graph
without nodes, an output without a name. A crash is an error; so is an attribute of the wrong type, an input that nobody makes, a
constant with too few bytes or a graph without nodes that is accepted, and a refusal without a word or with words of C++.
"""
import argparse
import subprocess
import sys

from node_tests import node_cases, as_array, frozen

INT_MIN, INT_MAX = -2 ** 63, 2 ** 63 - 1
UNREAD = {"seed"}  # a generator's own, where nothing is drawn
OF_CPP = ("vector::", "std::", "basic_string", "bad_alloc", "map::at")


def changed_attribute(attribute, onnx):
    """(what, attribute) of each way in which it may be wrong."""
    kinds = onnx.AttributeProto
    make = onnx.helper.make_attribute
    other = {kinds.INT: 1.5, kinds.FLOAT: "text", kinds.STRING: 7, kinds.INTS: 0.5, kinds.FLOATS: [1, 2], kinds.STRINGS: 3,
             kinds.GRAPH: 4, kinds.TENSOR: "text"}
    if attribute.type in other:
        yield "wrong type", make(attribute.name, other[attribute.type])
    empty = kinds()
    empty.name, empty.type = attribute.name, attribute.type
    yield "no value", empty
    if attribute.type == kinds.INT:
        for value in (INT_MIN, INT_MAX, -1000):
            yield f"= {value}", make(attribute.name, value)
    if attribute.type == kinds.INTS:
        for values in ([], list(attribute.ints) + [1, 1], [INT_MAX] * len(attribute.ints), [-1000] * len(attribute.ints)):
            yield f"= {values}", make(attribute.name, values, attr_type=kinds.INTS)
    if attribute.type == kinds.STRING:
        yield "= nonsense", make(attribute.name, "nonsense")


def mutants(case, onnx, numpy):
    """(what, model, whether it must be refused)"""
    def copy():
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        return model

    node = case.model.graph.node[0] if case.model.graph.node else None
    for i, attribute in enumerate(node.attribute if node else ()):
        for what, changed in changed_attribute(attribute, onnx):
            model = copy()
            model.graph.node[0].attribute[i].CopyFrom(changed)
            yield f"attribute {attribute.name} {what}", model, what == "wrong type" and attribute.name not in UNREAD
    for i in range(len(node.input) if node else 0):
        model = copy()
        model.graph.node[0].input[i] = ""
        yield f"input {i} left out", model, False
        model = copy()
        model.graph.node[0].input[i] = "nobody"
        yield f"input {i} that nobody makes", model, True
    for i in range(len(case.model.graph.input)):
        model = copy()
        model.graph.input[i].type.tensor_type.shape.dim.add().dim_value = 3
        yield f"input {i} of another rank", model, False
        model = copy()
        kind = model.graph.input[i].type.tensor_type
        kind.elem_type = 9 if kind.elem_type != 9 else 1
        yield f"input {i} of another type", model, False
        model = copy()
        for dim in model.graph.input[i].type.tensor_type.shape.dim:
            dim.dim_value = 0
        yield f"input {i} without elements", model, False
    inputs = case.data_sets[0][0]
    feeds = {i.name: as_array(v) for i, v in zip(case.model.graph.input, inputs)}
    constants = frozen(case.model, feeds, list(case.model.graph.input)[:1])
    for i in range(len(constants.graph.initializer) if constants else 0):
        model = onnx.ModelProto()
        model.CopyFrom(constants)
        tensor = model.graph.initializer[i]
        if len(tensor.raw_data) > 1:
            tensor.raw_data = tensor.raw_data[:-1]
            yield f"constant {tensor.name} with too few bytes", model, True
    model = copy()
    del model.graph.node[:]
    yield "no nodes", model, bool(node)
    if node and len(node.output):
        model = copy()
        model.graph.node[0].output[0] = ""
        yield "an output without a name", model, False


def worker():
    """Answers lines for each number of a test; a crash ends it."""
    import pathlib
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "compat"))
    import numpy
    import onnx
    import support
    trt = support.trt
    trt.init_libnvinfer_plugins(support.LOGGER, "")
    cases = node_cases()
    for line in sys.stdin:
        case = cases[int(line)]
        count = 0
        for what, model, must in mutants(case, onnx, numpy):
            print(f"trying {case.name}: {what}", flush=True)
            support.LOGGER.messages.clear()
            network = trt.Builder(support.LOGGER).create_network(0)
            parser = trt.OnnxParser(network, support.LOGGER)
            good = parser.parse(model.SerializeToString())
            said = " | ".join(parser.get_error(i).desc() for i in range(parser.num_errors))
            count += 1
            if good and must:
                print(f"finding {case.name}: {what}: accepted", flush=True)
            elif not good and not said:
                print(f"finding {case.name}: {what}: refused without a word", flush=True)
            elif any(word in said for word in OF_CPP):
                print(f"finding {case.name}: {what}: {said[:200]}", flush=True)
        print(f"answer {count}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the tests' names")
    parser.add_argument("--every", type=int, default=1, help="each Nth test")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    cases = node_cases()
    numbers = [i for i, c in enumerate(cases) if options.only in c.name and "_expanded" not in c.name][::options.every]

    def start():
        return subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
    process, tried, findings = start(), 0, 0
    for number in numbers:
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
        last = ""
        for line in process.stdout:
            if line.startswith("answer "):
                tried += int(line[7:])
                last = "answer"
                break
            if line.startswith("finding "):
                print(line[8:].strip(), flush=True)
                findings += 1
            if line.startswith("trying "):
                last = line[7:].strip()
        if last != "answer":
            print(f"{last}: CRASHED with {process.wait()}", flush=True)
            findings += 1
            process = start()
    process.stdin.close()
    process.wait()
    print(f"{tried} models, {findings} findings")
    return 1 if findings or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
