// Products of cells by warpgroups. Deconvolutions: kernels that are as large as their strides, larger, and no multiple
// of them; results that begin and end within a cell; epilogues; volumes; what is refused. Convolutions to few channels.
#include "backends/cuda/kernels/mma90/mma90_cells.h"

#include <cstring>
#include <set>

#include "compile/assignment.h"
#include "cuda/forced_shape.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

std::string missing() { return backends::cuda::mma90Missing(); }

struct Deconvolved {
  std::string x, w, y, attributes;
  std::string type = "f16";
  std::string epilogue = "add(x0,x1);relu(t0)";  // x1: the bias
  std::string extra;                             // %r, like y, or empty
};

graph::Graph graphOf(const Deconvolved& d) {
  const auto channels = d.w.substr(d.w.find(',') + 1);
  return graph::parse(fmt::format(
      R"g(graph "d" {{
  input %x : {0}[{1}]
{6}
  const %w : {0}[{2}] = random(5)
  const %b : {0}[{3},1,1{8}] = random(6)
  %y : {0}[{4}] = deconvolution{{epilogue="{9}" {5}}}(%x, %w, %b{7}) "n"
  output %y
}})g",
      d.type, d.x, d.w, channels.substr(0, channels.find(',')), d.y, d.attributes,
      d.extra.empty() ? "" : fmt::format("  input %r : {}[{}]", d.type, d.y), d.extra.empty() ? "" : ", %r",
      std::count(d.x.begin(), d.x.end(), ',') == 4 ? ",1" : "", d.epilogue));
}

void expectRight(const Deconvolved& d, std::initializer_list<const char*> shapes, double most = 1.5e-3) {
  const auto graph = graphOf(d);
  for (const char* shape : shapes) EXPECT_LE(errorOfShape(graph, shape), most) << shape << ", " << d.w << d.attributes;
}

const char* const kBoth = "prePadding=[1,1] postPadding=[1,1]";

TEST_F(OnGpu, ProductsOfDeconvolutionsByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  // Cells of the kernel's size: a product of each place.
  expectRight({"3,40,5,7", "40,72,2,2", "3,72,10,14", "strides=[2,2]"}, {"16x1x1,1,1", "24x2x1,1,1", "40x4x1,1,1"});
  expectRight({"1,72,3,4", "72,24,3,2", "1,24,9,8", "strides=[3,2]"}, {"8x1x2,1,2", "16x1x1,1,2"});
  // Windows, of which the result leaves the first and last pixels out.
  const std::string halves = std::string("strides=[2,2] ") + kBoth;
  expectRight({"2,64,5,7", "64,40,4,4", "2,40,10,14", halves}, {"16x1x1,1,4", "24x1x2,2,4", "40x2x2,1,4"});
  // Kernels that are no whole cells; zeros behind the result; strides of one; one channel, and numbers that fill no
  // pack.
  expectRight({"2,40,5,6", "40,72,3,3", "2,72,10,12", "strides=[2,2] prePadding=[1,1] postPadding=[0,0]"},
              {"16x1x1,1,3", "32x2x1,1,4"});
  expectRight({"1,40,4,3", "40,16,5,3", "1,16,10,8", "strides=[2,2] prePadding=[2,0] postPadding=[-1,-1]"},
              {"16x1x1,1,3"});
  expectRight({"1,72,5,6", "72,40,3,3", "1,40,5,6", kBoth}, {"16x1x1,1,4", "16x1x2,3,4"});
  expectRight({"2,64,9,7", "64,3,4,4", "2,3,18,14", halves}, {"64x1x1,1,4", "24x1x2,2,4"});
  expectRight({"2,64,9,7", "64,1,2,2", "2,1,18,14", "strides=[2,2]"}, {"64x1x1,1,1"});
  // One place; the result within one cell.
  expectRight({"16,104,1,1", "104,24,4,4", "16,24,4,4", ""}, {"8x1x1,1,4", "16x4x1,2,2"});
  expectRight({"1,40,2,2", "40,24,4,4", "1,24,1,1", "strides=[4,4] prePadding=[2,2] postPadding=[5,5]"}, {"8x1x1,1,1"});
}

TEST_F(OnGpu, ProductsOfDeconvolutionsByWarpgroupsWithOtherOperands) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  Deconvolved d{"2,64,5,7", "64,40,4,4", "2,40,10,14", std::string("strides=[2,2] ") + kBoth};
  d.epilogue = "add(x0,x1);mul(t0,x2);tanh(t1)";
  d.extra = "%r";
  expectRight(d, {"16x1x1,1,4", "24x2x2,2,4"});
  d.type = "bf16";
  expectRight(d, {"16x1x1,1,4"}, 1.2e-2);
  d.type = "f32";
  expectRight(d, {"16x1x1,1,4", "24x1x2,2,4"}, 1e-3);
  expectRight(d, {"16x1x1,1,4e", "24x1x2,2,4e"}, 2e-6);
  d.w = "64,3,4,4", d.y = "2,3,10,14", d.type = "f16";
  expectRight(d, {"16x1x1,1,4"});
}

TEST_F(OnGpu, ProductsOfDeconvolutionsOfVolumesByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  expectRight({"2,40,3,4,2", "40,24,2,2,2", "2,24,6,8,4", "strides=[2,2,2]"}, {"16x1x1,1,1", "24x2x1,1,1"});
  expectRight({"2,40,3,4,2", "40,24,4,3,2", "2,24,6,4,3",
               "strides=[2,1,2] prePadding=[1,1,1]"
               " postPadding=[1,1,0]"},
              {"16x1x1,1,4", "24x1x2,2,4"});
}

