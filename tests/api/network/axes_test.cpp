// Squeezes and reshapes as parsers write them: axes and extents as tensors of every integer type and rank, computed
// from constants in every way.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;

class Axes : public NetworkTest {
 protected:
  nv::ITensor& ints32(std::vector<int32_t> values, Extents shape) {
    kept32.push_back(std::make_unique<std::vector<int32_t>>(std::move(values)));
    const nv::Weights weights{nv::DataType::kINT32, kept32.back()->data(), static_cast<int64_t>(kept32.back()->size())};
    return *network->addConstant(dims(shape), weights)->getOutput(0);
  }
  nv::ITensor& scalar(int64_t value) {
    auto* layer = network->addShuffle(ints({value}));
    layer->setReshapeDimensions(dims({}));
    return *layer->getOutput(0);
  }
  std::vector<std::unique_ptr<std::vector<int32_t>>> kept32;
};

TEST_F(Axes, OfSqueezesInEveryForm) {
  auto& x = input("x", {2, 1, 3, 1});
  auto& one = ints({1});
  const auto combined = [&](nv::ITensor& a, nv::ITensor& b, nv::ElementWiseOperation op) -> nv::ITensor& {
    return *network->addElementWise(a, b, op)->getOutput(0);
  };
  nv::ITensor* joined[] = {&ints({1}), &ints({-1})};
  nv::ITensor* const axes[] = {
      &one,
      &ints({-3}),
      &ints32({1}, {1}),
      &ints32({1}, {}),
      &scalar(1),
      network->addCast(ints32({1}, {1}), nv::DataType::kINT64)->getOutput(0),
      network->addCast(one, nv::DataType::kINT32)->getOutput(0),
      network->addIdentity(one)->getOutput(0),
      &combined(one, ints({7}), nv::ElementWiseOperation::kMIN),
      &combined(ints({-5}), ints({-3}), nv::ElementWiseOperation::kMAX),
      &combined(ints({3}), ints({2}), nv::ElementWiseOperation::kSUB),
      network->addGather(ints({5, 1, 9}), ints({1}), 0)->getOutput(0),
      network->addGather(ints({5, 1, 9}), scalar(1), 0)->getOutput(0),
      network->addSlice(ints({5, 1, 9}), dims({1}), dims({1}), dims({1}))->getOutput(0),
  };
  for (size_t i = 0; i < std::size(axes); ++i) {
    EXPECT_EQ(extents(network->addSqueeze(x, *axes[i])->getOutput(0)), (Extents{2, 3, 1})) << i;
    EXPECT_EQ(extents(network->addUnsqueeze(x, *axes[i])->getOutput(0)).size(), 5U) << i;
  }
  auto* both = network->addConcatenation(joined, 2)->getOutput(0);
  EXPECT_EQ(extents(network->addSqueeze(x, *both)->getOutput(0)), (Extents{2, 3}));
  const nv::Weights none{nv::DataType::kINT64, nullptr, 0};
  EXPECT_EQ(extents(network->addSqueeze(x, *network->addConstant(dims({0}), none)->getOutput(0))->getOutput(0)),
            (Extents{2, 1, 3, 1}));
}

// How the open parser squeezes: the shape, gathered at the axes that stay, as the second input of a shuffle.
TEST_F(Axes, ShufflesByGatheredShapes) {
  for (const Extents& shape : {Extents{2, 1, 3}, Extents{-1, 1, -1}}) {
    auto& x = input(shape[0] < 0 ? "dynamic" : "fixed", shape);
    for (const bool narrow : {false, true}) {
      nv::ITensor* from = network->addShape(x)->getOutput(0);
      if (narrow) from = network->addCast(*from, nv::DataType::kINT32)->getOutput(0);
      nv::ITensor* kept = network->addGather(*from, narrow ? ints32({0, 2}, {2}) : ints({0, 2}), 0)->getOutput(0);
      auto* shuffle = network->addShuffle(x);
      shuffle->setInput(1, *kept);
      EXPECT_EQ(extents(shuffle->getOutput(0)), (Extents{shape[0], shape[2]})) << narrow;
    }
  }
}

TEST_F(Axes, ThatAreRunTimeValuesAreRefused) {
  auto& x = input("x", {2, 1, 3});
  auto& axes = input("axes", {1}, nv::DataType::kINT64);
  EXPECT_EQ(extents(network->addSqueeze(x, axes)->getOutput(0)), (Extents{-99}));
  expectError("must be constants");
  EXPECT_EQ(extents(network->addSqueeze(x, ints({0}))->getOutput(0)), (Extents{-99}));
  expectError("only 1 can be squeezed");
}

}  // namespace
}  // namespace tenon::api
