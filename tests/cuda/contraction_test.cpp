// Convolutions, matrix products and attention on a GPU against the reference, each candidate of each case forced in
// turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/cuda/cublas/blas_matmul.h"
#include "backends/cuda/driver/cuda_device.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

struct Case {
  std::string name;
  std::string op;  // text of the operator
  DataType dtype;
  std::vector<Dims> inputs;  // the second and those named in `constants` are constants
  bool tf32 = false;
  bool constantWeights = true;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

double tolerance(const Case& c) {
  if (c.dtype == DataType::kBF16) return 2e-2;
  if (c.dtype == DataType::kF16) return 3e-3;
  return c.tf32 ? 2e-3 : 1e-5;
}

std::string graphText(const Case& c) {
  const auto op = ops::Operator::parse(c.op);
  std::vector<ops::TensorType> types;
  std::string text = "graph \"case\" {\n";
  std::string operands;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    types.push_back({c.dtype, toShape(c.inputs[i]), std::nullopt});
    const bool constant = (i == 1 && c.constantWeights) || c.inputs[i].rank == 1;
    text += fmt::format("  {} %v{} : {}{}{}\n", constant ? "const" : "input", i, name(c.dtype),
                        tenon::text(toShape(c.inputs[i])), constant ? fmt::format(" = random({})", i + 5) : "");
    operands += fmt::format("{}%v{}", i == 0 ? "" : ", ", i);
  }
  if (c.op.find("emptyIsZero=true") != std::string::npos) {
    // The last operand decides which keys are left out: with some rows, all.
    text += fmt::format(
        "  %closed : {}{} = pointwise{{expr=\"greater(x0,0.25);mul(x0,0);select(t0,t1,-inf)\"}}(%v{}) \"mask\"\n",
        name(c.dtype), tenon::text(types.back().shape), c.inputs.size() - 1);
    operands.replace(operands.rfind("%v"), std::string::npos, "%closed");
  }
  const auto result = op.infer("case", types);
  text += fmt::format("  %y : {}{} = {}({}) \"node\" from(\"layer\")\n  output %y\n}}", name(result[0].dtype),
                      tenon::text(result[0].shape), op.text(), operands);
  return text;
}

// Device memory that goes when the test does.
struct Buffer {
  explicit Buffer(const TensorView& view) : view(view), data(cuda::cudaDevice().allocate(view.bytes(), 256)) {
    cuda::cudaDevice().copy(data, view.data, view.bytes(), runtime::CopyKind::kHostToDevice, nullptr);
    cuda::cudaDevice().synchronize(nullptr);
  }
  ~Buffer() { cuda::cudaDevice().free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  TensorView view;
  void* data;
};

double errorOf(const graph::Graph& graph, const compile::BuildOptions& options, const std::vector<HostTensor>& inputs,
               const HostTensor& expected, Log& log) {
  const auto made = runtime::Engine::make(compile::build(graph, options), {}, log);
  const auto engine = runtime::Engine::load(made->serialize(), {}, log);
  runtime::Context context(engine, {}, log);
  std::vector<std::unique_ptr<Buffer>> buffers;
  const HostTensor got(expected.view().dtype, expected.view().dims);
  for (const auto& input : inputs) buffers.push_back(std::make_unique<Buffer>(input.view()));
  buffers.push_back(std::make_unique<Buffer>(got.view()));
  for (size_t i = 0; i < buffers.size(); ++i) context.setAddress(static_cast<int>(i), buffers[i]->data);
  for (int repeat = 0; repeat < 2; ++repeat) context.enqueue(nullptr);
  cuda::cudaDevice().synchronize(nullptr);
  cuda::cudaDevice().copy(got.view().data, buffers.back()->data, got.view().bytes(), runtime::CopyKind::kDeviceToHost,
                          nullptr);
  cuda::cudaDevice().synchronize(nullptr);
  return relativeError(got.view(), expected.view());
}

class Contractions : public ::testing::TestWithParam<Case> {};

TEST_P(Contractions, EveryCandidateIsRight) {
  const auto& reason = cuda::unavailableReason();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const auto& c = GetParam();
  const auto graph = graph::parse(graphText(c));
  std::vector<HostTensor> inputs;
  for (const auto id : graph.inputs()) {
    inputs.push_back(
        randomTensor(c.dtype, evaluate(graph.value(id).type.shape, {}), static_cast<int>(inputs.size()) + 1));
  }
  const auto expected = graph::evaluate(graph, views(inputs));
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.tf32 = c.tf32;
  options.log = &log;
  std::vector<std::string> names;
  std::string forced;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (!node.op.facts().contraction && node.op.name() != "attention") return candidates;
    if (forced.empty()) {
      for (const auto& candidate : candidates) names.push_back(candidate.text());
    } else {
      std::erase_if(candidates, [&](const compile::Candidate& candidate) { return candidate.text() != forced; });
    }
    return candidates;
  };
  EXPECT_LE(errorOf(graph, options, inputs, expected[0], log), tolerance(c)) << "as chosen without measuring";
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  int refused = 0;
  double worst = 0;
  for (const auto& candidate : names) {
    forced = candidate;
    try {
      const double error = errorOf(graph, options, inputs, expected[0], log);
      worst = std::max(worst, error);
      EXPECT_LE(error, tolerance(c)) << candidate;
    } catch (const Unsupported& error) {
      ++refused;
      std::cout << "  refused: " << candidate << ": " << std::string(error.what()).substr(0, 300) << "\n";
    }
  }
  std::cout << c.name << ": " << names.size() << " candidates, " << refused << " refused, worst error " << worst
            << "\n";
  EXPECT_LT(refused, static_cast<int>(names.size()));
}

