# SPDX-License-Identifier: Apache-2.0
"""Plugins written in Python: other processes, missing creators, exceptions of each function, who keeps whom, threads, memory."""
import gc
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import Tuple

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
from tensorrt._runner import _Cuda  # noqa: E402  pylint: disable=wrong-import-position

CUDA = _Cuda()
X = np.arange(6, dtype=np.float32).reshape(2, 3)
X2 = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
ALIVE = weakref.WeakSet()


class Oops(Exception):
    pass


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if int(severity) <= int(trt.ILogger.ERROR):
            self.errors.append(msg)


class Settings:
    """What a plugin does otherwise in a test."""
    raises = None   # the name of the function that raises
    answers = {}    # functions that answer something else


def told(function):
    """Marks a function of a plugin: it raises, or answers otherwise, where the settings say so."""
    def called(self, *arguments):
        if Settings.raises == function.__name__:
            raise Oops(function.__name__)
        if function.__name__ in Settings.answers:
            return Settings.answers[function.__name__]
        return function(self, *arguments)
    called.__name__ = function.__name__
    return called


class Shift(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, amount):
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace, self.num_outputs = "Shift", "1", "", 1
        self.amount = np.float32(amount)
        ALIVE.add(self)

    @told
    def get_capability_interface(self, kind):
        return self

    @told
    def clone(self):
        return Shift(self.amount)

    @told
    def get_output_data_types(self, input_types):
        return [input_types[0]]

    @told
    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    @told
    def configure_plugin(self, inputs, outputs):
        pass

    @told
    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    @told
    def get_workspace_size(self, inputs, outputs):
        return 16

    @told
    def get_valid_tactics(self):
        return [3]

    @told
    def set_tactic(self, tactic):
        pass

    @told
    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("amount", self.amount, trt.PluginFieldType.FLOAT32)])

    @told
    def attach_to_context(self, context):
        return Shift(self.amount)

    @told
    def on_shape_change(self, inputs, outputs):
        pass

    @told
    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        CUDA.wait(stream)
        array = np.empty(tuple(input_desc[0].dims), np.float32)
        CUDA.copy(array.ctypes.data, inputs[0], array.nbytes)
        array += self.amount
        CUDA.copy(outputs[0], array.ctypes.data, array.nbytes)


class ShiftCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Shift", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("amount", None, trt.PluginFieldType.FLOAT32)])

    @told
    def create_plugin(self, name, field_collection, phase):
        return Shift(field_collection[0].data[0])


class OldShift(trt.IPluginV2DynamicExt):
    def __init__(self, amount):
        trt.IPluginV2DynamicExt.__init__(self)
        self.plugin_type, self.plugin_version, self.plugin_namespace, self.num_outputs = "OldShift", "1", "", 1
        self.amount = np.float32(amount)
        ALIVE.add(self)

    @told
    def clone(self):
        return OldShift(self.amount)

    @told
    def initialize(self):
        return 0

    @told
    def get_output_datatype(self, index, input_types):
        return input_types[0]

    @told
    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    @told
    def configure_plugin(self, inputs, outputs):
        pass

    @told
    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR

    @told
    def get_workspace_size(self, inputs, outputs):
        return 0

    @told
    def serialize(self):
        return self.amount.tobytes()

    enqueue = Shift.enqueue


class OldShiftCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "OldShift", "1", ""
        self.field_names = trt.PluginFieldCollection([])

    @told
    def deserialize_plugin(self, name, data):
        return OldShift(np.frombuffer(data, np.float32)[0])


def register():
    creators = [ShiftCreator(), OldShiftCreator()]
    for creator in creators:
        assert trt.get_plugin_registry().register_creator(creator)


def network_of(logger, plugin):
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, X.shape)
    add = network.add_plugin_v3 if isinstance(plugin, trt.IPluginV3) else None
    layer = add([x], [], plugin) if add else network.add_plugin_v2([x], plugin)
    if layer is None:
        return builder, None
    layer.name = "the layer"
    output = layer.get_output(0)
    output.name = "y"
    network.mark_output(output)
    return builder, network


def plan_with(logger, plugin):
    builder, network = network_of(logger, plugin)
    return network and support.plan_of(trt, builder, network)


def run(engine, x=X):
    return trt.Runner(engine)(x=x)["y"]


PLUGINS = {"v3": lambda: Shift(2.5), "v2": lambda: OldShift(2.5)}


