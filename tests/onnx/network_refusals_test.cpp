// One model for each message that no other test asks for; messages.py lists those that nobody does.
#include "refusals.h"

namespace tenon::parsers::onnx {
namespace {

TEST(Refusals, ShapesAndMovement) {
  expectRefused("entry 2 of the shape is 0 (copy the extent), but the input has rank 2", [](ModelMaker& m) {
    withList(m, node(m, "Reshape", {{2, 3}}), {2, 3, 0});
  });
  expectRefused("input of rank 4 with weights []; expected the same rank, 3 to 5", [](ModelMaker& m) {
    m.input("real", {1, 1, 4, 4});
    ModelMaker::set(m.node("Cast", {"real"}, {"x"}), "to", int64_t{3});
    m.initializer("w", {}, 3).set_raw_data("\1", 1);
    m.node("ConvInteger", {"x", "w"}, {"y"}, "node");
    m.output("y", {}, 6);
  });
  expectRefused("the shape of the weights is not known while parsing", [](ModelMaker& m) {
    node(m, "Conv", {{1, 2, 4, 4}, {3, 2, -1, 2}});
  });
  expectRefused("axis = 3; expected -2 to 2", [](ModelMaker& m) {
    ModelMaker::set(node(m, "Flatten", {{2, 3}}), "axis", int64_t{3});
  });
  expectRefused("[1024,1024] by [1024,1024] of integers makes 1073741824 products of elements", [](ModelMaker& m) {
    for (const char* name : {"a", "b"}) {
      m.input(std::string("real ") + name, {1024, 1024});
      ModelMaker::set(m.node("Cast", {std::string("real ") + name}, {name}), "to", int64_t{7});
    }
    m.node("MatMul", {"a", "b"}, {"y"}, "node");
    m.output("y", {}, 7);
  });
  expectRefused("perm = [0,0] is not a permutation of the 2 axes", [](ModelMaker& m) {
    ModelMaker::set(node(m, "Transpose", {{2, 3}}), "perm", Ints{0, 0});
  });
  expectRefused("repeats has 3 entries for an input of rank 2", [](ModelMaker& m) {
    withList(m, node(m, "Tile", {{2, 3}}), {1, 2, 3});
  });
  expectRefused("axis 1 is unsqueezed twice", [](ModelMaker& m) {
    withList(m, node(m, "Unsqueeze", {{2, 3}}), {1, 1});
  });
  expectRefused(
      "num_outputs = 3, but the node has 1 outputs",
      [](ModelMaker& m) { ModelMaker::set(node(m, "Split", {{6}}), "num_outputs", int64_t{3}); }, 18);
  expectRefused("an extent of 5 cannot be split into 2 equal parts",
                [](ModelMaker& m) { node(m, "Split", {{5}}).add_output("z"); });
  expectRefused(
      "an extent of 5 in 4 parts of 2 leaves less than nothing for the last one",
      [](ModelMaker& m) {
        auto& split = node(m, "Split", {{5}});
        for (const char* name : {"z", "u", "v"}) split.add_output(name);
        ModelMaker::set(split, "num_outputs", int64_t{4});
      },
      18);
  expectRefused("split has 2 sizes for 1 outputs", [](ModelMaker& m) { withList(m, node(m, "Split", {{5}}), {2, 3}); });
  expectRefused("split sizes add up to 4, but the axis has 5", [](ModelMaker& m) {
    withList(m, node(m, "Split", {{5}}), {2, 2}).add_output("z");
  });
  expectRefused(
      "shape has 1 entries for 2 axes",
      [](ModelMaker& m) {
        withList(m, node(m, "CenterCropPad", {{2, 3}}), {2});
      },
      18);
  expectRefused("input of rank 1; expected 2 or more", [](ModelMaker& m) { node(m, "Trilu", {{4}}); });
  expectRefused("has rank 9; TensorRT tensors have rank 8 at most", [](ModelMaker& m) {
    withList(m, node(m, "Reshape", {{4}}), {1, 1, 1, 1, 1, 1, 1, 1, 4});
  });
}

TEST(Refusals, ConstantsThatAreComputed) {
  const auto pair = [](const std::string& type, const Ints& a, const Ints& b) {
    return [=](ModelMaker& m) {
      m.input("x", {1});
      m.ints("a", {static_cast<int64_t>(a.size())}, a);
      m.ints("b", {static_cast<int64_t>(b.size())}, b);
      m.node(type, {"a", "b"}, {"c"});
      m.node("Expand", {"x", "c"}, {"y"});
      m.output("y");
    };
  };
  expectRefused("the constant division 4 / 0 is undefined", pair("Div", {4}, {0}));
  expectRefused("shapes [2] and [3] do not broadcast: extents 2 and 3", pair("Add", {1, 2}, {1, 2, 3}));
}

TEST(Refusals, Products) {
  expectRefused("operands have ranks 3 and 2; expected 2 and 2", [](ModelMaker& m) {
    node(m, "Gemm", {{1, 2, 3}, {3, 4}});
  });
  expectRefused("input 0 has type FLOAT; expected INT8, UINT8, INT32 or INT64", [](ModelMaker& m) {
    ModelMaker::set(node(m, "BitShift", {{2}, {2}}), "direction", std::string("LEFT"));
  });
  expectRefused("scale has 2 elements for 3 channels", [](ModelMaker& m) {
    auto& made = node(m, "BatchNormalization", {{1, 3, 4, 4}});
    for (const char* name : {"scale", "bias", "mean", "variance"}) {
      m.floats(name, {2}, {1, 1});
      made.add_input(name);
    }
  });
  expectRefused(
      "input [1,3,4,4], weights [2,2,3,3], offset [1,18,2,2], group = 1, offset_group = 1 do not fit",
      [](ModelMaker& m) {
        node(m, "DeformConv", {{1, 3, 4, 4}, {2, 2, 3, 3}, {1, 18, 2, 2}});
      },
      19);
  expectRefused("attribute 'strides' = [0,1]: entry 0 is too small", [](ModelMaker& m) {
    auto& made = node(m, "MaxPool", {{1, 1, 4, 4}});
    ModelMaker::set(made, "kernel_shape", Ints{2, 2});
    ModelMaker::set(made, "strides", Ints{0, 1});
  });
  expectRefused("attribute 'kernel_shape' has AttributeProto type 2; expected 7 (INTS)", [](ModelMaker& m) {
    ModelMaker::set(node(m, "MaxPool", {{1, 1, 4, 4}}), "kernel_shape", int64_t{2});
  });
  expectRefused("input of rank 2; expected 3 or more", [](ModelMaker& m) { node(m, "GlobalAveragePool", {{2, 3}}); });
  expectRefused(
      "ceil_mode with a last window that may begin behind the input",
      [](ModelMaker& m) {
        auto& made = node(m, "LpPool", {{1, 1, 5, 5}});
        ModelMaker::set(made, "kernel_shape", Ints{2, 2});
        ModelMaker::set(made, "strides", Ints{2, 2});
        ModelMaker::set(made, "pads", Ints{0, 0, 1, 1});
        ModelMaker::set(made, "ceil_mode", int64_t{1});
      },
      18);
}

TEST(Refusals, Types) {
  expectRefused("cast to STRING, a type that TensorRT does not have",
                [](ModelMaker& m) { ModelMaker::set(node(m, "Cast", {{2}}), "to", int64_t{8}); });
  expectRefused(
      "output_dtype = 5 (INT16), a type that TensorRT does not have",
      [](ModelMaker& m) {
        auto& made = node(m, "QuantizeLinear", {{2}});
        m.floats("scale", {}, {1});
        made.add_input("scale");
        ModelMaker::set(made, "output_dtype", int64_t{5});
      },
      21);
  expectRefused("dtype = 8 (STRING), a type that TensorRT does not have",
                [](ModelMaker& m) { ModelMaker::set(node(m, "RandomUniformLike", {{2}}), "dtype", int64_t{8}); });
  expectRefused("output_datatype = 8, a type that TensorRT does not have", [](ModelMaker& m) {
    auto& made = node(m, "HannWindow", {});
    m.ints("size", {}, {4});
    made.add_input("size");
    ModelMaker::set(made, "output_datatype", int64_t{8});
  });
  expectRefused("graph input 'x' is not a tensor, but a sequence, map or optional", [](ModelMaker& m) {
    m.input("x", {2});
    m.graph().mutable_input(0)->clear_type();
    m.node("Relu", {"x"}, {"y"});
    m.output("y");
  });
  expectRefused("pool_strings: tensors have no strings; map words to integers before", [](ModelMaker& m) {
    auto& made = node(m, "TfIdfVectorizer", {{2, 4}});
    ModelMaker::set(made, "mode", std::string("TF"));
    auto* attribute = made.add_attribute();
    attribute->set_name("pool_strings");
    attribute->set_type(8);
  });
}

TEST(Refusals, Tensors) {
  const auto withTensor = [](const std::function<void(pb::TensorProto&)>& change) {
    return [=](ModelMaker& m) {
      node(m, "Add", {{2}}).add_input("w");
      change(m.initializer("w", {2}));
    };
  };
  expectRefused("tensor 'w' is stored in segments, which no exporter writes",
                withTensor([](pb::TensorProto& tensor) { tensor.mutable_segment()->set_begin(0); }));
  expectRefused("tensor 'w' of FLOAT[2] needs 2 numbers in float_data, but has 1",
                withTensor([](pb::TensorProto& tensor) { tensor.add_float_data(1); }));
}

TEST(Refusals, Recurrent) {
  const auto recurrent = [](const Ints& x, float clip, const Ints& weights, int64_t biases) {
    return [=](ModelMaker& m) {
      auto& made = node(m, "LSTM", {x});
      m.floats("w", weights, Reals(24, 0.1F));
      m.floats("r", {1, 8, 2}, Reals(16, 0.1F));
      m.floats("b", {1, biases}, Reals(static_cast<size_t>(biases), 0.1F));
      for (const char* name : {"w", "r", "b"}) made.add_input(name);
      ModelMaker::set(made, "hidden_size", int64_t{2});
      ModelMaker::set(made, "clip", clip);
    };
  };
  expectRefused("X, W and R have ranks 2, 3 and 3; expected 3 each", recurrent({4, 3}, 1, {1, 8, 3}, 16));
  expectRefused("clip = -1; expected more than 0", recurrent({4, 1, 3}, -1, {1, 8, 3}, 16));
  expectRefused("W [1,6,4] and R [1,8,2] do not fit; expected [1, 8, input size] and [1, 8, 2]",
                recurrent({4, 1, 4}, 1, {1, 6, 4}, 16));
  expectRefused("B has shape [1,15]; expected [1, 16]", recurrent({4, 1, 3}, 1, {1, 8, 3}, 15));
}

TEST(Refusals, Resizes) {
  expectRefused("neither scales nor sizes are given", [](ModelMaker& m) { node(m, "Resize", {{1, 1, 4, 4}}); });
  expectRefused(
      "sizes, scales and roi have 2, 0 and 0 entries for 4 axes",
      [](ModelMaker& m) {
        auto& made = node(m, "Resize", {{1, 1, 4, 4}});
        made.add_input("");
        made.add_input("");
        withList(m, made, {8, 8});
        ModelMaker::set(made, "mode", std::string("linear"));
        ModelMaker::set(made, "antialias", int64_t{1});
      },
      18);
  expectRefused(
      "size = [1,1,0,4]; expected extents of 1 to 65536",
      [](ModelMaker& m) {
        withList(m, node(m, "AffineGrid", {{1, 2, 3}}), {1, 1, 0, 4});
      },
      20);
}

TEST(Refusals, Selections) {
  expectRefused("boxes of rank 2 and scores of rank 3; expected 3 and 3", [](ModelMaker& m) {
    node(m, "NonMaxSuppression", {{3, 4}, {1, 1, 3}});
  });
  expectRefused("input of rank 1; expected rows of features",
                [](ModelMaker& m) { node(m, "TreeEnsemble", {{4}}, "ai.onnx.ml"); });
}

TEST(Refusals, Signals) {
  expectRefused("a signal [1,4,1] is shorter than a frame of 8", [](ModelMaker& m) {
    auto& made = node(m, "STFT", {{1, 4, 1}});
    m.ints("step", {}, {2});
    m.ints("length", {}, {8});
    made.add_input("step");
    made.add_input("");
    made.add_input("length");
  });
  expectRefused("the edges 0 and 9000 reach bin", [](ModelMaker& m) {
    node(m, "MelWeightMatrix", {});
    for (const auto& [name, value] : {std::pair{"bins", 4}, std::pair{"length", 16}, std::pair{"rate", 8000}}) {
      m.ints(name, {}, {value});
      m.graph().mutable_node(0)->add_input(name);
    }
    m.floats("low", {}, {0});
    m.floats("high", {}, {9000});
    m.graph().mutable_node(0)->add_input("low");
    m.graph().mutable_node(0)->add_input("high");
  });
}

TEST(Refusals, OtherDomains) {
  expectRefused("the outputs of mean and deviation have no counterpart; remove their uses", [](ModelMaker& m) {
    auto& made = node(m, "SkipLayerNormalization", {{1, 2, 4}, {1, 2, 4}}, "com.microsoft");
    m.floats("gamma", {4}, {1, 1, 1, 1});
    made.add_input("gamma");
    made.add_output("mean");
  });
}

TEST(Refusals, Regressors) {
  const auto regressor = [](int64_t branch, int64_t voter) {
    return [=](ModelMaker& m) {
      auto& made = node(m, "TreeEnsembleRegressor", {{2, 1}}, "ai.onnx.ml");
      const auto list = [&](const char* name, const Ints& values) { ModelMaker::set(made, name, values); };
      list("nodes_treeids", {0, 0, 0});
      list("nodes_nodeids", {0, 1, 2});
      list("nodes_featureids", {0, 0, 0});
      list("nodes_truenodeids", {branch, 0, 0});
      list("nodes_falsenodeids", {2, 0, 0});
      list("target_treeids", {0});
      list("target_nodeids", {voter});
      list("target_ids", {0});
      auto* modes = made.add_attribute();
      modes->set_name("nodes_modes");
      modes->set_type(8);
      for (const char* mode : {"BRANCH_LEQ", "LEAF", "LEAF"}) modes->add_strings(mode);
      for (const auto& [name, count] : {std::pair{"nodes_values", 3}, std::pair{"target_weights", 1}}) {
        auto* reals = made.add_attribute();
        reals->set_name(name);
        reals->set_type(6);
        for (int i = 0; i < count; ++i) reals->add_floats(1);
      }
    };
  };
  expectRefused("tree 0 has no node 7", regressor(7, 1));
  expectRefused("node 0 of tree 0 votes but is no leaf", regressor(1, 0));
}

TEST(Refusals, QuantizedOperands) {
  const auto quantize = [](const Ints& scales, int64_t block) {
    return [=](ModelMaker& m) {
      auto& made = node(m, "QuantizeLinear", {{4, 6}});
      m.floats("scale", scales, Reals(static_cast<size_t>(scales[0] * scales[1]), 1));
      made.add_input("scale");
      if (block != 0) ModelMaker::set(made, "block_size", block);
    };
  };
  expectRefused("a scale or zero point has shape [2,2]; expected one value, or one for each slice of an axis",
                quantize({2, 2}, 0), 21);
  expectRefused("block_size = 2 and a scale or zero point [4,2] for data [4,6] do not fit along axis 1",
                quantize({4, 2}, 2), 21);
  expectRefused("a scale or zero point has shape [2]; expected one value", [](ModelMaker& m) {
    m.input("x", {2}, 2);
    m.floats("scale", {2}, {1, 1});
    m.initializer("zero", {}, 2).set_raw_data("\1", 1);
    auto& made = m.node("QLinearSigmoid", {"x", "scale", "zero", "scale", "zero"}, {"y"});
    made.set_domain("com.microsoft");
    m.output("y", {}, 2);
  });
  expectRefused("zero_points has shape [3]; expected 4 packed bytes, or 8 numbers", [](ModelMaker& m) {
    auto& made = node(m, "MatMulNBits", {{2, 32}}, "com.microsoft");
    for (const auto& [name, value] :
         {std::pair{"N", 4}, std::pair{"K", 32}, std::pair{"bits", 4}, std::pair{"block_size", 16}})
      ModelMaker::set(made, name, int64_t{value});
    m.initializer("packed", {4, 2, 8}, 2).set_raw_data(std::string(64, '\1'));
    m.floats("scales", {8}, Reals(8, 1));
    m.initializer("zeros", {3}, 2).set_raw_data(std::string(3, '\1'));
    for (const char* name : {"packed", "scales", "zeros"}) made.add_input(name);
  });
}

TEST(Refusals, ShapesOfOperands) {
  expectRefused(
      "q_num_heads = 3 is not a multiple of kv_num_heads = 2",
      [](ModelMaker& m) {
        auto& made = node(m, "LinearAttention", {{1, 2, 6}, {1, 2, 4}, {1, 2, 4}});
        ModelMaker::set(made, "q_num_heads", int64_t{3});
        ModelMaker::set(made, "kv_num_heads", int64_t{2});
        ModelMaker::set(made, "update_rule", std::string("linear"));
      },
      27);
  expectRefused(
      "a block of 5 elements does not fit into axis 0 of the image [4,4]",
      [](ModelMaker& m) {
        withList(m, withList(m, node(m, "Col2Im", {{1, 15, 4}}), {4, 4}), {5, 3});
      },
      18);
  expectRefused("the scores have shape [2,3] and the target [2,3]; expected [N, C, ...] and [N, ...]",
                [](ModelMaker& m) {
                  node(m, "NegativeLogLikelihoodLoss", {{2, 3}, {2, 3}});
                });
  expectRefused("a window of 5 elements does not fit into axis 2 of [1,1,4,4]", [](ModelMaker& m) {
    auto& made = node(m, "MaxPool", {{1, 1, 4, 4}});
    ModelMaker::set(made, "kernel_shape", Ints{3, 3});
    ModelMaker::set(made, "dilations", Ints{2, 2});
  });
  expectRefused("kernel_shape [2,2], strides [1,-1] and pads [0,0,0,0]; expected numbers of 0", [](ModelMaker& m) {
    auto& made = node(m, "MaxUnpool", {{1, 1, 2, 2}});
    withList(m, made, {1});
    ModelMaker::set(made, "kernel_shape", Ints{2, 2});
    ModelMaker::set(made, "strides", Ints{1, -1});
  });
  expectRefused("concatenation over axis 0 of [1,2] with [1,3]: other extents differ", [](ModelMaker& m) {
    auto& made = node(m, "Concat", {});
    m.floats("a", {1, 2}, {1, 2});
    m.floats("b", {1, 3}, {1, 2, 3});
    made.add_input("a");
    made.add_input("b");
    ModelMaker::set(made, "axis", int64_t{0});
  });
  expectRefused("the condition has shape [2], expected one element", [](ModelMaker& m) {
    ModelMaker branch;
    branch.node("Neg", {"x"}, {"r"});
    branch.output("r");
    m.input("x", {2});
    m.input("conditions", {2}, 9);
    auto& made = m.node("If", {"conditions"}, {"y"});
    setGraph(made, "then_branch", branch);
    setGraph(made, "else_branch", branch);
    m.output("y");
  });
}

TEST(Refusals, Models) {
  expectRefused("the model imports no operator set; expected opset_import of 7 or more", [](ModelMaker& m) {
    node(m, "Relu", {{2}});
    m.proto().clear_opset_import();
  });
  expectRefused("tensor 'y' is an output of node", [](ModelMaker& m) {
    node(m, "Relu", {{2}});
    m.node("Neg", {"x0"}, {"y"});
  });
  expectRefused("the graph has a cycle: node", [](ModelMaker& m) {
    node(m, "Add", {{2}}).add_input("z");
    m.node("Neg", {"y"}, {"z"});
  });
  expectRefused("the value is a string or absent; expected value", [](ModelMaker& m) { node(m, "Constant", {}); });
  expectRefused("output 1 'z' of Relu cannot be computed; remove its uses",
                [](ModelMaker& m) { node(m, "Relu", {{2}}).add_output("z"); });
  NetworkBench bench;
  EXPECT_FALSE(bench.parser->parseFromFile(nullptr, 0));
  EXPECT_NE(bench.errors().find("parseFromFile: the file name is nullptr"), std::string::npos);
}

TEST(Refusals, CallsInTheWrongOrder) {
  NetworkBench bench;
  EXPECT_FALSE(bench.parser->loadInitializer("w", nullptr, 4));
  EXPECT_NE(bench.errors().find("loadInitializer: call loadModelProto first, and give a name and its bytes"),
            std::string::npos);
  EXPECT_FALSE(bench.parser->parseModelProto());
  EXPECT_NE(bench.errors().find("parseModelProto: no model is loaded; call loadModelProto first"), std::string::npos);
}

}  // namespace
}  // namespace tenon::parsers::onnx
