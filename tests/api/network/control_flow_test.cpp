// Loops and conditionals of the interface: what their layers come to, by evaluating the assembled graph, and what is
// refused.
#include "control_flow.h"

#include <algorithm>

namespace tenon::api {
namespace {

// s = s * 0.5 + x[k], and all s.
TEST_F(ControlFlow, CountedLoopOverATensorOfOpenLength) {
  auto& x = input("x", {-1, 2});
  auto* length = network->addGather(*network->addShape(x)->getOutput(0), number(0), 0)->getOutput(0);
  auto* loop = network->addLoop();
  loop->setName("decay");
  EXPECT_STREQ(loop->getName(), "decay");
  auto* limit = loop->addTripLimit(*length, TripLimit::kCOUNT);
  auto* slice = loop->addIterator(x);
  auto* state = loop->addRecurrence(real(0));
  EXPECT_EQ(limit->getTripLimit(), TripLimit::kCOUNT);
  EXPECT_EQ(slice->getLoop(), loop);
  EXPECT_EQ(extents(slice->getOutput(0)), (std::vector<int64_t>{2}));
  auto* wide = loop->addRecurrence(*network->addConstant(dims({2}), floats(2, 1.0F))->getOutput(0));
  auto& next = sum(product(*wide->getOutput(0), real(0.5F)), *slice->getOutput(0));
  wide->setInput(1, next);
  state->setInput(1, sum(*state->getOutput(0), real(1)));
  mark(loop->addLoopOutput(*wide->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  auto* all = loop->addLoopOutput(next, LoopOutput::kCONCATENATE, 1);
  all->setInput(1, *length);
  mark(all->getOutput(0), "all");
  auto* reversed = loop->addLoopOutput(next, LoopOutput::kREVERSE, 0);
  reversed->setInput(1, *length);
  mark(reversed->getOutput(0), "reversed");
  mark(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "count");
  EXPECT_EQ(extents(all->getOutput(0)), (std::vector<int64_t>{2, -1}));
  for (const int64_t count : {0, 1, 3}) {
    Numbers values, last{1, 1};
    for (int64_t i = 0; i < count * 2; ++i) values.push_back(static_cast<double>(i) - 2);
    std::vector<Numbers> steps;
    for (int64_t k = 0; k < count; ++k) {
      for (size_t i = 0; i < 2; ++i) last[i] = last[i] * 0.5 + values[static_cast<size_t>(k) * 2 + i];
      steps.push_back(last);
    }
    Numbers expectedAll, expectedReversed;
    for (size_t i = 0; i < 2; ++i) {
      for (const auto& step : steps) expectedAll.push_back(step[i]);
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      expectedReversed.insert(expectedReversed.end(), step->begin(), step->end());
    std::vector<HostTensor> inputs;
    inputs.push_back(host({count, 2}, values));
    const auto results = evaluate(inputs);
    EXPECT_EQ(results[0], last);
    EXPECT_EQ(results[1], expectedAll);
    EXPECT_EQ(results[2], expectedReversed);
    EXPECT_EQ(results[3], Numbers{static_cast<double>(count)});
  }
}

TEST_F(ControlFlow, LoopsWithinLoops) {
  // For each row: the sum of its elements, doubled as often as the outer number says; the sums are added up.
  auto& x = input("x", {3, 4});
  auto& times = input("times", {}, nv::DataType::kINT64);
  auto* outer = network->addLoop();
  outer->addTripLimit(number(3), TripLimit::kCOUNT);
  auto* row = outer->addIterator(x);
  auto* total = outer->addRecurrence(real(0, {}));
  auto* inner = network->addLoop();
  inner->addTripLimit(times, TripLimit::kCOUNT);
  auto* element =
      inner->addRecurrence(*network->addReduce(*row->getOutput(0), nv::ReduceOperation::kSUM, 1, false)->getOutput(0));
  element->setInput(1, product(*element->getOutput(0), real(2, {})));
  auto* doubled = inner->addLoopOutput(*element->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  total->setInput(1, sum(*total->getOutput(0), *doubled));
  mark(outer->addLoopOutput(*total->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  std::vector<HostTensor> inputs;
  inputs.push_back(host({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  inputs.push_back(host({}, {3}, DataType::kI64));
  EXPECT_EQ(evaluate(inputs)[0], Numbers{78 * 8});
  inputs[1] = host({}, {0}, DataType::kI64);
  EXPECT_EQ(evaluate(inputs)[0], Numbers{78});
}

TEST_F(ControlFlow, WhileLoop) {
  auto& limit = input("limit", {});
  auto* loop = network->addLoop();
  auto* x = loop->addRecurrence(real(3, {}));
  x->setInput(1, product(*x->getOutput(0), real(2, {})));
  loop->addTripLimit(binary(*x->getOutput(0), limit, ElementWiseOperation::kLESS), TripLimit::kWHILE);
  mark(loop->addLoopOutput(*x->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  for (const auto& [bound, expected] : {std::pair{100.0, 192.0}, {3.0, 3.0}, {3.5, 6.0}}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {bound}));
    EXPECT_EQ(evaluate(inputs)[0], Numbers{expected});
  }
}

// Without a length there are as many parts as iterations, whatever decides their number.
TEST_F(ControlFlow, WhileLoopsStackWhatTheyCompute) {
  auto& limit = input("limit", {});
  auto* loop = network->addLoop();
  auto* x = loop->addRecurrence(real(3, {}));
  auto* unused = loop->addRecurrence(real(0, {1}));
  unused->setInput(1, sum(*unused->getOutput(0), real(1, {1})));
  x->setInput(1, product(*x->getOutput(0), real(2, {})));
  loop->addTripLimit(binary(*x->getOutput(0), limit, ElementWiseOperation::kLESS), TripLimit::kWHILE);
  mark(loop->addLoopOutput(*x->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "all");
  mark(loop->addLoopOutput(*x->getOutput(0), LoopOutput::kREVERSE)->getOutput(0), "reversed");
  mark(loop->addLoopOutput(*unused->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "count");
  for (const double bound : {100.0, 3.0, 3.5, 1e6}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {bound}));
    Numbers expected;
    for (double value = 3; value < bound; value *= 2) expected.push_back(value);
    const auto trips = static_cast<double>(expected.size());
    const auto results = evaluate(inputs);
    EXPECT_EQ(results[0], expected);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(results[1], expected);
    EXPECT_EQ(results[2], Numbers{trips});
  }
}

// The body finds the elements that are not 0 in each iteration: how many and where.
TEST_F(ControlFlow, SizesWithinABody) {
  auto& x = input("x", {4});
  auto* loop = network->addLoop();
  loop->addTripLimit(number(5), TripLimit::kCOUNT);
  auto* state = loop->addRecurrence(x);
  auto* places = network->addNonZero(*state->getOutput(0))->getOutput(0);
  auto& reals = *network->addCast(*places, nv::DataType::kFLOAT)->getOutput(0);
  auto* total = network->addReduce(reals, nv::ReduceOperation::kSUM, 2, false)->getOutput(0);
  auto& less = binary(*state->getOutput(0), real(1), ElementWiseOperation::kSUB);
  state->setInput(1, *network->addActivation(less, nv::ActivationType::kRELU)->getOutput(0));
  auto* all = loop->addLoopOutput(*total, LoopOutput::kCONCATENATE);
  mark(all->getOutput(0), "all");
  std::vector<HostTensor> inputs;
  inputs.push_back(host({4}, {3, 0, 2, 1}));
  EXPECT_EQ(evaluate(inputs)[0], (Numbers{0 + 2 + 3, 0 + 2, 0, 0, 0}));
  // What leaves must have a shape that is known outside.
  auto* leaving = loop->addLoopOutput(reals, LoopOutput::kCONCATENATE);
  mark(leaving->getOutput(0), "leaving");
  EXPECT_NE(refusal().find("which depends on a size that is computed within"), std::string::npos) << refusal();
}

TEST_F(ControlFlow, ConditionalsComputeOneBranchAndMayHoldLoops) {
  auto& which = input("which", {}, nv::DataType::kBOOL);
  auto& x = input("x", {2});
  auto* choice = network->addIfConditional();
  choice->setName("choice");
  EXPECT_STREQ(choice->getName(), "choice");
  auto* condition = choice->setCondition(which);
  auto* inside = choice->addInput(x);
  EXPECT_EQ(condition->getConditional(), choice);
  auto* loop = network->addLoop();
  loop->addTripLimit(number(3), TripLimit::kCOUNT);
  auto* state = loop->addRecurrence(*inside->getOutput(0));
  state->setInput(1, sum(*state->getOutput(0), *state->getOutput(0)));
  auto* times8 = loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  auto& minus = binary(*inside->getOutput(0), real(1), ElementWiseOperation::kSUB);
  mark(choice->addOutput(*times8, minus)->getOutput(0), "a");
  mark(choice->addOutput(x, *inside->getOutput(0))->getOutput(0), "b");
  for (const bool holds : {true, false}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {holds ? 1.0 : 0.0}, DataType::kBool));
    inputs.push_back(host({2}, {5, 7}));
    const auto results = evaluate(inputs);
    EXPECT_EQ(results[0], holds ? (Numbers{40, 56}) : (Numbers{4, 6}));
    EXPECT_EQ(results[1], (Numbers{5, 7}));
  }
}

// Extents that are known outside, and the condition says which: of constants, and of one input in two ways.
TEST_F(ControlFlow, BranchesMayGiveResultsOfTwoSizes) {
  auto& which = input("which", {}, nv::DataType::kBOOL);
  auto& x = input("x", {-1, 2});
  auto& y = input("y", {3});
  auto& z = input("z", {5});
  auto* choice = network->addIfConditional();
  choice->setCondition(which);
  auto* inside = choice->addInput(x)->getOutput(0);
  nv::ITensor* twice[] = {inside, inside};
  mark(choice->addOutput(*network->addConcatenation(twice, 2)->getOutput(0), *inside)->getOutput(0), "a");
  auto* short_ = choice->addInput(y)->getOutput(0);
  auto* either = choice->addOutput(sum(*short_, *short_), z)->getOutput(0);
  mark(either, "b");
  EXPECT_EQ(extents(either), (std::vector<int64_t>{-1}));
  for (const bool holds : {true, false}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {holds ? 1.0 : 0.0}, DataType::kBool));
    inputs.push_back(host({2, 2}, {5, 7, 1, 2}));
    inputs.push_back(host({3}, {1, 2, 3}));
    inputs.push_back(host({5}, {4, 5, 6, 7, 8}));
    const auto results = evaluate(inputs);
    EXPECT_EQ(results[0], holds ? (Numbers{5, 7, 1, 2, 5, 7, 1, 2}) : (Numbers{5, 7, 1, 2}));
    EXPECT_EQ(results[1], holds ? (Numbers{2, 4, 6}) : (Numbers{4, 5, 6, 7, 8}));
  }
}

// A size that a branch computes: of elements that are not 0, or of all.
TEST_F(ControlFlow, BranchesMayComputeTheSizeOfAResult) {
  auto& which = input("which", {}, nv::DataType::kBOOL);
  auto& x = input("x", {4});
  auto* choice = network->addIfConditional();
  choice->setCondition(which);
  auto* inside = choice->addInput(x)->getOutput(0);
  auto* places = network->addNonZero(*inside)->getOutput(0);
  auto* turned = network->addShuffle(*places);
  turned->setFirstTranspose({1, 0});
  auto* found = network->addGatherV2(*inside, *turned->getOutput(0), nv::GatherMode::kND)->getOutput(0);
  auto* result = choice->addOutput(*found, sum(*inside, *inside))->getOutput(0);
  mark(result, "found");
  mark(network->addShape(*result)->getOutput(0), "shape");
  for (const bool holds : {true, false}) {
    for (const auto& values : {Numbers{3, 0, 2, 0}, Numbers{0, 0, 0, 0}, Numbers{1, 2, 3, 4}}) {
      std::vector<HostTensor> inputs;
      inputs.push_back(host({}, {holds ? 1.0 : 0.0}, DataType::kBool));
      inputs.push_back(host({4}, values));
      Numbers expected;
      for (const double value : values) {
        if (!holds || value != 0) expected.push_back(holds ? value : 2 * value);
      }
      const auto results = evaluate(inputs);
      EXPECT_EQ(results[0], expected);
      EXPECT_EQ(results[1], Numbers{static_cast<double>(expected.size())});
    }
  }
}

TEST_F(ControlFlow, WhatLoopsRefuse) {
  auto& x = input("x", {2, 3});
  auto* loop = network->addLoop();
  auto* state = loop->addRecurrence(x);
  auto& next = sum(*state->getOutput(0), x);
  auto* last = loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE);
  mark(last->getOutput(0), "y");
  EXPECT_NE(refusal().find("has no next value; call setInput(1, ...)"), std::string::npos) << refusal();
  state->setInput(1, next);
  EXPECT_NE(refusal().find("has no trip limit; call addTripLimit()"), std::string::npos) << refusal();
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  EXPECT_EQ(refusal(), "accepted");
  EXPECT_EQ(loop->addTripLimit(number(2), TripLimit::kCOUNT), nullptr);
  expectError("has a trip limit of this kind already");
  auto* all = loop->addLoopOutput(next, LoopOutput::kCONCATENATE);
  mark(all->getOutput(0), "all");
  EXPECT_EQ(extents(all->getOutput(0)), (std::vector<int64_t>{-1, 2, 3})) << "as many parts as iterations";
  EXPECT_EQ(refusal(), "accepted");
  all->setInput(1, number(2));
  EXPECT_EQ(refusal(), "accepted");
  // What is computed within leaves by outputs only.
  auto& leak = sum(next, x);
  mark(&leak, "leak");
  EXPECT_NE(refusal().find("network output 'leak' is computed within '(Unnamed Loop* 0)'"), std::string::npos)
      << refusal();
}

TEST_F(ControlFlow, StatesKeepTheirShape) {
  auto& x = input("x", {2});
  auto* loop = network->addLoop();
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* state = loop->addRecurrence(x);
  nv::ITensor* twice[] = {state->getOutput(0), state->getOutput(0)};
  state->setInput(1, *network->addConcatenation(twice, 2)->getOutput(0));
  mark(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  EXPECT_NE(refusal().find("begins as f32 [2] and goes on as f32 [4]"), std::string::npos) << refusal();
}

TEST_F(ControlFlow, WhatConditionalsRefuse) {
  auto& x = input("x", {2});
  auto& wide = input("wide", {1, 3});
  auto* choice = network->addIfConditional();
  auto* output = choice->addOutput(x, wide);
  mark(output->getOutput(0), "y");
  EXPECT_NE(refusal().find("has no condition; call setCondition()"), std::string::npos) << refusal();
  ASSERT_NE(choice->setCondition(input("c", {}, nv::DataType::kBOOL)), nullptr);
  EXPECT_EQ(choice->setCondition(x), nullptr);
  expectError("has a condition already");
  EXPECT_NE(refusal().find("is f32 [2] for true and f32 [1,3] for false; expected the same type and number of"),
            std::string::npos)
      << refusal();
  output->setInput(1, x);
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(ControlFlow, ConstructsThatOverlapAreRefused) {
  auto& x = input("x", {});
  auto* a = network->addLoop();
  auto* b = network->addLoop();
  a->addTripLimit(number(2), TripLimit::kCOUNT);
  b->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* inA = a->addRecurrence(x);
  auto* inB = b->addRecurrence(x);
  auto& both = sum(*inA->getOutput(0), *inB->getOutput(0));
  inA->setInput(1, both);
  inB->setInput(1, both);
  auto* lastA = a->addLoopOutput(*inA->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  auto* lastB = b->addLoopOutput(*inB->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  mark(&sum(*lastA, *lastB), "y");
  EXPECT_NE(refusal().find("share layers and neither is within the other"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace tenon::api