def test_save_and_load_in_another_process():
    register()
    for kind, make in PLUGINS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/engine"
            with open(path, "wb") as file:
                file.write(plan_with(trt.Logger(trt.Logger.ERROR), make()))
            code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import plugins; plugins.register()\n"
                    f"print(plugins.run(open({path!r}, 'rb').read()).tolist())")
            done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
            assert done.stdout.strip() == str((X + np.float32(2.5)).tolist()), (kind, done.stdout, done.stderr)


def test_missing_creator_is_named():
    register()
    for kind, make in PLUGINS.items():
        plan = plan_with(trt.Logger(trt.Logger.ERROR), make())
        name = {"v3": "Shift", "v2": "OldShift"}[kind]
        registry = trt.get_plugin_registry()
        assert registry.deregister_creator(registry.get_creator(name, "1"))
        logger = Logger()
        assert trt.Runtime(logger).deserialize_cuda_engine(plan) is None
        text = " ".join(logger.errors)
        for part in ("layer 'the layer'", f"plugin '{name}'", "version '1'", "registerCreator"):
            assert part in text, (part, text)


# What the library says where a function raised, besides the exception itself; None: the library works without the answer.
NAMED = {
    "v3": {"clone": "clone", "get_capability_interface": "getCapabilityInterface", "get_output_data_types": "getOutputDataTypes",
           "get_output_shapes": "getOutputShapes", "configure_plugin": "configurePlugin",
           "supports_format_combination": "supports none", "get_valid_tactics": "getNbTactics", "set_tactic": "setTactic",
           "get_fields_to_serialize": "getFieldsToSerialize", "get_workspace_size": None},
    "v2": {"clone": "clone", "get_output_datatype": "type", "get_output_dimensions": "output 0", "configure_plugin": None,
           "supports_format_combination": "supports none", "initialize": "initialize", "serialize": None,
           "get_workspace_size": None},
}


def outcome(function):
    """(result, exception that arrived) of a call; what went to sys.unraisablehook counts as arrived."""
    caught = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
    try:
        return function(), caught[0] if caught else None
    except Oops as error:
        return None, error
    finally:
        sys.unraisablehook = hook


def test_exceptions_while_building():
    register()
    for kind, functions in NAMED.items():
        for name, text in functions.items():
            logger = Logger()
            Settings.raises = name
            plan, error = outcome(lambda make=PLUGINS[kind], log=logger: plan_with(log, make()))
            Settings.raises = None
            assert isinstance(error, Oops) and str(error) == name, (kind, name, error)
            assert plan is None or text is None, (kind, name)
            said = " ".join(logger.errors)
            if text:
                assert text in said, (kind, name, said)
                if name not in ("clone", "get_capability_interface"):
                    assert "the layer" in said or "(Unnamed" in said or "PLUGIN" in said.upper(), (kind, name, said)


def test_exceptions_while_running():
    register()
    for kind, name in (("v3", "create_plugin"), ("v3", "attach_to_context"), ("v3", "on_shape_change"), ("v3", "enqueue"),
                       ("v3", "set_tactic"), ("v2", "deserialize_plugin"), ("v2", "initialize"), ("v2", "clone"), ("v2", "enqueue")):
        plan = plan_with(trt.Logger(trt.Logger.ERROR), PLUGINS[kind]())
        logger = Logger()
        Settings.raises = name

        def work():
            engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
            return None if engine is None else run(engine)  # pylint: disable=cell-var-from-loop

        caught = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
        try:
            work()
        except Oops as error:
            caught.append(error)
        except Exception:  # pylint: disable=broad-except
            pass  # what the runner says of a call that failed
        finally:
            sys.unraisablehook, Settings.raises = hook, None
        assert any(isinstance(error, Oops) and str(error) == name for error in caught), (kind, name, caught, logger.errors)
        assert any("the layer" in text for text in logger.errors), (kind, name, logger.errors)


def test_wrong_answers_are_named():
    register()
    wrong = {"get_output_data_types": [[], 3, None, ["float"]], "get_output_shapes": [[], [None], [3], "ab"],
             "supports_format_combination": [None, "yes"], "get_valid_tactics": [[0], [1, 1], "a", 3], "get_workspace_size": ["much", -1],
             "clone": [None, 3], "get_capability_interface": [None, 3, trt.IPluginV3OneCore()], "set_tactic": ["x", 7],
             "get_fields_to_serialize": [3, [1], ["a"]], "configure_plugin": [9, "x"]}
    for name, answers in wrong.items():
        for answer in answers:
            logger = Logger()
            Settings.answers = {name: answer}
            caught = []
            hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
            try:
                plan = plan_with(logger, Shift(1))
            except (TypeError, ValueError, RuntimeError, AttributeError) as error:
                plan = None
                caught.append(error)
            finally:
                sys.unraisablehook = hook
                Settings.answers = {}
            assert plan is None and (caught or logger.errors) or name == "get_workspace_size" and caught, (name, answer, caught, logger.errors)


