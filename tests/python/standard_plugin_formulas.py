# SPDX-License-Identifier: Apache-2.0
"""The standard plugins against their formulas in numpy: every creator that the library registers, in FP32 and in FP16.

    PYTHONPATH=build/release/python LD_LIBRARY_PATH=build/release/lib python tests/python/standard_plugin_formulas.py [part of a name]

TENON_TEST_DEVICE=cuda computes on a GPU; with --jobs N in N processes, each of which starts the GPU once. TENON_UPDATE_DOCS=1 writes the
formulas and their sources into docs/plugins.md.
"""
import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import traceback

import support

support.need_numpy()
os.environ["TENON_DEVICE"] = os.environ.get("TENON_TEST_DEVICE", "cpu")
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
from formulas import table  # noqa: E402  pylint: disable=wrong-import-position

for file in sorted((pathlib.Path(__file__).parent / "formulas").glob("[a-z]*.py")):
    importlib.import_module(f"formulas.{file.stem}")

PAGE = support.ROOT / "docs/plugins.md"
BEGIN, END = "<!-- formulas: written by tests/python/standard_plugin_formulas.py -->\n", "<!-- end of formulas -->\n"
# Why a registered creator has no formula.
WITHOUT = {("Split", "1"): "its creator only reads engines of TensorRT"}
HALF_TOLERANCE = 4e-3  # some roundings of FP16, one after the other
TYPES = {"float32": trt.float32, "float16": trt.float16, "int8": trt.int8, "int32": trt.int32, "int64": trt.int64}
FIELDS = {"float32": trt.PluginFieldType.FLOAT32, "int32": trt.PluginFieldType.INT32}


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = ""

    def log(self, severity, msg):
        if int(severity) <= int(trt.ILogger.ERROR):
            self.errors += msg + "\n"


LOG = Log()


def creators():
    """All that the library registers, by (name, version)."""
    assert trt.init_libnvinfer_plugins(LOG, "")
    return {(creator.name, creator.plugin_version): creator for creator in trt.get_plugin_registry().all_creators}


def field_of(name, value):
    """A field and the memory that it points to."""
    if isinstance(value, str):
        return trt.PluginField(name, value.encode(), trt.PluginFieldType.CHAR), value
    if not isinstance(value, np.ndarray):
        value = np.array([value], np.float32 if isinstance(value, float) else np.int32)
    return trt.PluginField(name, value, FIELDS[value.dtype.name]), value


def plugin_of(creator, fields):
    kept = [field_of(name, value) for name, value in fields.items()]
    collection = trt.PluginFieldCollection([field for field, _ in kept])
    if isinstance(creator, trt.IPluginCreatorV3One):
        return creator.create_plugin("the plugin", collection, trt.TensorRTPhase.BUILD)
    return creator.create_plugin("the plugin", collection)


def operands(case, halves):
    wide = np.float16 if halves else np.float32
    return [np.ascontiguousarray(x.astype(wide) if x.dtype == np.float64 else x) for x in case.inputs]


def plan_of(creator, case, arrays, halves):
    """The serialized engine of the plugin alone; None where it is refused."""
    builder = trt.Builder(LOG)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED) if halves else 0)
    tensors = [network.add_input(f"x{i}", TYPES[x.dtype.name], x.shape) for i, x in enumerate(arrays)]
    plugin = plugin_of(creator, case.fields)
    assert plugin is not None, LOG.errors
    if isinstance(creator, trt.IPluginCreatorV3One):
        layer = network.add_plugin_v3(tensors, [], plugin)
    else:
        layer = network.add_plugin_v2(tensors, plugin)
    assert layer is not None and layer.num_outputs == len(case.expected), (LOG.errors, layer and layer.num_outputs)
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    config.clear_flag(trt.BuilderFlag.TF32)  # which rounds the operands of products on GPUs
    return builder.build_serialized_network(network, config)