const std::string kSame = "convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true";

std::vector<Case> convolutions() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& op, const std::vector<Dims>& inputs,
                       bool halves = true) {
    cases.push_back({name + "_f32", op, DataType::kF32, inputs});
    cases.push_back({name + "_tf32", op, DataType::kF32, inputs, true});
    if (!halves) return;
    cases.push_back({name + "_f16", op, DataType::kF16, inputs});
    cases.push_back({name + "_bf16", op, DataType::kBF16, inputs});
  };
  add("relu", kSame + " epilogue=\"relu(x0)\"}", {{1, 64, 14, 14}, {64, 64, 3, 3}, {64}});
  add("residual", kSame + " epilogue=\"add(x0,x1);relu(t0)\"}", {{2, 32, 9, 11}, {48, 32, 3, 3}, {48}, {2, 48, 9, 11}});
  add("plain", "convolution", {{1, 16, 8, 8}, {24, 16, 1, 1}});
  add("hardswish", kSame + " epilogue=\"hard_sigmoid(x0,0.2,0.5);mul(x0,t0)\"}",
      {{1, 16, 12, 12}, {32, 16, 3, 3}, {32}});
  add("swish", kSame + " epilogue=\"sigmoid(x0);mul(x0,t0)\"}", {{1, 16, 12, 12}, {32, 16, 3, 3}, {32}});
  add("clip", kSame + " epilogue=\"clip(x0,0,6)\"}", {{1, 16, 12, 12}, {32, 16, 3, 3}, {32}});
  add("few_channels",
      "convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue=\"relu(x0)\"}",
      {{1, 3, 32, 32}, {16, 3, 7, 7}, {16}});
  add("odd", "convolution{prePadding=[2,1] postPadding=[1,1] strides=[2,1] hasBias=true}",
      {{3, 5, 13, 7}, {7, 5, 3, 3}, {7}});
  add("dilated", "convolution{dilations=[2,2] prePadding=[2,2] postPadding=[2,2]}", {{1, 16, 10, 10}, {16, 16, 3, 3}});
  add("grouped", "convolution{groups=4 prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"relu(x0)\"}",
      {{1, 32, 10, 10}, {64, 8, 3, 3}, {64}});
  add("depthwise", "convolution{groups=32 prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"relu(x0)\"}",
      {{2, 32, 10, 10}, {32, 1, 3, 3}, {32}});
  add("line", "convolution{hasBias=true epilogue=\"relu(x0)\"}", {{2, 8, 50}, {16, 8, 3}, {16}});
  add("volume", "convolution{hasBias=true}", {{1, 8, 6, 7, 8}, {16, 8, 3, 3, 3}, {16}}, false);
  add("transposed", "deconvolution{strides=[2,2] hasBias=true epilogue=\"relu(x0)\"}",
      {{1, 16, 7, 7}, {16, 8, 2, 2}, {8}});
  add("transposed_padded", "deconvolution{strides=[2,2] prePadding=[1,1] postPadding=[0,0]}",
      {{1, 16, 7, 7}, {16, 8, 3, 3}});
  return cases;
}

