# SPDX-License-Identifier: Apache-2.0
"""The ONNX parser, from the shipped model to its answers."""
import json

import numpy as np
import tensorrt_bindings as trt

import support
from support import DIGITS, LOGGER, complaint, execute, loaded, unsupported

MODEL = DIGITS / "digits.onnx"


def parsed(flags=0):
    builder = trt.Builder(LOGGER)
    network = builder.create_network(flags)
    parser = trt.OnnxParser(network, LOGGER)
    good = parser.parse_from_file(str(MODEL))
    errors = [parser.get_error(i).desc() for i in range(parser.num_errors)]
    assert good and not errors, complaint(f"the model is refused: {errors}")
    return builder, network, parser


def engine_of(builder, network, flag=None):
    config = builder.create_builder_config()
    if flag is not None:
        config.set_flag(flag)
    profile = builder.create_optimization_profile()
    profile.set_shape("input", (1, 1, 28, 28), (4, 1, 28, 28), (16, 1, 28, 28))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, complaint("no engine")
    return loaded(plan)


def check_answers(engine):
    golden = json.loads((DIGITS / "golden.json").read_text())
    context = engine.create_execution_context()
    for batch in ([0], [7], [1, 2, 3], list(range(10))):
        pictures = np.concatenate([support.picture(d) for d in batch])
        found = execute(engine, {"input": pictures}, context)["probabilities"]
        expected = np.array([golden["probabilities"][d] for d in batch], np.float32)
        assert np.abs(found - expected).max() <= golden["tolerance"], (batch, found, expected)


def test_shipped_model_answers():
    builder, network, parser = parsed()
    assert network.num_inputs == 1 and network.get_input(0).name == "input"
    assert network.get_output(0).name == "probabilities" and network.num_layers > 3
    check_answers(engine_of(builder, network))
    del parser


def test_shipped_model_strongly_typed():
    builder, network, parser = parsed(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    check_answers(engine_of(builder, network))
    del parser


def test_parse_bytes():
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(MODEL.read_bytes()), complaint("the model is refused")
    assert network.num_outputs == 1


def test_questions_about_support():
    network = trt.Builder(LOGGER).create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.supports_operator("Conv") and not parser.supports_operator("NoSuchOperator")
    assert parser.supports_model_v2(MODEL.read_bytes())
    assert parser.num_subgraphs == 1 and parser.is_subgraph_supported(0)
    nodes = parser.get_subgraph_nodes(0)
    assert nodes == list(range(len(nodes))) and len(nodes) > 3


def test_flags():
    parser = trt.OnnxParser(trt.Builder(LOGGER).create_network(0), LOGGER)
    assert parser.get_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
    parser.clear_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
    assert not parser.get_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
    parser.set_flag(trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE)
    assert parser.flags & 1 << int(trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE)


def test_damaged_models_are_refused():
    data = MODEL.read_bytes()
    for damaged in (b"this is no model", data[:len(data) // 2]):
        logger = support.Logger()
        parser = trt.OnnxParser(trt.Builder(logger).create_network(0), logger)
        assert not parser.parse(damaged)
        assert parser.num_errors > 0
        error = parser.get_error(0)
        assert error.desc() and isinstance(error.code(), trt.ErrorCode) and error.line() >= 0
        parser.clear_errors()
        assert parser.num_errors == 0


def test_missing_file():
    parser = trt.OnnxParser(trt.Builder(LOGGER).create_network(0), LOGGER)
    assert not parser.parse_from_file("/nonexistent/model.onnx") and parser.num_errors > 0


@unsupported("refit")
def test_refit_from_the_model():
    builder, network, parser = parsed()
    engine = engine_of(builder, network, trt.BuilderFlag.REFIT)
    del parser
    refitter = trt.Refitter(engine, LOGGER)
    assert refitter.get_all_weights()
    assert trt.OnnxParserRefitter(refitter, LOGGER).refit_from_file(str(MODEL)), complaint("no refit")
    assert refitter.refit_cuda_engine(), complaint("no refit")
    check_answers(engine)
