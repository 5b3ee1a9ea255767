// Builds of loops and conditionals: their numbers of iterations and sizes follow from data, so that nothing is measured
// on other data.
#include <cuda_runtime_api.h>

#include "fixture.h"

namespace {

class ControlFlowBuilds : public ObjectTest {
 protected:
  nv::ITensor& binary(nv::ITensor& a, nv::ITensor& b, nv::ElementWiseOperation op) {
    return *network->addElementWise(a, b, op)->getOutput(0);
  }
  nv::ITensor& number(const float& value) {
    return *network->addConstant(nv::Dims{0, {}}, {nv::DataType::kFLOAT, &value, 1})->getOutput(0);
  }
  std::vector<float> run(nv::ICudaEngine& made, std::vector<float> x, size_t size) {
    const std::unique_ptr<nv::IExecutionContext> context(made.createExecutionContext());
    std::vector<float> y(size, -99);
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    EXPECT_TRUE(context->enqueueV3(nullptr));
    cudaStreamSynchronize(nullptr);
    return y;
  }
};

// A state is squared until it is large: a number below 1 never is.
TEST_F(ControlFlowBuilds, LoopsThatEndForSomeDataAlone) {
  static const float kTwo = 2, kLimit = 64;
  nv::ITensor& x = input("x", {});
  auto* loop = network->addLoop();
  auto* state = loop->addRecurrence(x);
  nv::ITensor& value = *state->getOutput(0);
  state->setInput(1, binary(value, value, nv::ElementWiseOperation::kPROD));
  loop->addTripLimit(binary(binary(value, number(kTwo), nv::ElementWiseOperation::kPROD), number(kLimit),
                            nv::ElementWiseOperation::kLESS),
                     nv::TripLimit::kWHILE);
  output(loop->addLoopOutput(value, nv::LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  for (const int level : {0, 2, 3, 5}) {
    config->setBuilderOptimizationLevel(level);
    const auto made = engine();
    ASSERT_NE(made, nullptr) << level;
    EXPECT_EQ(run(*made, {3}, 1), std::vector<float>{81}) << level;
  }
}

// What is found has the size of the branch that the data choose, not of its guess.
TEST_F(ControlFlowBuilds, SizesOfABranchFollowFromItsData) {
  nv::ITensor& x = input("x", {6});
  static const float kZero = 0;
  nv::ITensor& total = *network->addReduce(x, nv::ReduceOperation::kSUM, 1, false)->getOutput(0);
  auto* choice = network->addIfConditional();
  choice->setCondition(binary(total, number(kZero), nv::ElementWiseOperation::kGREATER));
  nv::ITensor& inside = *choice->addInput(x)->getOutput(0);
  auto* found = network->addNonZero(inside, nv::DataType::kINT64);
  auto* negative = network->addUnary(inside, nv::UnaryOperation::kNEG);
  auto* relu = network->addActivation(*negative->getOutput(0), nv::ActivationType::kRELU);
  auto* others = network->addNonZero(*relu->getOutput(0), nv::DataType::kINT64);
  nv::ITensor& places = *choice->addOutput(*found->getOutput(0), *others->getOutput(0))->getOutput(0);
  nv::ITensor& reals = *network->addCast(places, nv::DataType::kFLOAT)->getOutput(0);
  output(network->addReduce(reals, nv::ReduceOperation::kSUM, 3, false)->getOutput(0), "y");
  for (const int level : {0, 2, 3, 5}) {
    config->setBuilderOptimizationLevel(level);
    const auto made = engine();
    ASSERT_NE(made, nullptr) << level;
    EXPECT_EQ(run(*made, {0, 1, 2, 0, 0, 3}, 1), std::vector<float>{1 + 2 + 5}) << level;
    EXPECT_EQ(run(*made, {0, -1, -2, 0, 1, 0}, 1), std::vector<float>{1 + 2}) << level;
  }
}

// A state begins as what was found, whose size the data decide; written out and not.
TEST_F(ControlFlowBuilds, StatesMayHaveComputedSizes) {
  static const float kOne = 1;
  for (const int64_t trips : {0, 3, 20}) {
    SetUp();
    nv::ITensor& x = input("x", {6});
    auto* found = network->addNonZero(x, nv::DataType::kINT64);
    auto* loop = network->addLoop();
    loop->addTripLimit(*network->addConstant(nv::Dims{0, {}}, {nv::DataType::kINT64, &trips, 1})->getOutput(0),
                       nv::TripLimit::kCOUNT);
    auto* state = loop->addRecurrence(*network->addCast(*found->getOutput(0), nv::DataType::kFLOAT)->getOutput(0));
    auto* one = network->addConstant(dims({1, 1}), {nv::DataType::kFLOAT, &kOne, 1})->getOutput(0);
    state->setInput(1, binary(*state->getOutput(0), *one, nv::ElementWiseOperation::kSUM));
    nv::ITensor& last = *loop->addLoopOutput(*state->getOutput(0), nv::LoopOutput::kLAST_VALUE)->getOutput(0);
    output(network->addReduce(last, nv::ReduceOperation::kSUM, 3, false)->getOutput(0), "y");
    const auto made = engine();
    ASSERT_NE(made, nullptr) << trips;
    const auto trip = static_cast<float>(trips);
    EXPECT_EQ(run(*made, {0, 1, 2, 0, 0, 3}, 1), std::vector<float>{1 + 2 + 5 + 3 * trip}) << trips;
    EXPECT_EQ(run(*made, {0, 0, 0, 0, 0, 0}, 1), std::vector<float>{0}) << trips;
  }
}

}  // namespace