std::vector<Case> products() {
  // Odd, and some tiles of any kernel; on a GPU also more than its multiprocessors take at once.
  const int64_t columns = std::getenv("TENON_TEST_EMULATED") != nullptr ? 515 : 2051;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& op, const std::vector<Dims>& inputs,
                       bool constantWeights = true) {
    cases.push_back({name + "_f32", op, DataType::kF32, inputs, false, constantWeights});
    cases.push_back({name + "_tf32", op, DataType::kF32, inputs, true, constantWeights});
    cases.push_back({name + "_f16", op, DataType::kF16, inputs, false, constantWeights});
    cases.push_back({name + "_bf16", op, DataType::kBF16, inputs, false, constantWeights});
  };
  add("plain", "matmul", {{64, 96}, {96, 128}});
  add("one_row", "matmul", {{1, 256}, {256, 1000}});
  add("odd", "matmul", {{13, 31}, {31, 7}});
  add("bias", "matmul{epilogue=\"add(x0,x1)\"}", {{2, 17, 64}, {64, 48}, {48}});
  add("bias_relu", "matmul{transposeB=true epilogue=\"add(x0,x1);relu(t0)\"}", {{33, 64}, {48, 64}, {48}});
  add("bias_gelu_tanh", "matmul{epilogue=\"add(x0,x1);gelu_tanh(t0)\"}", {{64, 64}, {64, 256}, {256}});
  add("bias_gelu_erf", "matmul{epilogue=\"add(x0,x1);gelu_erf(t0)\"}", {{64, 64}, {64, 256}, {256}});
  add("bias_residual", "matmul{epilogue=\"add(x0,x1);add(t0,x2)\"}", {{2, 16, 64}, {64, 32}, {32}, {2, 16, 32}});
  add("scaled", "matmul{transposeB=true epilogue=\"mul(x0,0.125)\"}", {{2, 4, 24, 64}, {2, 4, 24, 64}}, false);
  add("batched", "matmul", {{2, 4, 24, 24}, {2, 4, 24, 64}}, false);
  add("sums", "matmul{transposeB=true epilogue=\"cast.f32(x0)\"}", {{2, 16, 64}, {1000, 64}});
  add("sums_odd", "matmul{transposeB=true epilogue=\"cast.f32(x0)\"}", {{2, 64, 64}, {columns, 64}});
  add("bias_odd", "matmul{transposeB=true epilogue=\"add(x0,x1);relu(t0)\"}", {{260, 16}, {columns, 16}, {columns}});
  add("relu_odd", "matmul{transposeB=true epilogue=\"relu(x0)\"}", {{260, 16}, {columns, 16}});
  add("broadcast_a", "matmul", {{1, 24, 32}, {6, 32, 16}}, false);
  add("transposed_a", "matmul{transposeA=true}", {{3, 32, 24}, {3, 32, 16}}, false);
  add("masked", "matmul{transposeB=true epilogue=\"mul(x0,0.125);add(t0,x1)\"}",
      {{2, 4, 24, 64}, {2, 4, 24, 64}, {2, 1, 1, 24}}, false);
  return cases;
}

std::vector<Case> attentions() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& fields, const std::vector<Dims>& inputs) {
    for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
      cases.push_back(
          {fmt::format("{}_{}", name, tenon::name(type)), "attention{" + fields + "}", type, inputs, false, false});
    }
  };
  add("apart", "scale=0.25", {{2, 3, 20, 16}, {2, 3, 31, 16}, {2, 3, 31, 16}});
  add("apart_masked", "scale=0.125 hasMask=true", {{2, 3, 40, 64}, {2, 3, 40, 64}, {2, 3, 40, 64}, {2, 1, 1, 40}});
  add("three_axes", "scale=0.5", {{5, 9, 8}, {5, 7, 8}, {5, 7, 24}});
  add("matrices", "scale=1", {{9, 8}, {130, 8}, {130, 5}});
  add("heads", "heads=4 scale=0.25", {{2, 24, 64}, {2, 30, 64}, {2, 30, 64}});
  add("heads_masked", "heads=4 scale=0.25 hasMask=true", {{2, 24, 64}, {2, 24, 64}, {2, 24, 64}, {24, 24}});
  add("packed", "heads=4 scale=0.125 packed=true", {{2, 37, 768}});
  add("packed_masked", "heads=2 scale=0.125 packed=true hasMask=true", {{3, 128, 384}, {3, 1, 1, 128}});
  add("empty_rows", "heads=4 scale=0.25 hasMask=true emptyIsZero=true",
      {{2, 24, 64}, {2, 3, 64}, {2, 3, 64}, {2, 1, 24, 3}});
  add("empty_packed", "heads=2 scale=0.125 packed=true hasMask=true emptyIsZero=true", {{3, 70, 384}, {3, 1, 70, 1}});
  add("long", "heads=2 scale=0.125 packed=true", {{1, 300, 384}});
  return cases;
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Convolution, Contractions, ::testing::ValuesIn(convolutions()), kName);
INSTANTIATE_TEST_SUITE_P(Attention, Contractions, ::testing::ValuesIn(attentions()), kName);
INSTANTIATE_TEST_SUITE_P(Product, Contractions, ::testing::ValuesIn(products()), kName);

