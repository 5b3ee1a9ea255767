// Boxes without those that overlap better ones, on the GPU.
#include "cuda/exact.h"

namespace tenon::test {
namespace {

enum class Scores { kRandom, kFew, kEqual, kLow, kNan };

struct Scene {
  int64_t items = 1, boxes = 0, classes = 1;
  int64_t sets = 0;  // 0: boxes of three axes
  DataType type = DataType::kF32;
  Scores scores = Scores::kRandom;
  double spread = 10;  // the larger, the fewer overlap
  bool centers = false;
};

std::vector<HostTensor> tensorsOf(const Scene& scene, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto unit = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  std::vector<HostTensor> result;
  Dims dims{scene.items, scene.boxes};
  if (scene.sets > 0) dims.push(scene.sets);
  dims.push(4);
  result.emplace_back(scene.type, dims);
  const auto& boxes = result[0].view();
  for (int64_t i = 0; i < boxes.count() / 4; ++i) {
    const double x = unit() * scene.spread, y = unit() * scene.spread;
    const double width = generator() % 11 == 0 ? 0 : 1 + unit(), height = 1 + unit();
    const bool turned = generator() % 3 == 0;  // the other corner first
    const double corners[4] = {turned ? x + width : x, y, turned ? x : x + width, y + height};
    const double center[4] = {x, y, width, height};
    for (int k = 0; k < 4; ++k) boxes.storeDouble(i * 4 + k, scene.centers ? center[k] : corners[k]);
  }
  result.emplace_back(scene.type, Dims{scene.items, scene.boxes, scene.classes});
  const auto& scores = result[1].view();
  for (int64_t i = 0; i < scores.count(); ++i) {
    double score = unit() * 2 - 1;
    if (scene.scores == Scores::kFew) score = std::floor(score * 4) / 4;
    if (scene.scores == Scores::kEqual) score = 0.5;
    if (scene.scores == Scores::kLow) score = -2;
    if (scene.scores == Scores::kNan && i % 3 == 0) score = std::nan("");
    if (scene.scores == Scores::kNan && i % 7 == 1) score = i % 2 == 0 ? 0.0 : -0.0;
    scores.storeDouble(i, score);
  }
  return result;
}

struct Limits {
  int64_t limit = 5000, most = 100;
  double perClass = 20, overlap = 0.4, threshold = -0.5;
};

void checkNms(const Scene& scene, const Limits& limits, uint64_t seed, DataType count = DataType::kI32) {
  auto inputs = tensorsOf(scene, seed);
  inputs.push_back(number(count, limits.perClass));
  inputs.push_back(number(DataType::kF32, limits.overlap));
  inputs.push_back(number(DataType::kF32, limits.threshold));
  expectExact(fmt::format("nms{{format={} limit={} most={} indexType={}}}", scene.centers ? "centers" : "corners",
                          limits.limit, limits.most, seed % 2 == 0 ? "i32" : "i64"),
              "nms", inputs, fmt::format("seed {}", seed));
}

TEST_F(OnGpu, SuppressionOfBoxes) {
  uint64_t seed = 0;
  for (const Scores scores : {Scores::kRandom, Scores::kFew, Scores::kEqual, Scores::kLow, Scores::kNan}) {
    for (const int64_t boxes : {0, 1, 63, 64, 331}) {
      checkNms({2, boxes, 3, 0, DataType::kF32, scores}, {}, ++seed);
      checkNms({1, boxes, 1, 0, DataType::kF32, scores}, {}, ++seed, DataType::kI64);
    }
  }
  checkNms({0, 5, 3}, {}, ++seed);
  checkNms({1, 5, 0}, {}, ++seed);
}

// Fewer candidates than pairs, also where scores are equal at the limit; sorts of several tiles.
TEST_F(OnGpu, SuppressionOfTheBest) {
  uint64_t seed = 100;
  for (const Scores scores : {Scores::kRandom, Scores::kFew, Scores::kEqual, Scores::kNan}) {
    for (const int64_t limit : {0, 1, 64, 1000, 2063}) {
      Limits limits;
      limits.limit = limit;
      limits.most = 50 + limit;
      limits.perClass = 1e6;
      checkNms({2, 1031, 2, 2, DataType::kF32, scores, 40}, limits, ++seed);
    }
  }
  for (const int64_t limit : {5000, 100000}) {
    Limits limits{limit, 3000, 1e6, 0.3, -1};
    checkNms({1, 9001, 2, 0, DataType::kF32, Scores::kRandom, 60}, limits, ++seed);
    checkNms({1, 9001, 2, 0, DataType::kF16, Scores::kRandom, 30}, limits, ++seed);
  }
}

TEST_F(OnGpu, SuppressionInEachForm) {
  uint64_t seed = 200;
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const bool centers : {false, true}) {
      Scene scene{3, 97, 5, 5, type, Scores::kRandom, 6, centers};
      checkNms(scene, {}, ++seed);
      scene.sets = 0;
      checkNms(scene, {5000, 7, 4, 0.7, 0}, ++seed);       // fewer rows than are selected
      checkNms(scene, {60, 1500, 1000, 0, -1}, ++seed);    // nothing may overlap
      checkNms(scene, {5000, 1500, 1000, 1, -1}, ++seed);  // all are kept
      checkNms(scene, {5000, 20, 0, 0.5, -1}, ++seed);
      checkNms(scene, {5000, 20, -3, 0.5, -1}, ++seed);
      checkNms(scene, {5000, 0, 5, 0.5, -1}, ++seed);
      checkNms(scene, {5000, 20, 5, std::nan(""), -1}, ++seed);
      checkNms(scene, {5000, 20, 5, 0.5, std::nan("")}, ++seed);
      checkNms(scene, {5000, 20, 5, -0.25, -1}, ++seed);
    }
  }
}