def test_expressions_do_not_outlive_their_question():
    kept = []

    class Keeper(Shift):
        def clone(self):
            return Keeper(self.amount)

        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            kept.extend([inputs[0][0], expr_builder])
            return [trt.DimsExprs(inputs[0])]

    plan_with(trt.Logger(trt.Logger.ERROR), Keeper(1))
    for use in (kept[0].is_constant, lambda: kept[1].constant(1)):
        try:
            use()
        except ValueError as error:
            assert "after the function" in str(error), error
        else:
            raise AssertionError("an expression that is gone can be used")


def test_a_class_that_lacks_a_function():
    class Bare(trt.IPluginV3):
        def __init__(self):
            trt.IPluginV3.__init__(self)

    network = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR)).create_network()
    x = network.add_input("x", trt.float32, (1,))
    try:
        network.add_plugin_v3([x], [], Bare())
    except TypeError as error:
        assert "Bare does not define clone()" in str(error), error
    else:
        raise AssertionError("a plugin without functions is taken")


def test_objects_go_with_what_used_them():
    register()
    for make in PLUGINS.values():
        plugin = make()
        builder, network = network_of(trt.Logger(trt.Logger.ERROR), plugin)
        layer = network.get_layer(0)
        assert type(layer.plugin) is type(plugin) and layer.plugin is not plugin and layer.plugin is layer.plugin
        plan = support.plan_of(trt, builder, network)
        gc.collect()
        assert len(ALIVE) == 2, "the program's and the network's"
        del plugin, layer, builder, network
        gc.collect()
        assert not ALIVE, list(ALIVE)
        engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)
        assert len(ALIVE) == 1
        assert np.array_equal(run(engine), X + np.float32(2.5))
        del engine
        gc.collect()
        assert not ALIVE, list(ALIVE)


def test_destroy_and_terminate_are_called():
    calls = []

    class Told(OldShift):
        def clone(self):
            return Told(self.amount)

        def initialize(self):
            calls.append("initialize")

        def terminate(self):
            calls.append("terminate")

        def destroy(self):
            calls.append("destroy")

    plan_with(trt.Logger(trt.Logger.ERROR), Told(1))
    gc.collect()
    assert calls.count("initialize") == calls.count("terminate") > 0 and calls.count("destroy") > calls.count("terminate"), calls


def test_two_hundred_builds_leave_nothing():
    register()
    logger = trt.Logger(trt.Logger.ERROR)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    def builds(count):
        for place in range(count):
            engine = trt.Runtime(logger).deserialize_cuda_engine(plan_with(logger, list(PLUGINS.values())[place % 2]()))
            assert np.array_equal(run(engine), X + np.float32(2.5))

    builds(20)
    gc.collect()
    before = resident()
    builds(200)
    gc.collect()
    grown = resident() - before
    assert not ALIVE and grown < 4 << 20, f"{grown} bytes more after 200 builds"


def test_threads():
    register()
    plan = plan_with(trt.Logger(trt.Logger.ERROR), Shift(2.5))
    engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)
    wrong = []

    def work(number):
        runner = trt.Runner(engine)
        for step in range(20):
            x = X + number + step
            if not np.array_equal(runner(x=x)["y"], x + np.float32(2.5)):
                wrong.append((number, step))
            if step % 7 == 0 and plan_with(trt.Logger(trt.Logger.ERROR), OldShift(number)) is None:
                wrong.append("build")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_a_process_may_end_with_everything_alive():
    code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import plugins; plugins.register()\n"
            "import tensorrt as trt\n"
            "log = trt.Logger(trt.Logger.ERROR); plugin = plugins.Shift(1); old = plugins.OldShift(1)\n"
            "kept = plugins.network_of(log, plugin), plugins.network_of(log, old)\n"
            "engine = trt.Runtime(log).deserialize_cuda_engine(plugins.plan_with(log, plugin)); runner = trt.Runner(engine)\n"
            "runner(x=plugins.X); print('end')")
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "end", (done.returncode, done.stdout, done.stderr)


def test_creators_live_in_the_registry():
    creator = ShiftCreator()
    gone = weakref.ref(creator)
    registry = trt.get_plugin_registry()
    assert registry.register_creator(creator) and registry.get_creator("Shift", "1") is creator
    del creator
    gc.collect()
    assert gone() is not None, "the registry keeps it"
    assert registry.deregister_creator(registry.get_creator("Shift", "1"))
    gc.collect()
    assert gone() is None


