# SPDX-License-Identifier: Apache-2.0
"""Layers that move, select or make data, each added by its own call and compared with NumPy."""
import numpy as np
import tensorrt_bindings as trt

from support import close, constant, random, run, unsupported

X = random(2, 3, 4)


def test_constant_and_identity():
    def build(network, t):
        layer = network.add_constant((2, 3, 4), X)
        assert tuple(layer.shape) == (2, 3, 4) and np.array_equal(layer.weights.reshape(X.shape), X)
        return [layer.get_output(0), network.add_identity(t).get_output(0)]

    close(run(build, {"x": X}), [X, X])


def test_cast():
    x = np.array([-1.5, 0, 2.75], np.float32)

    def build(network, t):
        layer = network.add_cast(t, trt.int32)
        assert layer.to_type == trt.int32
        return [layer.get_output(0), network.add_cast(t, trt.bool).get_output(0),
                network.add_cast(t, trt.float16).get_output(0)]

    close(run(build, {"x": x}), [x.astype(np.int32), x.astype(bool), x.astype(np.float16)])


def test_concatenation():
    def build(network, t, u):
        layer = network.add_concatenation([t, u])
        layer.axis = 1
        return layer.get_output(0)

    y = random(2, 1, 4, seed=2)
    close(run(build, {"x": X, "y": y}), [np.concatenate([X, y], 1)])


def test_padding():
    x = random(1, 1, 3, 4)

    def build(network, t):
        layer = network.add_padding_nd(t, (1, 0), (2, -1))
        assert tuple(layer.pre_padding_nd) == (1, 0)
        return layer.get_output(0)

    close(run(build, {"x": x}), [np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 0)))[..., :-1]])


def test_shuffle():
    def build(network, t):
        layer = network.add_shuffle(t)
        layer.first_transpose = trt.Permutation([2, 0, 1])
        layer.reshape_dims = (0, -1)
        layer.second_transpose = trt.Permutation([1, 0])
        assert tuple(layer.reshape_dims) == (0, -1)
        return layer.get_output(0)

    close(run(build, {"x": X}), [X.transpose(2, 0, 1).reshape(4, 6).T])


def test_slice():
    def build(network, t):
        plain = network.add_slice(t, (0, 1, 3), (2, 2, 2), (1, 1, -2))
        filled = network.add_slice(t, (0, -1, 0), (2, 5, 4), (1, 1, 1))
        filled.mode = trt.SampleMode.FILL
        filled.set_input(4, constant(network, 7.0))
        wrapped = network.add_slice(t, (0, 0, 2), (2, 3, 4), (1, 1, 1))
        wrapped.mode = trt.SampleMode.WRAP
        assert tuple(plain.stride) == (1, 1, -2)
        return [layer.get_output(0) for layer in (plain, filled, wrapped)]

    filled = np.pad(X, ((0, 0), (1, 1), (0, 0)), constant_values=7)
    close(run(build, {"x": X}), [X[:, 1:3, 3:0:-2], filled, np.roll(X, -2, 2)])


def test_shape():
    build = lambda n, t: n.add_cast(n.add_shape(t).get_output(0), trt.int32).get_output(0)
    close(run(build, {"x": X}, dynamic=["x"]), [np.array(X.shape, np.int32)])


def test_squeeze_and_unsqueeze():
    x = random(2, 1, 3)

    def build(network, t):
        return [network.add_squeeze(t, constant(network, [1], np.int32)).get_output(0),
                network.add_unsqueeze(t, constant(network, [0], np.int32)).get_output(0)]

    close(run(build, {"x": x}), [x[:, 0], x[None]])


def test_gather():
    indices = np.array([[2, 0], [1, 1]], np.int32)
    along = np.array([[[0, 3, 1, 2]] * 3] * 2, np.int32)
    places = np.array([[1, 2], [0, 0]], np.int32)

    def build(network, t, i, a, p):
        nd = network.add_gather_v2(t, p, trt.GatherMode.ND)
        element = network.add_gather_v2(t, a, trt.GatherMode.ELEMENT)
        element.axis = 2
        assert nd.mode == trt.GatherMode.ND
        return [network.add_gather(t, i, 1).get_output(0), element.get_output(0), nd.get_output(0)]

    expected = [np.take(X, indices, 1), np.take_along_axis(X, along, 2), X[[1, 0], [2, 0]]]
    close(run(build, {"x": X, "indices": indices, "along": along, "places": places}), expected)


def test_scatter():
    data = random(3, 4)
    rows, updates = np.array([[2], [0]], np.int32), random(2, 4, seed=2)
    columns, values = np.array([[0, 3], [1, 2], [3, 0]], np.int32), random(3, 2, seed=3)
    by_row, by_element = data.copy(), data.copy()
    by_row[[2, 0]] = updates
    np.put_along_axis(by_element, columns, values, 1)

    def build(network, d, r, u, c, v):
        element = network.add_scatter(d, c, v, trt.ScatterMode.ELEMENT)
        element.axis = 1
        return [network.add_scatter(d, r, u, trt.ScatterMode.ND).get_output(0), element.get_output(0)]

    inputs = {"data": data, "rows": rows, "updates": updates, "columns": columns, "values": values}
    close(run(build, inputs), [by_row, by_element])


def test_scatter_of_a_tensor_onto_itself():
    """Updates that are the data too, which dies here: they are read as they were."""
    data, order = random(64), np.arange(64)[::-1].astype(np.int32)

    def build(network, tensor):
        minus = network.add_unary(tensor, trt.UnaryOperation.NEG).get_output(0)
        layer = network.add_scatter(minus, constant(network, order, np.int32), minus, trt.ScatterMode.ELEMENT)
        layer.axis = 0
        return network.add_unary(layer.get_output(0), trt.UnaryOperation.NEG).get_output(0)

    close(run(build, {"data": data}), [data[::-1]])


