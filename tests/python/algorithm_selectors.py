# SPDX-License-Identifier: Apache-2.0
"""Algorithm selectors written in Python: each algorithm of a layer chosen in turn, choices repeated, exceptions, wrong answers."""
import sys

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

RANDOM = np.random.default_rng(11)
A, B = RANDOM.uniform(-1, 1, (37, 64)).astype(np.float32), RANDOM.uniform(-1, 1, (64, 53)).astype(np.float32)


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if int(severity) <= int(trt.Logger.ERROR):
            self.errors.append(msg)


class Selector(trt.IAlgorithmSelector):
    def __init__(self, select=lambda context, choices: range(len(choices)), report=lambda taken: None):
        trt.IAlgorithmSelector.__init__(self)
        self.select, self.report, self.taken, self.counts = select, report, {}, {}

    def select_algorithms(self, context, choices):
        self.counts[context.name] = len(choices)
        return list(self.select(context, choices))

    def report_algorithms(self, contexts, choices):
        self.taken = {context.name: identity(choice) for context, choice in zip(contexts, choices)}
        self.report(self.taken)


def identity(choice):
    return choice.algorithm_variant.implementation, choice.algorithm_variant.tactic


def plan(selector, logger=None, flags=()):
    """softmax(a b), whose product has several algorithms; None where the build ended."""
    builder = trt.Builder(logger or trt.Logger(trt.Logger.ERROR))
    network = builder.create_network()
    a, b = network.add_input("a", trt.float32, A.shape), network.add_input("b", trt.float32, B.shape)
    layer = network.add_matrix_multiply(a, trt.MatrixOperation.NONE, b, trt.MatrixOperation.NONE)
    layer.name = "product"
    soft = network.add_softmax(layer.get_output(0))
    soft.name, soft.axes = "softmax", 2
    soft.get_output(0).name = "y"
    network.mark_output(soft.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = 3
    config.algorithm_selector = selector
    assert config.algorithm_selector is selector
    for flag in flags:
        config.set_flag(flag)
    answer = builder.build_serialized_network(network, config)
    return answer and bytes(answer)


def test_each_algorithm_gives_the_right_answer():
    product = A.astype(np.float64) @ B.astype(np.float64)
    wanted = np.exp(product - product.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    seen, index, count = set(), 0, 1
    while index < count:
        selector = Selector(lambda context, choices, index=index: [index] if context.name == "product" else [0])
        answer = trt.Runner(plan(selector))(a=A, b=B)["y"]
        np.testing.assert_allclose(answer, wanted, 1e-4, 1e-6)
        seen.add(selector.taken["product"])
        count = selector.counts["product"]
        index += 1
    assert count > 1 and len(seen) == count, (count, seen)


def test_a_build_is_repeated():
    first = Selector(lambda context, choices: [len(choices) - 1])
    wanted = plan(first)
    second = Selector(lambda context, choices: [[identity(choice) for choice in choices].index(first.taken[context.name])])
    assert plan(second) == wanted and second.taken == first.taken


def test_what_the_algorithms_say():
    def look(context, choices):
        operands = context.num_inputs + context.num_outputs
        shapes = [[tuple(shape) for shape in context.get_shape(index)] for index in range(operands)]
        expected = [A.shape, B.shape, (37, 53)] if context.name == "product" else [(37, 53)] * 2
        assert shapes == [[shape] * 3 for shape in expected], shapes
        for choice in choices:
            infos = [choice.get_algorithm_io_info(index) for index in range(operands)]
            assert all(info.dtype == trt.float32 and info.vectorized_dim == -1 and info.components_per_element == 1 for info in infos)
            assert [tuple(info.strides) for info in infos] == [(shape[1], 1) for shape in expected]
            assert choice.workspace_size >= 0 and choice.get_algorithm_io_info(operands) is None
        # What is a last resort is not measured where anything else works.
        assert len(choices) == 1 or any(choice.timing_msec > 0 for choice in choices)
        return [0]

    assert plan(Selector(look))


def test_exceptions_arrive():
    def fail(*_):
        raise KeyError("in a selector")

    for selector in (Selector(select=fail), Selector(report=fail)):
        try:
            plan(selector)
        except KeyError as error:
            assert "in a selector" in str(error)
        else:
            raise AssertionError("no exception arrived")

    class Empty(trt.IAlgorithmSelector):
        pass

    try:
        plan(Empty(), Logger())
    except TypeError as error:
        assert "Empty does not define select_algorithms()" in str(error), error
    else:
        raise AssertionError("nothing said that select_algorithms() is missing")


def test_wrong_answers_are_named():
    for answer, part in ((lambda _, choices: [len(choices)], "selected index"), (lambda *_: [-1], "selected index -1 for layer 'product'")):
        logger = Logger()
        assert plan(Selector(answer), logger) is None and part in logger.errors[0], logger.errors
    try:
        plan(Selector(lambda _, choices: [0] * (len(choices) + 1)), Logger())
    except ValueError as error:
        assert "select_algorithms() returned" in str(error)
    else:
        raise AssertionError("more choices than there are were taken")


def test_none_means_any_unless_that_is_rejected():
    assert plan(Selector(lambda *_: []))
    logger = Logger()
    assert plan(Selector(lambda *_: []), logger, [trt.BuilderFlag.REJECT_EMPTY_ALGORITHMS]) is None
    assert "kREJECT_EMPTY_ALGORITHMS is set" in logger.errors[0], logger.errors


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
