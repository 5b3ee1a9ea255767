# SPDX-License-Identifier: Apache-2.0
"""tensorrt.Runner: models and engines on arrays, with shapes and sizes as they come."""
import os
import sys

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

X = np.array([1, -2, 3], np.float32)


def test_runner():
    shapes = {"input": ((1, 1, 28, 28), (1, 1, 28, 28), (4, 1, 28, 28))}
    level = lambda config: setattr(config, "builder_optimization_level", 0)
    runner = trt.Runner(support.DIGITS / "digits.onnx", shapes=shapes, configure=level)
    assert all(support.digit(runner, number) == number for number in range(10))
    path = f"/tmp/tensorrt_python_{os.getpid()}.engine"
    runner.save(path)
    try:
        assert support.digit(trt.Runner(path), 3) == 3
    finally:
        os.unlink(path)
    assert runner(np.zeros((4, 1, 28, 28), np.float32))["probabilities"].shape == (4, 10)
    assert "expected" in support.raises(ValueError, runner, np.zeros((5, 1, 28, 28), np.float32))
    assert "float64" in support.raises(TypeError, runner, np.zeros((1, 1, 28, 28)))
    assert "expected input" in support.raises(TypeError, runner, other=X)
    assert "shapes=" in support.raises(ValueError, trt.Runner, str(support.DIGITS / "digits.onnx"))
    support.raises(ValueError, trt.Runner, b"no engine", logger=trt.Logger(trt.Logger.INTERNAL_ERROR))


def test_runner_says_what_does_not_fit():
    """What is given for the inputs of a model, and the model itself: names, numbers, orders and types."""
    model = support.DIGITS / "digits.onnx"
    one, four = (1, 1, 28, 28), (4, 1, 28, 28)
    for error, named, words in (
        (ValueError, {"shapes": {"x": one}}, ("'x'", "input")),
        (ValueError, {"shapes": {"input": one, "x": one}}, ("'x'", "its inputs are input")),
        (ValueError, {"shapes": {"input": one}, "values": {"x": 1}}, ("values", "'x'")),
        (ValueError, {"shapes": {"input": (1, 1, 28)}}, ("(1, 1, 28)", "(-1, 1, 28, 28)")),
        (ValueError, {"shapes": {"input": (1, 1, 28, 27)}}, ("(1, 1, 28, 27)",)),
        (ValueError, {"shapes": {"input": (-1, 1, 28, 28)}}, ("does not fit",)),
        (ValueError, {"shapes": {"input": (one, four)}}, ("2 shapes", "least, usual and greatest")),
        (ValueError, {"shapes": {"input": (four, one, four)}}, ("least <= usual <= greatest",)),
        (TypeError, {"shapes": {"input": "one"}}, ("str",)),
        (TypeError, {"shapes": {"input": 1}}, ("int",)),
    ):
        said = support.raises(error, trt.Runner, model, logger=trt.Logger(trt.Logger.INTERNAL_ERROR), **named)
        assert all(word in said for word in words), said
    assert "NoneType" in support.raises(TypeError, trt.Runner, None)
    assert "model.cpp" not in support.raises(ValueError, trt.Runner, "none.onnx", logger=trt.Logger(trt.Logger.INTERNAL_ERROR))
    runner = trt.Runner(model, shapes={"input": [np.int64(extent) for extent in one]})
    assert "twice" in support.raises(TypeError, runner, np.zeros(one, np.float32), input=np.zeros(one, np.float32))


def test_runner_of_sizes_that_the_data_decide():
    """Each run has sizes of its own, also where the one before had more."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (5,))
    places = network.add_non_zero(x).get_output(0)
    places.name = "places"
    network.mark_output(places)
    runner = trt.Runner(builder.build_serialized_network(network, builder.create_builder_config()))
    for given in ([1, 0, 2, 3, 0], [0, 0, 0, 0, 4], [0, 0, 0, 0, 0], [5, 6, 7, 8, 9]):
        array = np.array(given, np.float32)
        assert np.array_equal(runner(array)["places"], np.array(np.nonzero(array))), given


def part(number, content):
    """A field of protocol buffers: bytes, or a number."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def test_runner_takes_values_of_shapes():
    """Inputs whose values decide shapes need ranges of values: y = ConstantOfShape(shape)."""
    value = lambda name, kind, rank: part(1, name) + part(2, part(1, part(1, kind) + part(2, rank)))
    two, open_extents = part(1, part(1, 2)), part(1, part(2, b"a")) + part(1, part(2, b"b"))
    node = part(1, b"shape") + part(2, b"y") + part(4, b"ConstantOfShape")
    graph = part(1, node) + part(2, b"g") + part(11, value(b"shape", 7, two)) + part(12, value(b"y", 1, open_extents))
    path = f"/tmp/tensorrt_python_{os.getpid()}.onnx"
    with open(path, "wb") as file:
        file.write(part(1, 8) + part(7, graph) + part(8, part(1, b"") + part(2, 13)))
    try:
        runner = trt.Runner(path, values={"shape": ((0, 1), (2, 3), (6, 5))})
        fixed = trt.Runner(path, values={"shape": (4, 2)})
    finally:
        os.unlink(path)
    for extents in ((2, 3), (6, 1), (0, 5)):
        answer = runner(np.array(extents, np.int64))["y"]
        assert answer.shape == extents and not answer.any()
    assert fixed(np.array((4, 2), np.int64))["y"].shape == (4, 2)


def test_runner_takes_arrays_of_others():
    """What lends its memory by DLPack, as tensors of PyTorch do, or as arrays of CuPy do."""
    runner = trt.Runner(support.small_engine(trt))

    class Lent:
        def __dlpack__(self, **named):
            return X.__dlpack__(**named)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    class OnDevice:
        __cuda_array_interface__ = {"shape": X.shape, "typestr": X.dtype.str, "data": (X.ctypes.data, True), "version": 3}

    class Strided:
        __cuda_array_interface__ = dict(OnDevice.__cuda_array_interface__, strides=(8,))

    for array in (Lent(), OnDevice(), X[::-1][::-1], [1, -2, 3]):
        if isinstance(array, list):
            assert "expected float32" in support.raises(TypeError, runner, array)
            continue
        assert np.array_equal(runner(array)["y"], 2 * X)
    assert "contiguous" in support.raises(TypeError, runner, Strided())


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
