// Scalar expressions over broadcast operands in both strided formats, and sums over images, against plain loops.
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "core/strided.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

using backends::cpu::PointwiseRunner;

std::vector<float> numbers(int64_t count, uint64_t seed) {
  const auto tensor = randomTensor(DataType::kF32, Dims{count}, seed);
  std::vector<float> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) result[static_cast<size_t>(i)] = static_cast<float>(tensor.view().loadDouble(i));
  return result;
}

// x0 * x1 + x2 with operands that broadcast to `space`, all in one format.
void check(const Dims& space, const std::vector<Dims>& operands, Layout format) {
  SCOPED_TRACE(
      fmt::format("{} from {} {} {}", space.text(), operands[0].text(), operands[1].text(), operands[2].text()));
  std::vector<runtime::TensorShape> shapes;
  std::vector<std::vector<float>> data;
  std::vector<void*> addresses;
  std::vector<Strides> strides;
  for (const auto& dims : operands) {
    shapes.push_back({DataType::kF32, dims, format});
    data.push_back(numbers(dims.count(), 7 + data.size()));
    strides.push_back(stridesWithin(dims, format, space));
  }
  for (auto& values : data) addresses.push_back(values.data());
  PointwiseRunner runner(ops::parseScalarExpr("mul(x0,x1);add(t0,x2)"));
  runner.configure(shapes, {DataType::kF32, space, format});
  constexpr float kGuard = 77;
  std::vector<float> got(static_cast<size_t>(space.count()) + 32, kGuard);
  runner.run(addresses.data(), got.data());
  const auto own = stridesOf(space, format);
  const auto rows = space.strides();
  for (int64_t i = 0; i < space.count(); ++i) {
    int64_t at[4] = {};
    for (int axis = 0; axis < space.rank; ++axis) {
      const int64_t index = i / rows[static_cast<size_t>(axis)] % space[axis];
      for (size_t k = 0; k < 3; ++k) at[k] += index * strides[k][static_cast<size_t>(axis)];
      at[3] += index * own[static_cast<size_t>(axis)];
    }
    const float expected =
        data[0][static_cast<size_t>(at[0])] * data[1][static_cast<size_t>(at[1])] + data[2][static_cast<size_t>(at[2])];
    ASSERT_NEAR(got[static_cast<size_t>(at[3])], expected, 1e-6f) << "element " << i;
  }
  for (size_t i = static_cast<size_t>(space.count()); i < got.size(); ++i)
    ASSERT_EQ(got[i], kGuard) << "written behind the end";
}

TEST(Broadcast, ShortRows) {
  for (int64_t inner = 1; inner <= 9; ++inner) {
    const Dims space{3, 5, 37, inner};
    check(space, {space, Dims{3, 5, 37, 1}, Dims{3, 5, 1, inner}}, Layout::kLinear);
    check(space, {Dims{3, 1, 37, 1}, space, Dims{1, 5, 37, inner}}, Layout::kLinear);
    check(space, {Dims{1, 1, 1, inner}, Dims{1, 5, 37, 1}, Dims{3, 1, 1, 1}}, Layout::kLinear);
  }
}

// Several slices are one block.
TEST(Broadcast, SlicesOfShortRows) {
  for (const auto& space : {Dims{300, 100, 2}, Dims{701, 7, 3}, Dims{65, 4, 49}, Dims{3, 2, 2}, Dims{130, 33, 5}}) {
    const int64_t slices = space[0], rows = space[1], inner = space[2];
    check(space, {space, Dims{slices, 1, inner}, Dims{1, rows, 1}}, Layout::kLinear);
    check(space, {Dims{slices, 1, 1}, space, Dims{1, rows, inner}}, Layout::kLinear);
    check(space, {Dims{1, rows, 1}, Dims{slices, rows, 1}, Dims{slices, 1, inner}}, Layout::kLinear);
  }
}

TEST(Broadcast, ScalesOfChannels) {
  for (const auto format : {Layout::kLinear, Layout::kChannelsLast}) {
    for (const int64_t channels : {1, 3, 16, 17, 88, 96, 255, 256, 257, 600}) {
      for (const int64_t width : {1, 2, 5, 16, 33}) {
        const Dims image{2, channels, 3, width};
        check(image, {image, Dims{2, channels, 1, 1}, image}, format);
        check(image, {Dims{1, channels, 1, 1}, image, Dims{1, 1, 1, 1}}, format);
        check(image, {image, Dims{2, 1, 3, width}, Dims{1, channels, 1, width}}, format);
        check(image, {Dims{2, channels, 3, 1}, Dims{1, 1, 3, 1}, Dims{2, 1, 1, 1}}, format);
      }
    }
  }
}

TEST(Broadcast, NothingIsComputedForNoElements) {
  check(Dims{2, 0, 3, 4}, {Dims{2, 0, 3, 4}, Dims{1, 1, 1, 1}, Dims{1, 0, 1, 1}}, Layout::kChannelsLast);
}

TEST(Broadcast, SumsOverImages) {
  for (const int64_t channels : {1, 4, 15, 16, 31, 32, 33, 100, 300}) {
    for (const int64_t extent : {1, 7, 40}) {
      const auto graph = fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},{1},{1}]
  %y : f32[2,{0},1,1] = reduce{{op=avg axes=[2,3] keepDims=true}}(%x) "mean"
  output %y
}})g",
                                     channels, extent);
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.op.name() == "reduce")
          std::erase_if(candidates, [](const auto& c) { return c.inputs[0] != Layout::kChannelsLast; });
        return candidates;
      };
      SCOPED_TRACE(graph);
      expectMatchesReference(graph, {}, options);
    }
  }
}

}  // namespace
}  // namespace tenon::test