def test_deserializing_by_hand():
    """What a creator makes, called from Python as the library would call it."""
    creator = ShiftCreator()
    plugin = trt.IPluginCreatorV3One.create_plugin(
        creator, "name", trt.PluginFieldCollection([trt.PluginField("amount", np.float32(4), trt.PluginFieldType.FLOAT32)]),
        trt.TensorRTPhase.RUNTIME)
    assert isinstance(plugin, Shift) and plugin.amount == 4


def test_quick_plugins_refuse_by_name():
    import tensorrt.plugin as trtp  # pylint: disable=import-outside-toplevel

    def expect(kind, part, function):
        try:
            function()
        except kind as error:
            assert part in str(error), error
            return
        raise AssertionError(f"no {kind.__name__} with '{part}'")

    expect(ValueError, "expected 'namespace::name'", lambda: trtp.register("name"))

    @trtp.register("python_tests::twice")
    def twice(x: trtp.TensorDesc, factor: int = 2) -> trtp.TensorDesc:
        return x.like()

    expect(ValueError, "registered already", lambda: trtp.register("python_tests::twice")(twice))
    expect(ValueError, "no such plugin", lambda: trtp.impl("python_tests::other"))
    network = trt.Builder(trt.Logger(trt.Logger.ERROR)).create_network()
    x = network.add_input("x", trt.float32, (4,))
    expect(NotImplementedError, "no impl is defined", lambda: network.add_plugin(trtp.op.python_tests.twice(x)))

    @trtp.impl("python_tests::twice")
    def compute(x: trtp.Tensor, factor: int, outputs, stream: int):
        raise Oops("compute")

    expect(ValueError, "aot=False", lambda: network.add_plugin(trtp.op.python_tests.twice(x), aot=True))
    expect(TypeError, "unknown attributes ['speed']", lambda: trtp.op.python_tests.twice(x, speed=1))
    expect(TypeError, "expected int", lambda: trtp.op.python_tests.twice(x, factor=1.5))
    expect(AttributeError, "no plugin python_tests::thrice", lambda: trtp.op.python_tests.thrice)
    expect(ValueError, "does not take 'outputs'", lambda: trtp.autotune("python_tests::twice")(lambda x, factor: []))
    expect(ValueError, "'FP33' is no type", lambda: trtp.AutoTuneCombination("FP33"))
    expect(ValueError, "mixes '|'", lambda: trtp.AutoTuneCombination("FP32|FP16*INT8"))
    rows = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16, FP32*INT8")._rows(3)  # pylint: disable=protected-access
    assert len(rows) == 4 and all(row[0][0] == row[1][0] for row in rows), rows