def test_select():
    choice = X > 0
    build = lambda n, c, t, u: n.add_select(c, t, u).get_output(0)
    close(run(build, {"choice": choice, "x": X, "y": -2 * X}), [np.where(choice, X, -2 * X)])


def test_one_hot():
    indices = np.array([1, 0, 3], np.int32)

    def build(network, i):
        values, depth = constant(network, [0, 5]), constant(network, 4, np.int32)
        return network.add_one_hot(i, values, depth, 1).get_output(0)

    close(run(build, {"indices": indices}), [5 * np.eye(4, dtype=np.float32)[indices]])


def test_non_zero():
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    build = lambda n, t: n.add_non_zero(t).get_output(0)
    close(run(build, {"x": x}), [np.array(np.nonzero(x), np.int32)])


def test_fill():
    def build(network):
        layer = network.add_fill((5,), trt.FillOperation.LINSPACE, trt.float32)
        layer.set_input(1, constant(network, 1.0))
        layer.set_input(2, constant(network, [0.5]))
        return layer.get_output(0)

    close(run(build, {}), [np.arange(5, dtype=np.float32) * 0.5 + 1])


def test_random_fill():
    def build(network):
        layer = network.add_fill((1000,), trt.FillOperation.RANDOM_UNIFORM, trt.float32)
        layer.alpha, layer.beta = 2.0, 3.0
        return layer.get_output(0)

    (noise,) = run(build, {})
    assert noise.shape == (1000,) and noise.min() >= 2 and noise.max() <= 3 and noise.std() > 0.2


def test_resize():
    x = random(1, 2, 3, 4)

    def build(network, t):
        nearest = network.add_resize(t)
        nearest.shape = (1, 2, 6, 8)
        linear = network.add_resize(t)
        linear.scales = [1, 1, 2, 1]
        linear.resize_mode = trt.InterpolationMode.LINEAR
        linear.coordinate_transformation = trt.ResizeCoordinateTransformation.ALIGN_CORNERS
        assert [float(s) for s in linear.scales] == [1, 1, 2, 1]
        return [nearest.get_output(0), linear.get_output(0)]

    places = np.arange(6) * 2 / 5
    low = np.minimum(places.astype(int), 1)
    share = (places - low).astype(np.float32)[:, None]
    expected = x[:, :, low] * (1 - share) + x[:, :, low + 1] * share
    close(run(build, {"x": x}), [x.repeat(2, 2).repeat(2, 3), expected])


def test_grid_sample():
    image = random(1, 1, 4, 5)
    rows, columns = np.array([0, 2, 3]), np.array([1, 4])
    grid = np.stack(np.broadcast_arrays(columns[None, :] / 2 - 1, rows[:, None] / 1.5 - 1), 2)[None].astype(np.float32)

    def build(network, t, g):
        layer = network.add_grid_sample(t, g)
        layer.align_corners = True
        layer.interpolation_mode = trt.InterpolationMode.LINEAR
        return layer.get_output(0)

    close(run(build, {"image": image, "grid": grid}), [image[:, :, rows][:, :, :, columns]])


def test_reverse_sequence():
    x, lengths = random(4, 2, 3), np.array([3, 1], np.int32)
    expected = x.copy()
    expected[:3, 0] = x[2::-1, 0]

    def build(network, t, l):
        layer = network.add_reverse_sequence(t, l)
        layer.batch_axis, layer.sequence_axis = 1, 0
        return layer.get_output(0)

    close(run(build, {"x": x, "lengths": lengths}), [expected])


def test_nms():
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.7]]], np.float32)

    def build(network, b, s):
        layer = network.add_nms(b, s, constant(network, 2, np.int32))
        layer.set_input(3, constant(network, 0.5))
        layer.bounding_box_format = trt.BoundingBoxFormat.CORNER_PAIRS
        layer.topk_box_limit = 3
        return [layer.get_output(0), layer.get_output(1)]

    chosen, count = run(build, {"boxes": boxes, "scores": scores})
    assert int(count) == 2 and chosen[:2].tolist() == [[0, 0, 0], [0, 0, 2]], (count, chosen)


def test_assertion():
    def build(network, t):
        rows = network.add_slice(network.add_shape(t).get_output(0), (0,), (1,), (1,)).get_output(0)
        equal = network.add_elementwise(rows, constant(network, [2], np.int64), trt.ElementWiseOperation.EQUAL)
        layer = network.add_assertion(equal.get_output(0), "two rows")
        assert layer.message == "two rows" and layer.num_outputs == 0
        return network.add_identity(t).get_output(0)

    close(run(build, {"x": X}, dynamic=["x"]), [X])


def test_kv_cache_update():
    cache, update = random(1, 2, 8, 4), random(1, 2, 3, 4, seed=2)
    expected = cache.copy()
    expected[:, :, 2:5] = update

    def build(network, c, u, w):
        layer = network.add_kv_cache_update(c, u, w, trt.KVCacheMode.LINEAR)
        assert layer.cache_mode == trt.KVCacheMode.LINEAR
        return layer.get_output(0)

    inputs = {"cache": cache, "update": update, "start": np.array([2], np.int32)}
    close(run(build, inputs, aliases={"output0": "cache"}), [expected])


@unsupported("exchange between devices")
def test_distributed_collective_can_be_added():
    # Running it takes several devices.
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network(0)
    tensor = network.add_input("x", trt.float32, (4,))
    layer = network.add_dist_collective(tensor, trt.CollectiveOperation.ALL_REDUCE, trt.ReduceOperation.SUM, -1, None)
    assert layer is not None and layer.type == trt.LayerType.DIST_COLLECTIVE