TEST_F(OnGpu, SuppressionPadded) {
  uint64_t seed = 300;
  const auto check = [&](Scene scene, const std::string& fields) {
    if (scene.sets == 0) scene.sets = 1;
    expectExact("padded_nms{" + fields + "}", "padded_nms", tensorsOf(scene, ++seed), fmt::format("seed {}", seed));
  };
  for (const Scores scores : {Scores::kRandom, Scores::kFew, Scores::kEqual, Scores::kLow, Scores::kNan}) {
    for (const std::string fields :
         {"keep=17", "keep=100 inAll=50 overlapThreshold=0.2", "keep=30 perClass=40 scoreThreshold=-0.5",
          "keep=40 perClass=40 inAll=90 scoreThreshold=-1", "keep=25 keepPerClass=3 agnostic=true inclusive=true",
          "keep=25 keepPerClass=3 background=1 inclusiveOverlap=true", "keep=20 agnostic=true overlapThreshold=0",
          "keep=30 pixels=areas inclusiveOverlap=true overlapThreshold=0", "keep=30 pixels=all scoreThreshold=-2",
          "keep=0", "keep=9 inclusive=true scoreThreshold=0.5"}) {
      check({2, 131, 4, 0, DataType::kF32, scores, 5}, fields);
      check({1, 70, 3, 3, DataType::kF16, scores, 5}, fields);
    }
  }
  check({2, 0, 3}, "keep=5");
  check({0, 7, 3}, "keep=5");
  check({1, 1, 1, 0, DataType::kBF16}, "keep=5 scoreThreshold=-1");
  check({1, 5003, 2, 0, DataType::kF32, Scores::kRandom, 60}, "keep=1000 inAll=4097 scoreThreshold=-1");
  check({1, 3001, 3, 0, DataType::kF32, Scores::kFew, 60}, "keep=1000 perClass=1500 inAll=4000 scoreThreshold=-1");
}

}  // namespace
}  // namespace tenon::test