// One product computes the columns of all, and what reads them finds them in its memory.
TEST_F(OnGpu, ProductsOfOneRowShareTheirMemory) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[1,1,96]
  const %q : f32[96,64] = random(1)
  const %k : f32[96,128] = random(2)
  const %v : f32[96,40] = random(3)
  const %b : f32[64] = random(4)
  const %c : f32[128] = random(5)
  const %d : f32[40] = random(6)
  %qx : f32[1,1,64] = matmul{epilogue="add(x0,x1)"}(%x, %q, %b) "query"
  %kx : f32[1,1,128] = matmul{epilogue="add(x0,x1)"}(%x, %k, %c) "key"
  %vx : f32[1,1,40] = matmul{epilogue="add(x0,x1)"}(%x, %v, %d) "value"
  %r : f32[1,1,64] = softmax{axis=2}(%qx) "r"
  %s : f32[1,1,128] = softmax{axis=2}(%kx) "s"
  %t : f32[1,1,40] = softmax{axis=2}(%vx) "t"
  output %r
  output %s
  output %t
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {1, 1, 96}, 7));
  const auto expected = graph::evaluate(graph, views(inputs));
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;
  int products = 0, places = 0;
  const auto plan = compile::build(graph, options);
  for (const auto& step : plan.programs[0].steps) {
    products += step.kind == plan::StepKind::kLaunch && step.layerType == "matmul";
    places += step.kind == plan::StepKind::kView;
  }
  EXPECT_EQ(products, 1);
  EXPECT_EQ(places, 3);
  const auto got = runOnGpu(graph, inputs, options).outputs;
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_LE(relativeError(got[i].view(), expected[i].view()), 1e-5) << i;
}

runtime::TensorShape shape(const Dims& dims) { return {DataType::kF16, dims, Layout::kLinear}; }

TEST(Blas, EpiloguesAreRecognisedExactly) {
  const Dims result{2, 16, 32};
  const std::vector<runtime::TensorShape> extras{shape({32}), shape({2, 16, 32}), shape({16, 32})};
  const auto match = [&](std::string_view expr) {
    return cuda::matchEpilogue(ops::parseScalarExpr(expr), extras, result);
  };
  const auto biased = match("add(x0,x1);gelu_tanh(t0)");
  ASSERT_TRUE(biased);
  EXPECT_EQ(biased->bias, 1);
  EXPECT_EQ(biased->activation, cuda::BlasEpilogue::Activation::kGeluTanh);
  const auto whole = match("mul(x0,0.5);div(t0,4);add(x2,t1);add(t2,x1);relu(t3)");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->alpha, 0.125f);
  EXPECT_EQ(whole->residual, 2);
  EXPECT_EQ(whole->bias, 1);
  EXPECT_TRUE(match(""));
  for (const char* other : {"add(x0,x1);gelu_erf(t0)", "add(x0,x1);mul(t0,0.5)", "relu(x0);add(t0,x1)", "add(x0,x3)",
                            "add(x0,x1);add(t0,x1)", "add(x0,x2);add(t0,x2)", "sigmoid(x0);mul(x0,t0)", "add(x1,x2)",
                            "add(x0,x0)", "sub(x0,x1)", "add(x0,1)"}) {
    EXPECT_FALSE(match(other)) << other;
  }
}

TEST(Blas, ChoicesHaveTextThatReadsBack) {
  for (const std::string text :
       {"parted,exact,4:1,2,3,4,5,6,7,8", "whole,tf32,21:20,5,1,0,0,0,0,2", "bare,exact,0:0,0,0,0,0,0,0,0"}) {
    EXPECT_EQ(cuda::BlasChoice::parse(text).text(), text);
  }
  EXPECT_THROW(cuda::BlasChoice::parse("whole,tf32,21:1,2"), UserError);
}

}  // namespace
}  // namespace tenon::test
