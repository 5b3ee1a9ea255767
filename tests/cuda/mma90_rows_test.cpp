// Products whose rows are normalized by the clusters that compute them: each shape of tiles, means far from zero, sums
// that are kept, the last tile of fewer rows; what is proposed, and for which composites.
#include <algorithm>
#include <cmath>

#include "backends/cuda/driver/code_cache.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "compile/assignment.h"
#include "cuda/forced_shape.h"

namespace tenon::test {
namespace {

using backends::cuda::Mma90Shape;

struct Rows {
  int64_t rows, columns, inner;
  bool keeps = false;
  std::string type = "f16";
  bool centered = true;
  double mean = 0;  // of the residual, whose deviation is 1
  std::string epilogue = "add(x0,x1);add(t0,x2)";
};

std::string graphOf(const Rows& p) {
  const bool reads = p.epilogue.find("x2") != std::string::npos;
  return fmt::format(R"g(graph "rows" {{
  input %x : {type}[{rows},{inner}]
  input %r : {type}[{rows},{columns}]
  const %w : {type}[{inner},{columns}] = random(5)
  const %b : {type}[{columns}] = random(6)
  const %s : {type}[{columns}] = random(3)
  const %t : {type}[{columns}] = random(4)
  %y : {type}[{rows},{columns}]{kept} = composite{{parts=[{{matmul{{epilogue="{epilogue}"}} [{operands}]}},{{normalization{{axes=[-1] centered={centered}}} [-1,{scale},{shift}]}}] outputs=[1{first}]}}(%x, %w, %b{read}, %s, %t) "n"
  output %y
{output}}})g",
                     fmt::arg("type", p.type), fmt::arg("rows", p.rows), fmt::arg("inner", p.inner),
                     fmt::arg("columns", p.columns), fmt::arg("epilogue", p.epilogue),
                     fmt::arg("kept", p.keeps ? fmt::format(", %k : {}[{},{}]", p.type, p.rows, p.columns) : ""),
                     fmt::arg("operands", reads ? "0,1,2,3" : "0,1,2"), fmt::arg("centered", p.centered),
                     fmt::arg("scale", reads ? 4 : 3), fmt::arg("shift", reads ? 5 : 4),
                     fmt::arg("first", p.keeps ? ",0" : ""), fmt::arg("read", reads ? ", %r" : ""),
                     fmt::arg("output", p.keeps ? "  output %k\n" : ""));
}

std::string missing() { return backends::cuda::mma90Missing(); }

// The greatest of the outputs' relative errors; `shape` is forced, or the first one that is proposed.
double errorOf(const Rows& p, const std::string& shape) {
  const auto graph = graph::parse(graphOf(p));
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(parseDataType(p.type), {p.rows, p.inner}, 1));
  inputs.push_back(randomTensor(parseDataType(p.type), {p.rows, p.columns}, 2));
  const auto view = inputs[1].view();
  for (int64_t i = 0; i < p.rows * p.columns; ++i)
    storeDouble(view.dtype, view.data, i, loadDouble(view.dtype, view.data, i) + p.mean);
  return worstErrorInShape(graph, inputs, "cuda.mma90_rows", shape);
}

TEST_F(OnGpu, ProductsWithNormalizedRowsInEveryShape) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const char* shape : {"16x3x1,1,3r", "48x3x1,1,4r", "80x3x1,1,3r"})
    EXPECT_LE(errorOf({61, 192, 328}, shape), 2e-3) << shape;
  for (const char* shape : {"16x1x1,6,3r", "32x3x1,2,4r", "64x2x1,3,3r", "48x2x1,3,3r"})
    EXPECT_LE(errorOf({67, 384, 200}, shape), 2e-3) << shape;
  for (const char* shape : {"16x3x1,4,3r", "96x3x1,4,3r", "80x4x1,3,3r", "144x3x1,4,5r", "32x2x1,6,5r"})
    EXPECT_LE(errorOf({145, 768, 264, true}, shape), 2e-3) << shape;
  EXPECT_LE(errorOf({33, 512, 64}, "32x1x1,8,3r"), 2e-3);
  EXPECT_LE(errorOf({200, 192, 72, true}, "160x3x1,1,3r"), 2e-3);
  EXPECT_LE(errorOf({200, 64, 72}, "240x1x1,1,3r"), 2e-3);
}

