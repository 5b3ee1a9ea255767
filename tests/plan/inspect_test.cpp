// What the inspector shows of plans put together by hand: TensorRT's fields, forms and words.
#include "plan/inspect.h"

#include <nlohmann/json.hpp>

#include "plan/file.h"
#include "support/hand_plan.h"

namespace tenon::plan {
namespace {

using nlohmann::json;
using test::HandPlan;

// One step of the operator over inputs of these extents; "const:..." marks constants.
struct Operand {
  std::vector<std::string> extents;
  bool isConstant = false;
  DataType type = DataType::kF32;
};

Plan planOf(const std::string& op, const std::vector<Operand>& operands, const std::vector<std::string>& result) {
  HandPlan hand;
  std::vector<int32_t> inputs;
  for (const auto& operand : operands) {
    if (operand.isConstant) {
      Dims dims;
      for (const auto& extent : operand.extents) dims.push(std::stoll(extent));
      inputs.push_back(hand.constant<float>(operand.type, dims, std::vector<float>(static_cast<size_t>(dims.count()))));
    } else {
      inputs.push_back(hand.input("x" + std::to_string(inputs.size()), operand.type, operand.extents));
    }
  }
  const int32_t y = hand.output("y", DataType::kF32, result);
  hand.step("layer", op, inputs, {y});
  hand.plan().profilingVerbosity = 2;
  hand.program().steps[0].tacticValue = 0x1bde0e1d9f2f35d;
  hand.program().steps[0].metadata = "[ONNX Layer: a]\x1e[ONNX Layer: b]";
  Plan plan = hand.plan();
  plan.programs = {hand.program()};
  return plan;
}

TEST(PlanInspector, FollowsTheVerbosity) {
  Plan plan = test::smallPlan(true);
  plan.profilingVerbosity = 0;
  EXPECT_EQ(layerJson(plan, 0, 0), "\"add\"");
  EXPECT_EQ(layerText(plan, 0, 0), "add");
  EXPECT_EQ(json::parse(engineJson(plan, 0))["Layers"][0], "add");
  EXPECT_EQ(engineText(plan, 0).substr(0, 12), "Layers:\nadd\n");
  plan.profilingVerbosity = 1;
  EXPECT_EQ(layerJson(plan, 0, 0), "{}");
  EXPECT_EQ(layerText(plan, 0, 0), "");
  EXPECT_EQ(json::parse(engineJson(plan, 0)), json::parse(R"({"Layers": [], "Bindings": ["x", "y"]})"));
  EXPECT_EQ(engineText(plan, 0), "");
  plan.profilingVerbosity = 2;
  EXPECT_NE(layerJson(plan, 0, 0).find("\"TacticName\": \"ref.evaluate\""), std::string::npos);
  EXPECT_NE(layerJson(plan, 0, 0).find("\"Dimensions\": [-1,3]"), std::string::npos);
  EXPECT_NE(engineJson(plan, 0).find("\"Bindings\": [\"x\", \"y\"]"), std::string::npos);
  EXPECT_NE(engineText(plan, 0).find("\n\nBindings:\nx\ny\n"), std::string::npos);
}

TEST(PlanInspector, AConvolutionHasTheFieldsOfTensorRT) {
  const Plan plan =
      planOf("convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"relu(x0)\"}",
             {{{"1", "3", "8", "8"}}, {{"5", "3", "3", "3"}, true}, {{"5"}, true}}, {"1", "5", "4", "4"});
  EXPECT_EQ(
      layerText(plan, 0, 0),
      "Name: layer, LayerType: Convolution, Inputs: [ { Name: x0, Location: Device, Dimensions: [1,3,8,8], Format/Datatype: Row major "
      "linear FP32 }], Outputs: [ { Name: y, Location: Device, Dimensions: [1,5,4,4], Format/Datatype: Row major linear FP32 }], "
      "ParameterType: Convolution, Kernel: [3,3], PaddingMode: kEXPLICIT_ROUND_DOWN, PrePadding: [1,1], PostPadding: [1,1], Stride: [2,2], "
      "Dilation: [1,1], OutMaps: 5, Groups: 1, Weights: {\"Type\": \"Float\", \"Count\": 135}, Bias: {\"Type\": \"Float\", \"Count\": 5}, "
      "HasBias: 1, HasReLU: 1, HasSparseWeights: 0, HasDynamicFilter: 0, HasDynamicBias: 0, HasResidual: 0, Activation: RELU, TacticName: "
      "ref.evaluate, TacticValue: 0x01bde0e1d9f2f35d, StreamId: 0, Metadata: [ONNX Layer: a]\\u001e[ONNX Layer: b]");
  const auto layer = json::parse(layerJson(plan, 0, 0));
  EXPECT_EQ(layer["Name"], "layer");
  EXPECT_EQ(layer["LayerType"], "Convolution");
  EXPECT_EQ(layer["ParameterType"], "Convolution");
  EXPECT_EQ(layer["Kernel"], json({3, 3}));
  EXPECT_EQ(layer["Weights"], json::parse(R"({"Type": "Float", "Count": 135})"));
  EXPECT_EQ(layer["HasReLU"], 1);
  EXPECT_EQ(layer["TacticValue"], "0x01bde0e1d9f2f35d");
  EXPECT_EQ(layer["StreamId"], 0);
  EXPECT_EQ(layer["Metadata"], "[ONNX Layer: a]\x1e[ONNX Layer: b]");
  ASSERT_EQ(layer["Inputs"].size(), 1U);
  EXPECT_EQ(layer["Inputs"][0]["Name"], "x0");
  EXPECT_EQ(layer["Inputs"][0]["Location"], "Device");
  EXPECT_EQ(layer["Inputs"][0]["Dimensions"], json({1, 3, 8, 8}));
  EXPECT_EQ(layer["Inputs"][0]["Format/Datatype"], "Row major linear FP32");
  // Fields of ours, under their own names.
  EXPECT_EQ(layer["Inputs"][0]["Datatype"], "f32");
  EXPECT_EQ(layer["Constants"].size(), 2U);
  EXPECT_EQ(layer["Origins"], json({"layer"}));
  EXPECT_EQ(layer["WorkspaceBytes"], 0);
  EXPECT_EQ(std::string(layer["Operator"]).substr(0, 12), "convolution{");
}

TEST(PlanInspector, EachKindOfLayerHasItsFields) {
  const std::vector<std::string> x{"2", "4", "6", "6"};
  const struct {
    std::string op;
    std::vector<Operand> operands;
    std::string expected;
  } cases[] = {
      {"deconvolution{groups=2}",
       {{x}, {{"4", "3", "2", "2"}, true}},
       "LayerType: Deconvolution|OutMaps: 6, Groups: 2|Activation: NONE"},
      {"convolution{epilogue=\"add(x0,x1);relu(t0)\"}",
       {{x}, {{"4", "4", "1", "1"}, true}, {x}},
       "HasResidual: 1, Activation: RELU|{ Name: x2,"},
      {"convolution{epilogue=\"clip(x0,0,6)\"}",
       {{x}, {{"4", "4", "1", "1"}}},
       "HasDynamicFilter: 1|Activation: CLIPPED_RELU"},
      {"convolution{epilogue=\"sigmoid(x0);mul(x0,t0)\"}",
       {{x}, {{"4", "4", "1", "1"}, true}},
       "Activation: GENERIC, ParameterSubType: PointWiseExpression|PointWiseExpressionOperations: [\"auto const var0 = sigmoid(arg0);\",\"auto "
       "const var1 = mul(arg0, var0);\"]"},
      {"matmul{transposeB=true epilogue=\"max(x0,0)\"}",
       {{{"6", "6"}}, {{"6", "6"}, true}},
       "ParameterType: MatrixMultiply, MatrixOpA: NONE, MatrixOpB: TRANSPOSE, Weights: {\"Type\": \"Float\", \"Count\": 36}, HasBias: 0, "
       "HasReLU: 1, HasResidual: 0, Activation: RELU"},
      {"matmul{epilogue=\"add(x0,x1)\"}",
       {{{"6", "6"}}, {{"6", "6"}, true}, {{"6"}, true}},
       "HasBias: 1, HasReLU: 0, HasResidual: 0, Activation: NONE"},
      {"pooling{type=average window=[3,3] strides=[2,2] exclusive=false}",
       {{x}},
       "PoolingType: AVERAGE, WindowSize: [3,3], PaddingMode: kEXPLICIT_ROUND_DOWN, PrePadding: [0,0], PostPadding: [0,0], Stride: [2,2], "
       "BlendFactor: 0, AverageCountExcludesPadding: 0"},
      {"pooling{window=[3,3] ceilMode=true}", {{x}}, "PoolingType: MAX|PaddingMode: kEXPLICIT_ROUND_UP"},
      {"slice{start=[0,0,-1,-1] size=[2,4,8,8] mode=fill}",
       {{x}},
       "ParameterType: Slice, Start: [0,0,-1,-1], Size: [2,4,8,8], Stride: [1,1,1,1], Mode: FILL, negativeInfinityPadding: 0"},
      {"transpose{permutation=[0,3,1,2]}",
       {{x}},
       "ParameterType: Shuffle, FirstTranspose: [0,3,1,2], Reshape: nbDims=-1, SecondTranspose: [0,1,2,3], ZeroIsPlaceholder: 1"},
      {"resize{mode=linear coordinates=half_pixel shape=[2,4,12,12] scales=[1,1,2,2]}",
       {{x}},
       "ParameterType: Resize, ResizeMode: kLINEAR, ResizeScales: [1,1,2,2]|NNRounding: kFLOOR, CoordTransform: kHALF_PIXEL"},
      {"softmax{axis=1}", {{x}}, "LayerType: SoftMax|ParameterType: SoftMax, Axes: 2, HasLog: 0"},
      {"softmax{}", {{x}}, "Axes: 8"},
      {"reduce{op=avg axes=[2,3] keepDims=true}",
       {{x}},
       "ParameterType: Reduce, Operation: AVG, Axes: 12, KeepDimensions: 1"},
      {"topk{largest=false k=3 axis=1}", {{x}}, "ParameterType: TopK, TopKOperation: MIN, K: 3, Axes: 2"},
      {"normalization{axes=[3] epsilon=0.5}",
       {{x}, {{"6"}, true}, {{"6"}, true}},
       "ParameterType: Normalization, Axes: 8, Epsilon: 0.5"},
      {"gather{axis=2}",
       {{x}, {{"3"}, false, DataType::kI32}},
       "ParameterType: Gather, Mode: DEFAULT, Axis: 2, NbElementWiseDims: 0"},
      {"concat{axis=1}", {{x}, {x}}, "LayerType: Concatenation|Axis: 1"},
      {"pointwise{expr=\"mul(x0,0.5);cast.f16(t0)\"}",
       {{x}},
       "LayerType: PointWiseV2|ParameterType: PointWise, ParameterSubType: PointWiseExpression, NbInputArgs: 1, InputArgs: [\"arg0\"], NbOutputVars: "
       "1, OutputVars: [\"var1\"], NbParams: 0, Params: [], NbLiterals: 1, Literals: [\"0.5\"], NbOperations: 2, Operations: [\"auto const var0 = "
       "mul(arg0, 0.5);\",\"auto const var1 = cast<Half>(var0);\"]"},
      {"quantize{}", {{x}, {{"1"}, true}}, "LayerType: Reformat|ParameterType: Reformat, Origin: QDQ"},
      {"reformat{to=channels_last}", {{x}}, "ParameterType: Reformat, Origin: REFORMAT"},
      {"composite{parts=[{softmax{} [0]}] outputs=[0]}", {{x}}, "ParameterType: Composite, Parts: [\"Softmax\"]"},
      // Operators that TensorRT has no names for show what differs from their defaults.
      {"cumulative{axis=1 exclusive=true}",
       {{x}},
       "LayerType: Cumulative|ParameterType: Cumulative, Axis: 1, Exclusive: 1, Tactic"},
      {"attention{heads=2 scale=0.25}",
       {{{"1", "4", "8"}}, {{"1", "4", "8"}}, {{"1", "4", "8"}}},
       "ParameterType: Attention, Heads: 2, Scale: 0.25"},
      {"pointwise_reduce{expr=\"mul(x0,x0)\" axes=[1]}",
       {{x}},
       "LayerType: PointwiseReduce|Expr: \"mul(x0,x0)\", Axes: [1]"},
  };
  for (const auto& [op, operands, expected] : cases) {
    const Plan plan = planOf(op, operands, x);
    const auto line = layerText(plan, 0, 0);
    for (size_t at = 0; at <= expected.size();) {
      const auto end = std::min(expected.find('|', at), expected.size());
      EXPECT_NE(line.find(expected.substr(at, end - at)), std::string::npos)
          << expected.substr(at, end - at) << "\nin: " << line;
      at = end + 1;
    }
    const auto layer = json::parse(layerJson(plan, 0, 0));  // throws when it is none
    EXPECT_EQ(layer["TacticName"], "ref.evaluate") << op;
  }
}

TEST(PlanInspector, ExtentsAreThoseOfTheContext) {
  const Plan plan = planOf("slice{start=[0,1] size=[N,2*N]}", {{{"N", "M"}}}, {"N", "2*N"});
  const auto unknown = json::parse(layerJson(plan, 0, 0));
  EXPECT_EQ(unknown["Inputs"][0]["Dimensions"], json({-1, -1}));
  EXPECT_EQ(unknown["Inputs"][0]["Format/Datatype"], "N/A due to dynamic shapes");
  EXPECT_EQ(unknown["Inputs"][0]["Extents"], json({"N", "M"}));
  EXPECT_EQ(unknown["Size"], json({-1, -1}));
  const SymbolValues some{{"N", 3}};
  const auto partly = json::parse(layerJson(plan, 0, 0, &some));
  EXPECT_EQ(partly["Inputs"][0]["Dimensions"], json({3, -1}));
  EXPECT_EQ(partly["Outputs"][0]["Dimensions"], json({3, 6}));
  EXPECT_EQ(partly["Inputs"][0]["Format/Datatype"], "N/A due to dynamic shapes");
  EXPECT_EQ(partly["Outputs"][0]["Format/Datatype"], "Row major linear FP32");
  EXPECT_EQ(partly["Size"], json({3, 6}));
  const SymbolValues all{{"N", 3}, {"M", 9}};
  EXPECT_NE(layerText(plan, 0, 0, &all).find("Dimensions: [3,9], Format/Datatype: Row major linear FP32"),
            std::string::npos);
}

TEST(PlanInspector, FormatsAreDescribedAsTensorRTDoes) {
  EXPECT_EQ(formatDescription(DataType::kF32, Layout::kLinear, 4), "Row major linear FP32");
  EXPECT_EQ(formatDescription(DataType::kF16, Layout::kLinear, 4), "Row major linear FP16 format");
  EXPECT_EQ(formatDescription(DataType::kBF16, Layout::kLinear, 4), "Row major linear BFloat16 format");
  EXPECT_EQ(formatDescription(DataType::kI8, Layout::kLinear, 4), "Row major Int8 format");
  EXPECT_EQ(formatDescription(DataType::kU8, Layout::kLinear, 4), "Row major linear UInt8 format");
  EXPECT_EQ(formatDescription(DataType::kI32, Layout::kLinear, 1), "Row major linear Int32");
  EXPECT_EQ(formatDescription(DataType::kI64, Layout::kLinear, 1), "Row major linear Int64 format");
  EXPECT_EQ(formatDescription(DataType::kBool, Layout::kLinear, 1), "Row major linear BOOL");
  EXPECT_EQ(formatDescription(DataType::kF32, Layout::kChannelsLast, 4), "Channel major FP32 format");
  EXPECT_EQ(formatDescription(DataType::kF32, Layout::kChannelsLast, 5),
            "Channel major FP32 format with 3 spatial dimensions");
  EXPECT_EQ(formatDescription(DataType::kF16, Layout::kBlocked16, 4),
            "Sixteen wide channel vectorized row major FP16 format");
}

TEST(PlanInspector, NamesStayWithinTheirLine) {
  Plan plan = planOf("softmax{}", {{{"2", "3"}}}, {"2", "3"});
  auto& step = plan.programs[0].steps[0];
  step.name = "a \"quoted\"\nName: forged\x1b[2J\x7f";
  plan.programs[0].tensors[0].name = "in\\put\t";
  EXPECT_EQ(json::parse(layerJson(plan, 0, 0))["Name"], step.name);
  EXPECT_EQ(json::parse(layerJson(plan, 0, 0))["Inputs"][0]["Name"], "in\\put\t");
  const auto line = layerText(plan, 0, 0);
  EXPECT_EQ(line.find_first_of("\n\x1b\t\x7f"), std::string::npos) << line;
  plan.profilingVerbosity = 0;
  EXPECT_EQ(layerText(plan, 0, 0), "a \"quoted\"\\u000aName: forged\\u001b[2J\\u007f");
}

TEST(PlanInspector, ViewsAndCopiesAreNoOpsAndReformats) {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"8"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"8"});
  const int32_t v = hand.view("v", t, {"4"});
  const int32_t y = hand.output("y", DataType::kF32, {"4"});
  hand.step("work", test::pointwise("relu(x0)"), {x}, {t});
  hand.sharedStep("part", {t}, {v});
  hand.copy("copy", v, y);
  hand.plan().profilingVerbosity = 2;
  const Plan plan = hand.finish();
  const auto engine = json::parse(engineJson(plan, 0));
  ASSERT_EQ(engine["Layers"].size(), 3U);
  EXPECT_EQ(engine["Layers"][1]["LayerType"], "NoOp");
  EXPECT_FALSE(engine["Layers"][1].contains("ParameterType"));
  EXPECT_EQ(engine["Layers"][1]["TacticValue"], "0x0000000000000000");
  EXPECT_EQ(engine["Layers"][2]["LayerType"], "Reformat");
  EXPECT_EQ(engine["Layers"][2]["Origin"], "REFORMAT");
}

