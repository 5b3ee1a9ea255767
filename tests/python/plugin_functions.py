# SPDX-License-Identifier: Apache-2.0
"""Quick plugins: what is refused by name, outputs of sizes that only the plugin knows, nodes of models."""
import sys
import tempfile
from typing import Tuple

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
from plugin_classes import CUDA, Oops, Shift, ShiftCreator  # noqa: E402  pylint: disable=wrong-import-position

X2 = np.array([[0, 1, 0], [2, 0, 3]], np.float32)


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