def compare(got, expected, case, halves, what):
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    if expected.dtype.kind == "i":
        assert got.dtype == expected.dtype, f"{what}: type {got.dtype}, expected {expected.dtype}"
        np.testing.assert_array_equal(got, expected, what)
        return
    if expected.dtype == np.float32:  # bits
        np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32), what)
        return
    tolerance = max(case.tolerance, HALF_TOLERANCE if halves and case.tolerance > 0 else 0)
    scale = 1.0 if case.absolute else np.maximum(1.0, np.abs(expected))
    error = np.abs(got.astype(np.float64) - expected) / scale
    worst = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape) if error.size else ()
    assert not error.size or error[worst] <= tolerance, (
        f"{what}: element {tuple(int(i) for i in worst)} is {got[worst]}, expected {expected[worst]} (tolerance {tolerance})")


def check(key, halves):
    creator, entry = creators()[key], table.FORMULAS[key]
    cases, _ = table.cases_of(entry, key[1], halves)
    for number, case in enumerate(cases):
        arrays = operands(case, halves)
        plan = plan_of(creator, case, arrays, halves)
        assert plan is not None, LOG.errors
        got = trt.Runner(bytes(plan), logger=LOG)(**{f"x{i}": x for i, x in enumerate(arrays)})
        for i, expected in enumerate(case.expected):
            if expected is not None:
                compare(got[f"y{i}"], expected, case, halves, f"{' '.join(key)}, case {number}, output {i}")
    assert LOG.errors == "", LOG.errors


def check_refused(key):
    """What takes FP32 alone says so of FP16."""
    case = table.cases_of(table.FORMULAS[key], key[1], False)[0][0]
    arrays = operands(case, True)
    if not arrays:
        return
    assert plan_of(creators()[key], case, arrays, True) is None and key[0] in LOG.errors, LOG.errors


def documented():
    """The table of the page."""
    rows = {}
    for entry in table.FORMULAS.values():
        rows[entry.name] = f"| `{entry.name}` | {', '.join(entry.versions)} | {entry.text} | {entry.source} |\n"
    return "| name | versions | formula | source |\n| --- | --- | --- | --- |\n" + "".join(rows[name] for name in sorted(rows, key=str.lower))


def test_every_creator_has_a_formula_and_a_source():
    registered, known = set(creators()), set(table.FORMULAS) | set(WITHOUT)
    assert registered == known, f"without a formula: {sorted(registered - known)}; not registered: {sorted(known - registered)}"
    assert len(registered) == 75 and len({name for name, _ in registered}) == 49
    for entry in table.FORMULAS.values():
        assert entry.text and entry.source, entry


def test_the_page_has_formulas_and_sources():
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if os.environ.get("TENON_UPDATE_DOCS"):
        PAGE.write_text(text[:begin] + documented() + text[end:], encoding="utf-8")
        return
    assert text[begin:end] == documented(), f"{PAGE} is not current: run {__file__} with TENON_UPDATE_DOCS=1"


def case_functions():
    """A test for each formula and precision."""
    def named(key, halves):
        return f"{key[0]}_{key[1]}_{'fp16' if halves else 'fp32'}"

    result = support.cases_of(globals())
    for key in sorted(table.FORMULAS):
        result[named(key, False)] = lambda key=key: check(key, False)
        halves = table.FORMULAS[key].halves
        result[named(key, True)] = (lambda key=key: check(key, True)) if halves else (lambda key=key: check_refused(key))
    return result


def run_share(cases, share):
    """Each n-th case from the i-th on, for share = "i/n", all in this process."""
    first, step = map(int, share.split("/"))
    failed = 0
    for name in list(cases)[first::step]:
        LOG.errors = ""
        try:
            cases[name]()
            print("passed ", name, flush=True)
        except BaseException:  # pylint: disable=broad-except
            failed += 1
            print("failed ", name, traceback.format_exc().strip(), flush=True)
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="parts of names of tests; all by default")
    parser.add_argument("--jobs", type=int, help="processes that share the tests; by default each test has its own, one after the other")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = {name: case for name, case in case_functions().items() if not options.parts or any(part in name for part in options.parts)}
    if options.share:
        return run_share(cases, options.share)
    if not options.jobs:
        return support.run_all(cases)
    command = [sys.executable, __file__, *options.parts, "--share"]
    running = [subprocess.Popen([*command, f"{i}/{options.jobs}"]) for i in range(options.jobs)]
    statuses = [process.wait() for process in running]
    print(f"{len(cases)} tests in {options.jobs} processes, which ended with {statuses}")
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