TEST(PlanInspector, NamesLeadFromLayerToLayerThroughViewsWithoutSteps) {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"2", "4"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"2", "4"});
  const int32_t flat = hand.view("flat", t, {"8"});
  const int32_t y = hand.output("y", DataType::kF32, {"8"});
  hand.step("one", test::pointwise("relu(x0)"), {x}, {t});
  hand.step("two", test::pointwise("exp(x0)"), {flat}, {y});
  hand.plan().profilingVerbosity = 2;
  const Plan plan = hand.finish();
  const auto input = json::parse(layerJson(plan, 0, 1))["Inputs"][0];
  EXPECT_EQ(input["Name"], "t");
  EXPECT_EQ(input["View"], "flat");
  EXPECT_EQ(input["Dimensions"], json({8}));
  EXPECT_NE(layerText(plan, 0, 1).find("Inputs: [ { Name: t,"), std::string::npos);
}

TEST(PlanInspector, IndependentStepsAreOnTheirStreams) {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"1000"});
  const int32_t a = hand.tensor("a", DataType::kF32, {"1000"});
  const int32_t b = hand.tensor("b", DataType::kF32, {"1000"});
  const int32_t y = hand.output("y", DataType::kF32, {"1000"});
  hand.step("one", test::pointwise("exp(x0)"), {x}, {a});
  hand.step("two", test::pointwise("log(x0)"), {x}, {b});
  hand.step("both", test::pointwise("add(x0,x1)"), {a, b}, {y});
  hand.plan().profilingVerbosity = 2;
  Plan plan = hand.finish();
  EXPECT_EQ(json::parse(layerJson(plan, 0, 1))["StreamId"], 0);
  plan.programs[0].auxStreams = 1;
  EXPECT_EQ(json::parse(layerJson(plan, 0, 0))["StreamId"], 0);
  EXPECT_EQ(json::parse(layerJson(plan, 0, 1))["StreamId"], 1);
}

TEST(PlanInspector, TacticAndMetadataAreKeptInTheFile) {
  const Plan plan = planOf("softmax{}", {{{"2", "3"}}}, {"2", "3"});
  Plan whole = test::smallPlan(false);
  whole.programs[0].steps[0].tacticValue = plan.programs[0].steps[0].tacticValue;
  whole.programs[0].steps[0].metadata = plan.programs[0].steps[0].metadata;
  const auto back = read(Blob::copyOf(write(whole)));
  EXPECT_EQ(back.programs[0].steps[0].tacticValue, 0x1bde0e1d9f2f35dU);
  EXPECT_EQ(back.programs[0].steps[0].metadata, "[ONNX Layer: a]\x1e[ONNX Layer: b]");
}

}  // namespace
}  // namespace tenon::plan