// Each width of a network whose extents are open.
TEST_F(OnGpu, ProductsOfDeconvolutionsWithOpenExtents) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  const auto graph = graph::parse(R"g(graph "open" {
  symbol "N" = extent(%x, 0)
  symbol "W" = extent(%x, 3)
  input %x : f16[N,64,5,W]
  const %w : f16[64,24,4,4] = random(1)
  %y : f16[N,24,10,2*W] = deconvolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "n"
  output %y
})g");
  for (const int64_t width : {1, 3, 8}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {2, 64, 5, width}, 1));
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.profiles = {{{"x", {{1, 64, 5, 1}, {2, 64, 5, 3}, {2, 64, 5, 8}, {}, {}, {}}}}};
    options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.name() == "deconvolution")
        std::erase_if(candidates, [](const auto& one) { return one.tactic != "cuda.mma90_deconvolution"; });
      return candidates;
    };
    const auto run = runOnGpu(graph, inputs, options);
    const auto expected = graph::evaluate(graph, views(inputs));
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), 1.5e-3) << width;
  }
}

// Convolutions to few channels in candidates of both formats of the result, which may end within a cell.
TEST_F(OnGpu, ProductsOfCellsOfConvolutionsByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  struct Case {
    const char *x, *w, *y, *attributes, *type;
    double most;
  };
  for (const auto& c :
       {Case{"2,40,9,7", "3,40,3,3", "2,3,9,7", "prePadding=[1,1] postPadding=[1,1]", "f16", 1.5e-3},
        Case{"1,72,9,11", "1,72,5,4", "1,1,7,8", "prePadding=[1,0] postPadding=[1,0]", "f16", 1.5e-3},
        Case{"1,64,5,6", "8,64,3,3", "1,8,5,6", "prePadding=[1,1] postPadding=[1,1]", "f16", 1.5e-3},
        Case{"1,64,5,6", "16,64,2,2", "1,16,4,5", "", "bf16", 1.2e-2},
        Case{"2,64,37,1", "1,64,7,1", "2,1,37,1", "prePadding=[3,0] postPadding=[3,0]", "f16", 1.5e-3},
        Case{"1,40,3,5,6", "2,40,3,3,3", "1,2,3,5,6", "prePadding=[1,1,1] postPadding=[1,1,1]", "f16", 1.5e-3},
        Case{"1,40,9,7", "3,40,3,3", "1,3,7,5", "", "f32", 2e-6}}) {
    const auto graph =
        graph::parse(fmt::format(R"g(graph "few" {{
  input %x : {0}[{1}]
  const %w : {0}[{2}] = random(5)
  const %b : {0}[{3}{6}] = random(6)
  %y : {0}[{4}] = convolution{{epilogue="add(x0,x1);tanh(t0)" {5}}}(%x, %w, %b) "n"
  output %y
}})g",
                                 c.type, c.x, c.w, std::string(c.w).substr(0, std::string(c.w).find(',')), c.y,
                                 c.attributes, std::count(c.x, c.x + std::strlen(c.x), ',') == 4 ? ",1,1,1" : ",1,1"));
    std::vector<HostTensor> inputs;
    const auto& type = graph.value(graph.inputs()[0]).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), 3));
    const auto expected = graph::evaluate(graph, views(inputs));
    size_t count = 1;
    std::set<Layout> layouts;
    for (size_t turn = 0; turn < count; ++turn) {
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.op.name() != "convolution") return candidates;
        std::erase_if(candidates, [](const auto& one) { return one.tactic != "cuda.mma90_cell_convolution"; });
        count = candidates.size();
        if (turn < count) candidates = {candidates[turn]};
        if (turn < count) layouts.insert(candidates[0].outputs[0]);
        return candidates;
      };
      const auto run = runOnGpu(graph, inputs, options);
      EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), c.most) << c.w << " " << turn;
    }
    EXPECT_EQ(layouts.size(), std::string(c.w).starts_with("8,") || std::string(c.w).starts_with("16,") ? 1U : 2U)
        << c.w;
  }
}

std::string refusalOf(const Deconvolved& d) {
  const auto graph = graphOf(d);
  const auto& node = graph.node(graph.order().back());
  const auto& op = *node.op.as<ops::Deconvolution>();
  std::vector<runtime::TensorShape> inputs;
  for (const auto input : node.inputs) {
    const auto& type = graph.value(input).type;
    inputs.push_back(
        {type.dtype, evaluate(type.shape, {}), inputs.size() == 1 ? Layout::kLinear : Layout::kChannelsLast});
  }
  const auto& type = graph.value(node.outputs[0]).type;
  const std::vector<runtime::TensorShape> outputs{{type.dtype, evaluate(type.shape, {}), Layout::kChannelsLast}};
  return backends::cuda::Mma90CellProduct(op, {inputs, outputs, nullptr}).refusal;
}

TEST(Mma90, RefusesDeconvolutionsWithoutCells) {
  EXPECT_EQ(refusalOf({"2,64,5,7", "64,40,4,4", "2,40,12,16", "strides=[2,2]"}), "");
  EXPECT_NE(refusalOf({"2,64,5,7", "64,40,4,4", "2,40,15,19", "strides=[2,2] dilations=[2,2]"}), "");
  EXPECT_NE(refusalOf({"2,64,5,7", "64,1,4,4", "2,2,12,16", "strides=[2,2] groups=2"}), "");
  EXPECT_NE(refusalOf({"2,64,5,7", "64,40,1,1", "2,40,9,13", "strides=[2,2]"}), "");  // three of four pixels are zero
}

}  // namespace
}  // namespace tenon::test
