// MaxRoiPool against its definition: regions within, across and beyond the borders of images, and parts without pixels.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

struct Part {
  int64_t first, end;
};

Part partOf(float begin, float last, float scale, int64_t index, int64_t parts, int64_t extent) {
  const auto low = static_cast<int64_t>(std::round(begin * scale));
  const auto high = static_cast<int64_t>(std::round(last * scale));
  const float size = static_cast<float>(std::max<int64_t>(high - low + 1, 1)) / static_cast<float>(parts);
  const auto bounded = [&](float edge) { return std::clamp<int64_t>(static_cast<int64_t>(edge) + low, 0, extent); };
  return {bounded(std::floor(static_cast<float>(index) * size)),
          bounded(std::ceil(static_cast<float>(index + 1) * size))};
}

TEST(MaxRoiPool, MaximaOfParts) {
  constexpr int64_t kChannels = 3, kHeight = 9, kWidth = 7, kRows = 3, kColumns = 2, kRegions = 5;
  constexpr float kScale = 0.5F;
  const Reals x = randomReals(2 * kChannels * kHeight * kWidth, 1);
  // One pixel, all, beyond the right and the lower border, beyond the upper left, nothing of the image.
  const Reals regions{0, 4, 4, 4, 4, 1, 0, 0, 13, 17, 0, 7, 9, 30, 30, 1, -9, -9, 5, 5, 0, 40, 2, 44, 6};
  ModelMaker maker;
  maker.input("x", {2, kChannels, kHeight, kWidth});
  maker.input("regions", {kRegions, 5});
  auto& node = maker.node("MaxRoiPool", {"x", "regions"}, {"y"});
  ModelMaker::set(node, "pooled_shape", Ints{kRows, kColumns});
  ModelMaker::set(node, "spatial_scale", kScale);
  maker.output("y");
  std::vector<double> expected;
  for (int64_t r = 0; r < kRegions; ++r) {
    const float* const region = regions.data() + r * 5;
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        const Part rows = partOf(region[2], region[4], kScale, i / kColumns, kRows, kHeight);
        const Part columns = partOf(region[1], region[3], kScale, i % kColumns, kColumns, kWidth);
        double most = rows.first < rows.end && columns.first < columns.end ? -HUGE_VAL : 0;
        for (int64_t row = rows.first; row < rows.end; ++row) {
          for (int64_t column = columns.first; column < columns.end; ++column) {
            const auto image = static_cast<int64_t>(region[0]) * kChannels + c;
            most = std::max<double>(most, x[static_cast<size_t>((image * kHeight + row) * kWidth + column)]);
          }
        }
        expected.push_back(most);
      }
    }
  }
  const auto outputs = runModel(maker, {x, regions});
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], expected, 0);
}

}  // namespace
}  // namespace tenon::parsers::onnx