def message(*fields):
    """A message of protocol buffers: (number, value), where a value is an integer, bytes or a text."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

    result = b""
    for number, value in fields:
        if isinstance(value, int):
            result += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            result += varint(number << 3 | 2) + varint(len(value)) + value
    return result


def model_with_node(kind, domain, *attributes):
    """An ONNX model of one node with attributes (name, integer): y = kind(x), x of 4 floats."""
    def tensor(name):
        shape = message((1, message((1, 4))))
        return message((1, name), (2, message((1, message((1, 1), (2, shape))))))

    rows = [(5, message((1, name), (3, value), (20, 2))) for name, value in attributes]
    node = message((1, "x"), (2, "y"), (3, "the node"), (4, kind), *rows, (7, domain))
    graph = message((1, node), (2, "g"), (11, tensor("x")), (12, tensor("y")))
    return message((1, 8), (7, graph), (8, message((2, 17))), (8, message((1, domain), (2, 1))))


def places_of(array, outputs):
    """What a plugin writes that finds the places which are not 0, a row each, and their number."""
    rows = np.ascontiguousarray(np.argwhere(array), np.int32)
    CUDA.copy(outputs[0], rows.ctypes.data, rows.nbytes)
    number = np.array(len(rows), np.int32)
    CUDA.copy(outputs[1], number.ctypes.data, number.nbytes)


def array_of(address, shape, stream):
    CUDA.wait(stream)
    array = np.empty(tuple(shape), np.float32)
    CUDA.copy(array.ctypes.data, address, array.nbytes)
    return array


class Places(Shift):
    """The places of x that are not 0: as many as the execution finds."""

    def __init__(self, amount=0.0):
        super().__init__(amount)
        self.num_outputs, self.plugin_name = 2, "Places"

    def get_output_data_types(self, input_types):
        return [trt.int32, trt.int32]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        upper = expr_builder.operation(trt.DimensionOperation.PROD, inputs[0][0], inputs[0][1])
        size = expr_builder.declare_size_tensor(1, upper, upper)
        assert size.is_size_tensor() and not upper.is_size_tensor()
        places = trt.DimsExprs(2)
        places[0], places[1] = size, expr_builder.constant(2)
        return [places, trt.DimsExprs(0)]

    def supports_format_combination(self, pos, in_out, num_inputs):
        wanted = trt.float32 if pos == 0 else trt.int32
        return in_out[pos].desc.type == wanted and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        assert tuple(output_desc[0].dims) == (-1, 2), output_desc[0].dims
        places_of(array_of(inputs[0], input_desc[0].dims, stream), outputs)

    def clone(self):
        return Places(self.amount)

    def attach_to_context(self, context):
        return Places(self.amount)


def expect_places(builder, network):
    """Through engine and output allocators, for as many places as there may be."""
    log = trt.Logger(trt.Logger.ERROR)
    engine = trt.Runtime(log).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
    context = engine.create_execution_context()

    class Kept(trt.IOutputAllocator):
        def reallocate_output_async(self, name, memory, size, alignment, stream):
            self.bytes = np.empty(max(1, size), np.uint8)
            return self.bytes.ctypes.data

        def notify_shape(self, name, shape):
            self.shape = tuple(shape)

    assert tuple(context.get_tensor_shape("places")) == (-1, 2)
    for x in (X2, X2 * 0, X2 * 0 + 1):
        places, number = Kept(), Kept()
        context.set_tensor_address("x", x.ctypes.data)
        context.set_output_allocator("places", places)
        context.set_output_allocator("number", number)
        assert context.execute_async_v3(0)
        CUDA.wait(0)
        wanted = np.argwhere(x)
        assert places.shape == wanted.shape, (places.shape, wanted.shape)
        assert np.array_equal(places.bytes[:8 * len(wanted)].view(np.int32).reshape(-1, 2), wanted)
        assert number.bytes.view(np.int32)[0] == len(wanted)


def places_network(add):
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network()
    layer = add(network, network.add_input("x", trt.float32, X2.shape))
    for index, name in enumerate(("places", "number")):
        layer.get_output(index).name = name
        network.mark_output(layer.get_output(index))
    return builder, network


class PlacesCreator(ShiftCreator):
    def __init__(self):
        super().__init__()
        self.name = "Places"

    def create_plugin(self, name, fields, phase):
        return Places()


def test_sizes_that_only_the_plugin_knows():
    creator = PlacesCreator()
    assert trt.get_plugin_registry().register_creator(creator)
    expect_places(*places_network(lambda network, x: network.add_plugin_v3([x], [], Places())))
    assert trt.get_plugin_registry().deregister_creator(creator)


def test_size_tensors_of_quick_plugins():
    import tensorrt.plugin as trtp  # pylint: disable=import-outside-toplevel

    @trtp.register("python_tests::places")
    def describe(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.SizeTensorDesc]:
        upper = x.shape_expr.numel()
        size = trtp.size_tensor(upper // 2, upper)
        return trtp.from_shape_expr((size.expr(), 2), dtype=trt.int32), size

    @trtp.impl("python_tests::places")
    def compute(x: trtp.Tensor, outputs, stream: int):
        places_of(array_of(x.data_ptr, x.shape, stream), [output.data_ptr for output in outputs])

    expect_places(*places_network(lambda network, x: network.add_plugin(trtp.op.python_tests.places(x))))


def test_nodes_of_models_become_functions():
    import tensorrt.plugin as trtp  # pylint: disable=import-outside-toplevel

    @trtp.register("python_tests::multiply")
    def describe(x: trtp.TensorDesc, factor: int, more: float = 0.5) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("python_tests::multiply")
    def compute(x: trtp.Tensor, factor: int, more: float, outputs, stream: int):
        CUDA.wait(stream)
        array = np.empty(tuple(x.shape), np.float32)
        CUDA.copy(array.ctypes.data, x.data_ptr, array.nbytes)
        array *= np.float32(factor + more)
        CUDA.copy(outputs[0].data_ptr, array.ctypes.data, array.nbytes)

    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/model.onnx", "wb") as file:
            file.write(model_with_node("multiply", "python_tests", ("factor", 3)))
        runner = trt.Runner(f"{folder}/model.onnx", logger=trt.Logger(trt.Logger.ERROR))
    x = np.arange(4, dtype=np.float32)
    assert np.array_equal(runner(x=x)["y"], x * np.float32(3.5))


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
