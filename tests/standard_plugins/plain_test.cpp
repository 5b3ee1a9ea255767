// Plugins that are a few layers, against their formulas element by element.
#include <algorithm>

#include "support.h"

namespace tenon::test {
namespace {

// Every index of the extents in turn.
void forEach(const std::vector<int64_t>& dims, const std::function<void(const std::vector<int64_t>&)>& body) {
  int64_t count = 1;
  for (const int64_t extent : dims) count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> index(dims.size());
    int64_t rest = i;
    for (size_t axis = dims.size(); axis-- > 0;) {
      index[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    body(index);
  }
}

std::vector<double> mapped(const std::vector<int64_t>& dims,
                           const std::function<double(const std::vector<int64_t>&)>& formula) {
  std::vector<double> result;
  forEach(dims, [&](const auto& index) { result.push_back(formula(index)); });
  return result;
}

TEST(PlainPlugins, Activations) {
  Random random(21);
  const Array x = random.array({3, 5, 2}, -3, 3);
  auto got = runAllWays("Clip_TRT", "1", FieldList().reals("clipMin", {-1}).reals("clipMax", {0.5F}), {x});
  expectNear(got.at(0), x.dims,
             mapped(x.dims,
                    [&](const auto& i) {
                      return std::clamp(x.at({i[0], i[1], i[2]}), -1.0, 0.5);
                    }),
             0, "Clip");
  got = runAllWays("LReLU_TRT", "1", FieldList().reals("negSlope", {0.25F}), {x});
  const auto leaky = [&](const auto& i) {
    const double v = x.at({i[0], i[1], i[2]});
    return v < 0 ? v / 4 : v;
  };
  expectNear(got.at(0), x.dims, mapped(x.dims, leaky), 1e-6, "LReLU");
}

TEST(PlainPlugins, Movement) {
  Random random(22);
  const Array x = random.array({2, 3, 4, 4});
  const Array y = random.array({1, 2, 3, 5});
  auto got = runAllWays("BatchTilePlugin_TRT", "1", FieldList(), {x, y});
  expectNear(got.at(0), {2, 2, 3, 5},
             mapped({2, 2, 3, 5},
                    [&](const auto& i) {
                      return y.at({0, i[1], i[2], i[3]});
                    }),
             0, "BatchTile");
  got = runAllWays("CoordConvAC", "1", FieldList(), {x});
  expectNear(got.at(0), {2, 5, 4, 4},
             mapped({2, 5, 4, 4},
                    [&](const auto& i) {
                      return i[1] < 3 ? x.at({i[0], i[1], i[2], i[3]})
                                      : -1 + 2.0 * static_cast<double>(i[static_cast<size_t>(i[1]) - 1]) / 3;
                    }),
             1e-6, "CoordConv");
  const Array sample{{3, 4, 4}, std::vector<double>(x.values.begin(), x.values.begin() + 48)};
  const auto alone = runAllWays("CoordConvAC", "1", FieldList(), {sample});
  EXPECT_EQ(alone.at(0).dims, (std::vector<int64_t>{5, 4, 4}));
  EXPECT_EQ(alone.at(0).values, std::vector<double>(got[0].values.begin(), got[0].values.begin() + 80));
  const Array six = random.array({2, 7, 6});
  got = runAllWays("SpecialSlice_TRT", "1", FieldList(), {six});
  expectNear(got.at(0), {2, 7, 4},
             mapped({2, 7, 4},
                    [&](const auto& i) {
                      return six.at({i[0], i[1], i[2]});
                    }),
             0, "SpecialSlice");
  const Array other = random.array({2, 5, 2, 3});
  got = runAllWays("FlattenConcat_TRT", "1", FieldList().ints("axis", {2}).ints("ignoreBatch", {0}), {x, other});
  expectNear(got.at(0), {2, 1, 78, 1},
             mapped({2, 78},
                    [&](const auto& i) {
                      return i[1] < 48 ? x.values[static_cast<size_t>(i[0] * 48 + i[1])]
                                       : other.values[static_cast<size_t>(i[0] * 30 + i[1] - 48)];
                    }),
             0, "FlattenConcat");
  const Array odd = random.array({1, 2, 5, 3});
  got = runAllWays("ResizeNearest_TRT", "1", FieldList().reals("scale", {2.5F}), {odd});
  expectNear(got.at(0), {1, 2, 12, 7},
             mapped({1, 2, 12, 7},
                    [&](const auto& i) {
                      return odd.at({0, i[1], static_cast<int64_t>(static_cast<double>(i[2]) / 2.5),
                                     static_cast<int64_t>(static_cast<double>(i[3]) / 2.5)});
                    }),
             0, "ResizeNearest");
}

TEST(PlainPlugins, ReorgReadsTheInputAsALargerImage) {
  Random random(23);
  for (const char* version : {"1", "2"}) {
    const int64_t s = 2, c = 8, h = 4, w = 6;
    const Array x = random.array({2, c, h, w});
    const auto got = runAllWays("Reorg_TRT", version, FieldList().ints("stride", {2}), {x},
                                version[0] == '2' ? Extents::kDynamic : Extents::kFixed);
    // Darknet counts the output in the input's extents.
    std::vector<double> expected;
    const int64_t fewer = c / (s * s);
    forEach({2, c, h, w}, [&](const auto& i) {
      const int64_t offset = i[1] / fewer;
      const int64_t row = i[2] * s + offset / s, column = i[3] * s + offset % s;
      expected.push_back(x.values[static_cast<size_t>(column + w * s * (row + h * s * (i[1] % fewer + fewer * i[0])))]);
    });
    expectNear(got.at(0), {2, c * s * s, h / s, w / s}, expected, 0, version);
  }
}

TEST(PlainPlugins, Region) {
  Random random(24);
  const int64_t num = 2, classes = 3;
  const Array x = random.array({2, num * (5 + classes), 3, 2}, -4, 4);
  const auto got =
      runAllWays("Region_TRT", "1", FieldList().ints("num", {2}).ints("coords", {4}).ints("classes", {3}), {x});
  expectNear(got.at(0), x.dims,
             mapped(x.dims,
                    [&](const auto& i) {
                      const double v = x.at({i[0], i[1], i[2], i[3]});
                      const int64_t part = i[1] % 8;
                      if (part == 2 || part == 3) return v;
                      if (part < 5) return 1 / (1 + std::exp(-v));
                      double sum = 0;
                      for (int64_t k = 0; k < classes; ++k)
                        sum += std::exp(x.at({i[0], i[1] / 8 * 8 + 5 + k, i[2], i[3]}) - v);
                      return 1 / sum;
                    }),
             1e-5, "Region");
}

TEST(PlainPlugins, Normalizations) {
  Random random(25);
  const Array x = random.array({2, 4, 3, 5}, -2, 2);
  for (const bool across : {false, true}) {
    for (const bool shared : {false, true}) {
      const std::vector<float> weights = shared ? std::vector<float>{1.5F} : std::vector<float>{1, 2, -1, 0.5F};
      const auto got = runAllWays("Normalize_TRT", "1",
                                  FieldList()
                                      .reals("weights", weights)
                                      .ints("acrossSpatial", {across})
                                      .ints("channelShared", {shared})
                                      .ints("nbWeights", {static_cast<int32_t>(weights.size())})
                                      .reals("eps", {1e-3F}),
                                  {x});
      expectNear(got.at(0), x.dims,
                 mapped(x.dims,
                        [&](const auto& i) {
                          double sum = 1e-3;
                          forEach({4, across ? 3 : 1, across ? 5 : 1}, [&](const auto& k) {
                            const double v = x.at({i[0], k[0], across ? k[1] : i[2], across ? k[2] : i[3]});
                            sum += v * v;
                          });
                          return x.at({i[0], i[1], i[2], i[3]}) / std::sqrt(sum) *
                                 weights[shared ? 0 : static_cast<size_t>(i[1])];
                        }),
                 1e-5, "Normalize");
    }
  }
  const auto moments = [&](int64_t n, int64_t first, int64_t channels) {
    double sum = 0, squares = 0;
    const double count = static_cast<double>(channels) * 15;
    forEach({channels, 3, 5}, [&](const auto& k) { sum += x.at({n, first + k[0], k[1], k[2]}) / count; });
    forEach({channels, 3, 5}, [&](const auto& k) {
      squares += std::pow(x.at({n, first + k[0], k[1], k[2]}) - sum, 2) / count;
    });
    return std::pair(sum, squares);
  };
  const std::vector<float> scales{1, -2, 0.5F, 3}, bias{0, 1, -1, 0.25F};
  for (const char* version : {"1", "2", "3"}) {
    const auto got = runAllWays("InstanceNormalization_TRT", version,
                                FieldList()
                                    .reals("epsilon", {1e-3F})
                                    .reals("scales", scales)
                                    .reals("bias", bias)
                                    .ints("relu", {1})
                                    .reals("alpha", {0.125F}),
                                {x}, Extents::kDynamic);
    expectNear(got.at(0), x.dims,
               mapped(x.dims,
                      [&](const auto& i) {
                        const auto [mean, variance] = moments(i[0], i[1], 1);
                        const auto c = static_cast<size_t>(i[1]);
                        const double v =
                            (x.at({i[0], i[1], i[2], i[3]}) - mean) / std::sqrt(variance + 1e-3) * scales[c] + bias[c];
                        return v < 0 ? v / 8 : v;
                      }),
               1e-5, "InstanceNormalization");
  }
  const Array scale{{4}, {scales.begin(), scales.end()}}, shift{{4}, {bias.begin(), bias.end()}};
  const auto got = runAllWays("GroupNormalizationPlugin", "1",
                              FieldList().reals("eps", {1e-3F}).ints("num_groups", {2}), {x, scale, shift});
  expectNear(got.at(0), x.dims,
             mapped(x.dims,
                    [&](const auto& i) {
                      const auto [mean, variance] = moments(i[0], i[1] / 2 * 2, 2);
                      const auto c = static_cast<size_t>(i[1]);
                      return (x.at({i[0], i[1], i[2], i[3]}) - mean) / std::sqrt(variance + 1e-3) * scales[c] + bias[c];
                    }),
             1e-5, "GroupNormalization");
}

TEST(PlainPlugins, Scatters) {
  Random random(26);
  const Array data = random.array({5, 4}), updates = random.array({3, 4});
  const Array places = random.wholes({3, 4}, -5, 4, nv::DataType::kINT64);
  for (const char* version : {"1", "2"}) {
    for (const char* reduction : {"add", "mul", "max", "min"}) {
      const auto got = runAllWays("ScatterElements", version,
                                  FieldList().text("reduction", reduction).ints("axis", {0}), {data, places, updates});
      std::vector<double> expected = data.values;
      for (int64_t i = 0; i < 12; ++i) {
        const auto row = static_cast<int64_t>(places.values[static_cast<size_t>(i)]);
        double& v = expected[static_cast<size_t>((row < 0 ? row + 5 : row) * 4 + i % 4)];
        const double u = updates.values[static_cast<size_t>(i)];
        v = reduction[0] == 'a'   ? v + u
            : reduction[1] == 'u' ? v * u
            : reduction[1] == 'a' ? std::max(v, u)
                                  : std::min(v, u);
      }
      expectNear(got.at(0), {5, 4}, expected, 1e-6, reduction);
    }
  }
  const Array rows{{2, 1}, {3, 0}, nv::DataType::kINT32};
  const Array two = random.array({2, 4});
  const auto got = runAllWays("ScatterND", "1", FieldList(), {data, rows, two});
  std::vector<double> expected = data.values;
  std::copy_n(two.values.begin(), 4, expected.begin() + 12);
  std::copy_n(two.values.begin() + 4, 4, expected.begin());
  expectNear(got.at(0), {5, 4}, expected, 0, "ScatterND");
}

}  // namespace
}  // namespace tenon::test