TEST_F(OnGpu, ProductsWithNormalizedRowsOfOtherKinds) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const char* const shape = "32x2x1,2,3r";
  for (const bool keeps : {false, true}) {
    EXPECT_LE(errorOf({37, 256, 136, keeps, "bf16"}, shape), 1.5e-2);
    EXPECT_LE(errorOf({37, 256, 136, keeps, "f16", false}, shape), 2e-3);
    EXPECT_LE(errorOf({37, 256, 136, keeps, "f16", true, 0, "add(x0,x1)"}, shape), 2e-3);
    EXPECT_LE(errorOf({37, 256, 136, keeps, "f16", false, 0, "add(x0,x1);relu(t0)"}, shape), 2e-3);
  }
  for (const double mean : {8., -8., 100.})  // deviations: halves leave few digits of the last
    EXPECT_LE(errorOf({19, 256, 136, false, "f16", true, mean}, shape), mean > 10 ? 2e-2 : 4e-3) << mean;
  EXPECT_LE(errorOf({1, 256, 136}, shape), 2e-3);
  EXPECT_LE(errorOf({1000, 128, 64}, ""), 2e-3);
}

// What is no number stays in its row, whose blocks tell each other of it.
TEST_F(OnGpu, ProductsWithNormalizedRowsThatAreNoNumbers) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const bool centered : {true, false}) {
    const auto graph = graph::parse(graphOf({37, 256, 136, true, "f16", centered}));
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {37, 136}, 1));
    inputs.push_back(randomTensor(DataType::kF16, {37, 256}, 2));
    const auto put = [&](int64_t row, int64_t column, double value) {
      storeDouble(DataType::kF16, inputs[1].view().data, row * 256 + column, value);
    };
    put(3, 5, NAN);
    put(17, 200, INFINITY);
    put(36, 255, -INFINITY);
    EXPECT_LE(worstErrorInShape(graph, inputs, "cuda.mma90_rows", "32x2x1,2,3r"), 2e-3) << centered;
  }
}

const compile::Tactic& rowsTactic() {
  for (const auto* tactic : compile::tacticsOf("cuda")) {
    if (tactic->name() == "cuda.mma90_rows") return *tactic;
  }
  throw std::logic_error("no tactic cuda.mma90_rows");
}

TEST(ProductsWithNormalizedRows, WhatIsProposed) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const auto& tactic = rowsTactic();
  for (const auto& p : {Rows{4096, 768, 768}, Rows{6304, 768, 3072, true}, Rows{50000, 1024, 1024}}) {
    const auto graph = graph::parse(graphOf(p));
    const auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {});
    ASSERT_TRUE(tactic.supports(problem)) << tactic.supports(problem).reason;
    const auto candidates = tactic.candidates(problem);
    EXPECT_GE(candidates.size(), 3u);
    size_t compiled = 0;
    for (const auto& candidate : candidates) {
      const auto shape = Mma90Shape::parse(candidate.variant);
      EXPECT_EQ(shape.text(), candidate.variant);
      EXPECT_TRUE(shape.hasWholeRows());
      EXPECT_EQ(shape.parts * shape.columnGroups * 64, p.columns);
      EXPECT_LE(shape.sharedBytes(), backends::cuda::kMma90MostShared);
      if (compiled++ > 0) continue;
      const auto record = rowsTactic().build(problem, candidate);
      const backends::cuda::Mma90Record read(backends::cuda::Mma90RowsComposite(problem.op), record);
      EXPECT_FALSE(backends::cuda::compile(read.code().source(), 90).empty()) << shape.text();
    }
  }
  for (const auto& p : {Rows{64, 200, 64}, Rows{64, 4096, 64}, Rows{64, 256, 60}, Rows{64, 256, 64, false, "f32"}}) {
    const auto graph = graph::parse(graphOf(p));
    EXPECT_FALSE(tactic.supports(compile::makeProblem(graph, graph.node(graph.order()[0]), {}))) << p.columns;
  }
}

}  // namespace
}  // namespace tenon::test
