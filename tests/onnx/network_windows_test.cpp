// Fourier transforms, losses and pooling windows against their definitions.
#include <cmath>
#include <complex>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

TEST(Fourier, TransformsAndBack) {
  const size_t n = 7;
  const Reals x = randomReals(2 * n, 4);
  ModelMaker maker(20);
  maker.input("x", {2, static_cast<int64_t>(n), 1});
  maker.node("DFT", {"x"}, {"y"});
  auto& back = maker.node("DFT", {"y"}, {"z"});
  ModelMaker::set(back, "inverse", int64_t{1});
  maker.output("y");
  maker.output("z");
  const auto outputs = runModel(maker, {x});
  std::vector<double> spectrum, original;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += std::polar(static_cast<double>(x[row * n + i]), -2 * M_PI * static_cast<double>(i * k) / n);
      }
      spectrum.push_back(sum.real());
      spectrum.push_back(sum.imag());
      original.push_back(x[row * n + k]);
      original.push_back(0);
    }
  }
  expectNear(outputs.at(0), spectrum);
  expectNear(outputs.at(1), original);
}

// Lengths that are a product of two factors go by both, others do not.
TEST(Fourier, OfLongRows) {
  for (const size_t n : {256, 480, 521, 600}) {
    for (const bool oneSided : {true, false}) {
      SCOPED_TRACE(std::to_string(n) + (oneSided ? " one-sided" : ""));
      const size_t rows = 3;
      const Reals x = randomReals(rows * n, 4);
      ModelMaker maker(20);
      maker.input("x", {static_cast<int64_t>(rows), static_cast<int64_t>(n), 1});
      ModelMaker::set(maker.node("DFT", {"x"}, {"y"}), "onesided", int64_t{oneSided});
      maker.output("y");
      const auto y = runModel(maker, {x}).at(0);
      const size_t bins = oneSided ? n / 2 + 1 : n;
      ASSERT_EQ(y.size(), rows * bins * 2);
      double worst = 0;
      for (size_t row = 0; row < rows; ++row) {
        for (size_t k = 0; k < bins; ++k) {
          std::complex<double> sum = 0;
          for (size_t i = 0; i < n; ++i) {
            sum += std::polar(static_cast<double>(x[row * n + i]),
                              -2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n));
          }
          const size_t at = (row * bins + k) * 2;
          worst = std::max({worst, std::abs(static_cast<double>(y[at]) - sum.real()),
                            std::abs(static_cast<double>(y[at + 1]) - sum.imag())});
        }
      }
      EXPECT_LT(worst, 1e-4 * std::sqrt(static_cast<double>(n)));
    }
  }
}

TEST(Loss, WeightsAndIgnoredClasses) {
  const Reals x = randomReals(4 * 3, 2), weights{0.5f, 2, 1};
  ModelMaker maker(17);
  maker.input("x", {4, 3});
  maker.ints("t", {4}, {2, 0, 1, 0});
  maker.floats("w", {3}, weights);
  auto& node = maker.node("SoftmaxCrossEntropyLoss", {"x", "t", "w"}, {"y"});
  ModelMaker::set(node, "ignore_index", int64_t{1});
  maker.output("y");
  double loss = 0, total = 0;
  const size_t targets[] = {2, 0, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    if (targets[i] == 1) continue;
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(x[i * 3 + c]);
    loss -= weights[targets[i]] * (x[i * 3 + targets[i]] - std::log(sum));
    total += weights[targets[i]];
  }
  expectNear(runModel(maker, {x}).at(0), {loss / total});
}

TEST(Windows, MaximaWithDilationsAndTheirPlaces) {
  const Reals x = randomReals(36, 9);
  ModelMaker maker(17);
  maker.input("x", {1, 1, 6, 6});
  auto& node = maker.node("MaxPool", {"x"}, {"y", "places"});
  ModelMaker::set(node, "kernel_shape", Ints{2, 3});
  ModelMaker::set(node, "dilations", Ints{3, 2});
  ModelMaker::set(node, "pads", Ints{1, 1, 0, 1});
  maker.node("Cast", {"places"}, {"where"}).add_attribute();
  auto* to = maker.graph().mutable_node(1)->mutable_attribute(0);
  to->set_name("to");
  to->set_type(2);
  to->set_i(1);
  maker.output("y");
  maker.output("where");
  const auto outputs = runModel(maker, {x});
  std::vector<double> best, places;
  for (int row = -1; row + 3 < 6; ++row) {
    for (int column = -1; column + 4 < 7; ++column) {
      double most = -INFINITY;
      int place = -1;
      for (const int dy : {0, 3}) {
        for (const int dx : {0, 2, 4}) {
          const int r = row + dy, c = column + dx;
          if (r < 0 || c < 0 || r > 5 || c > 5 || x[static_cast<size_t>(r * 6 + c)] <= most) continue;
          place = r * 6 + c;
          most = x[static_cast<size_t>(place)];
        }
      }
      best.push_back(most);
      places.push_back(place);
    }
  }
  expectNear(outputs.at(0), best);
  expectNear(outputs.at(1), places);
}

// Without places, padded as said and to the same extent.
TEST(Windows, DilatedPools) {
  const Reals x = randomReals(2 * 7 * 9, 9);
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const bool same : {false, true}) {
      ModelMaker maker(19);
      maker.input("x", {1, 2, 7, 9});
      auto& node = maker.node(op, {"x"}, {"y"});
      ModelMaker::set(node, "kernel_shape", Ints{2, 3});
      ModelMaker::set(node, "dilations", Ints{3, 2});
      ModelMaker::set(node, "strides", Ints{1, 2});
      if (same) {
        ModelMaker::set(node, "auto_pad", std::string("SAME_UPPER"));
      } else {
        ModelMaker::set(node, "pads", Ints{1, 1, 2, 1});
      }
      maker.output("y");
      const int before = 1;  // both ways: 3 rows more than 7 in all, of which one in front
      const int left = same ? 2 : 1;
      std::vector<double> expected;
      for (int channel = 0; channel < 2; ++channel) {
        for (int row = 0; row < 7; ++row) {
          for (int column = 0; column < (same ? 5 : 4); ++column) {
            double most = -INFINITY, sum = 0;
            int cells = 0;
            for (int tap = 0; tap < 6; ++tap) {
              const int r = row - before + tap / 3 * 3, c = column * 2 - left + tap % 3 * 2;
              if (r < 0 || c < 0 || r > 6 || c > 8) continue;
              const auto value = static_cast<double>(x[static_cast<size_t>((channel * 7 + r) * 9 + c)]);
              most = std::max(most, value);
              sum += value;
              ++cells;
            }
            expected.push_back(op[0] == 'M' ? most : sum / cells);
          }
        }
      }
      expectNear(runModel(maker, {x}).at(0), expected);
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx
