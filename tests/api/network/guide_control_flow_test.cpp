// Loops and conditionals as TensorRT's developer guide describes them: its examples, its semantics and its rules.
#include "control_flow.h"

#include <algorithm>

namespace tenon::api {
namespace {

class GuideControlFlow : public ControlFlow {
 protected:
  // {2, 3, 5}, {4, 6, 8}
  nv::ITensor& matrix() { return input("matrix", {2, 3}); }
  static std::vector<HostTensor> matrixValues() {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({2, 3}, {2, 3, 5, 4, 6, 8}));
    return inputs;
  }
  // What an iterator gives, iteration after iteration.
  Numbers iterated(int32_t axis, bool reverse, int64_t trips) {
    auto& x = matrix();
    auto* loop = network->addLoop();
    loop->addTripLimit(number(trips), TripLimit::kCOUNT);
    auto* slices = loop->addIterator(x, axis, reverse);
    auto* all = loop->addLoopOutput(*slices->getOutput(0), LoopOutput::kCONCATENATE, 0);
    all->setInput(1, number(trips));
    mark(all->getOutput(0), "all");
    return evaluate(matrixValues())[0];
  }
  // The two rows of the matrix as parts of a result of the given length.
  nv::ITensor* collect(LoopOutput kind, int32_t axis, int64_t length) {
    auto* loop = network->addLoop();
    loop->addTripLimit(number(2), TripLimit::kCOUNT);
    auto* rows = loop->addIterator(*(x_ != nullptr ? x_ : x_ = &matrix()));
    auto* all = loop->addLoopOutput(*rows->getOutput(0), kind, axis);
    all->setInput(1, number(length));
    return all->getOutput(0);
  }
  // Of the only loop or conditional: how many operators run within, in both regions.
  size_t operatorsWithin() {
    const graph::Graph graph = network->assemble();
    size_t count = 0;
    for (const auto id : graph.order()) {
      const auto text = graph.node(id).op.text();
      if (!text.starts_with("if{")) continue;
      for (size_t at = text.find("pointwise{"); at != std::string::npos; at = text.find("pointwise{", at + 1)) ++count;
    }
    return count;
  }
  nv::ITensor* x_ = nullptr;
};

TEST_F(GuideControlFlow, IteratorsOverRows) { EXPECT_EQ(iterated(0, false, 2), (Numbers{2, 3, 5, 4, 6, 8})); }
TEST_F(GuideControlFlow, IteratorsOverRowsInReverse) { EXPECT_EQ(iterated(0, true, 2), (Numbers{4, 6, 8, 2, 3, 5})); }
TEST_F(GuideControlFlow, IteratorsOverColumns) { EXPECT_EQ(iterated(1, false, 3), (Numbers{2, 4, 3, 6, 5, 8})); }
TEST_F(GuideControlFlow, IteratorsOverColumnsInReverse) {
  EXPECT_EQ(iterated(1, true, 3), (Numbers{5, 8, 3, 6, 2, 4}));
}
TEST_F(GuideControlFlow, IteratorsMayEndBeforeTheirTensor) { EXPECT_EQ(iterated(1, true, 2), (Numbers{5, 8, 3, 6})); }

TEST_F(GuideControlFlow, IteratorsBeyondTheirTensorAreAnError) {
  try {
    iterated(0, false, 3);
    ADD_FAILURE() << "three iterations over two rows";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 2 reads beyond the 2 slices"), std::string::npos)
        << error.what();
  }
}

// for (int32_t i = j; ...; i += k)
TEST_F(GuideControlFlow, RecurrencesBeginOutside) {
  auto& j = input("j", {}, nv::DataType::kINT32);
  auto& k = input("k", {}, nv::DataType::kINT32);
  auto& trips = input("trips", {}, nv::DataType::kINT32);
  auto* loop = network->addLoop();
  auto* recurrence = loop->addRecurrence(j);
  auto* i = recurrence->getOutput(0);
  recurrence->setInput(1, sum(*i, k));
  loop->addTripLimit(trips, TripLimit::kCOUNT);
  mark(loop->addLoopOutput(*i, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  for (const int64_t count : {0, 1, 7}) {
    std::vector<HostTensor> inputs;
    for (const int64_t value : {int64_t{3}, int64_t{5}, count})
      inputs.push_back(host({}, {static_cast<double>(value)}, DataType::kI32));
    EXPECT_EQ(evaluate(inputs)[0], Numbers{static_cast<double>(3 + 5 * count)}) << "X0 for no iteration";
  }
}

TEST_F(GuideControlFlow, PartsStandAlongAnyAxis) {
  mark(collect(LoopOutput::kCONCATENATE, 0, 2), "rows");
  mark(collect(LoopOutput::kCONCATENATE, 1, 2), "columns");
  mark(collect(LoopOutput::kREVERSE, 0, 2), "rowsReversed");
  mark(collect(LoopOutput::kREVERSE, 1, 2), "columnsReversed");
  const auto results = evaluate(matrixValues());
  EXPECT_EQ(results[0], (Numbers{2, 3, 5, 4, 6, 8}));
  EXPECT_EQ(results[1], (Numbers{2, 4, 3, 6, 5, 8}));
  EXPECT_EQ(results[2], (Numbers{4, 6, 8, 2, 3, 5}));
  EXPECT_EQ(results[3], (Numbers{4, 2, 6, 3, 8, 5}));
}

// Elements beyond the iterations are arbitrary in TensorRT and zero here; the length may not be less.
TEST_F(GuideControlFlow, LengthsMayBeMoreThanTheIterations) {
  mark(collect(LoopOutput::kCONCATENATE, 0, 3), "rows");
  mark(collect(LoopOutput::kREVERSE, 0, 3), "reversed");
  const auto results = evaluate(matrixValues());
  EXPECT_EQ(results[0], (Numbers{2, 3, 5, 4, 6, 8, 0, 0, 0}));
  EXPECT_EQ(results[1], (Numbers{4, 6, 8, 2, 3, 5, 0, 0, 0}));
  mark(collect(LoopOutput::kCONCATENATE, 0, 1), "short");
  EXPECT_THROW(evaluate(matrixValues()), UserError);
}

// With both limits the one that is reached first ends the loop.
TEST_F(GuideControlFlow, LoopsMayHaveBothLimits) {
  auto& count = input("count", {}, nv::DataType::kINT32);
  auto& bound = input("bound", {});
  auto* loop = network->addLoop();
  auto* state = loop->addRecurrence(real(1, {}));
  state->setInput(1, sum(*state->getOutput(0), *state->getOutput(0)));
  loop->addTripLimit(count, TripLimit::kCOUNT);
  loop->addTripLimit(binary(*state->getOutput(0), bound, ElementWiseOperation::kLESS), TripLimit::kWHILE);
  mark(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  for (const auto& [trips, limit, expected] :
       {std::tuple{3, 100.0, 8.0}, {30, 100.0, 128.0}, {0, 100.0, 1.0}, {9, 1.0, 1.0}}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {static_cast<double>(trips)}, DataType::kI32));
    inputs.push_back(host({}, {limit}));
    EXPECT_EQ(evaluate(inputs)[0], Numbers{expected});
  }
}

// A condition made of an integer, both branches of the same inputs.
TEST_F(GuideControlFlow, SimpleConditional) {
  auto& x = input("x", {5});
  auto& y = input("y", {5});
  for (const bool predicate : {true, false}) {
    auto* cast = network->addIdentity(number(predicate ? 1 : 0));
    cast->setOutputType(0, nv::DataType::kBOOL);
    auto* choice = network->addIfConditional();
    choice->setCondition(*cast->getOutput(0));
    auto* insideX = choice->addInput(x)->getOutput(0);
    auto* insideY = choice->addInput(y)->getOutput(0);
    auto& added = sum(*insideX, *insideY);
    auto& less = binary(*insideX, *insideY, ElementWiseOperation::kSUB);
    mark(choice->addOutput(added, less)->getOutput(0), predicate ? "yes" : "no");
  }
  std::vector<HostTensor> inputs;
  inputs.push_back(host({5}, {1, 2, 3, 4, 5}));
  inputs.push_back(host({5}, {9, 8, 7, 6, 5}));
  const auto results = evaluate(inputs);
  EXPECT_EQ(results[0], (Numbers{10, 10, 10, 10, 10}));
  EXPECT_EQ(results[1], (Numbers{-8, -6, -4, -2, 0}));
}

// Three layers behind each other: where the input of the conditional stands says which of them are within.
TEST_F(GuideControlFlow, InputsSayWhatIsLazy) {
  for (const size_t within : {3U, 2U, 0U}) {
    network = std::make_unique<Network>(builder, reporter, 0U);
    auto& which = input("which", {}, nv::DataType::kBOOL);
    auto& x = input("x", {2});
    auto* choice = network->addIfConditional();
    choice->setCondition(which);
    nv::ITensor* at = &x;
    for (size_t left = 3; left > 0; --left) {
      if (left == within) at = choice->addInput(*at)->getOutput(0);
      at = network->addUnary(*at, nv::UnaryOperation::kEXP)->getOutput(0);
    }
    mark(choice->addOutput(*at, x)->getOutput(0), "y");
    EXPECT_EQ(operatorsWithin(), within);
  }
}

// What both branches need is computed in each: TensorRT refuses such an edge between branches.
TEST_F(GuideControlFlow, BranchesMayShareALayer) {
  auto& which = input("which", {}, nv::DataType::kBOOL);
  auto& x = input("x", {2});
  auto* choice = network->addIfConditional();
  choice->setCondition(which);
  auto* inside = choice->addInput(x)->getOutput(0);
  auto& twice = sum(*inside, *inside);
  mark(choice->addOutput(sum(twice, *inside), product(twice, twice))->getOutput(0), "y");
  for (const bool holds : {true, false}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(host({}, {holds ? 1.0 : 0.0}, DataType::kBool));
    inputs.push_back(host({2}, {1, 5}));
    EXPECT_EQ(evaluate(inputs)[0], holds ? (Numbers{3, 15}) : (Numbers{4, 100}));
  }
}

// The sum of the even ones among the items.
TEST_F(GuideControlFlow, AConditionalWithinALoop) {
  auto& items = input("items", {-1});
  auto* length = network->addGather(*network->addShape(items)->getOutput(0), number(0), 0)->getOutput(0);
  auto* loop = network->addLoop();
  loop->addTripLimit(*length, TripLimit::kCOUNT);
  auto* item = loop->addIterator(items)->getOutput(0);
  auto* total = loop->addRecurrence(real(0, {}));
  auto& halves = binary(*item, real(2, {}), ElementWiseOperation::kFLOOR_DIV);
  auto& isEven = binary(product(halves, real(2, {})), *item, ElementWiseOperation::kEQUAL);
  auto* choice = network->addIfConditional();
  choice->setCondition(isEven);
  auto* inside = choice->addInput(*total->getOutput(0))->getOutput(0);
  total->setInput(1, *choice->addOutput(sum(*inside, *item), *inside)->getOutput(0));
  mark(loop->addLoopOutput(*total->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "sum");
  for (const auto& values : {Numbers{}, Numbers{1, 2, 3, 4}, Numbers{7}, Numbers{10, 10, 5}}) {
    double expected = 0;
    for (const double value : values) expected += static_cast<int>(value) % 2 == 0 ? value : 0;
    std::vector<HostTensor> inputs;
    inputs.push_back(host({static_cast<int64_t>(values.size())}, values));
    EXPECT_EQ(evaluate(inputs)[0], Numbers{expected});
  }
}

class GuideRules : public GuideControlFlow {
 protected:
  void SetUp() override {
    loop = network->addLoop();
    loop->setName("loop");
    x = &input("x", {2, 3});
    state = loop->addRecurrence(*x);
    state->setInput(1, sum(*state->getOutput(0), *x));
  }
  void markLast() { mark(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y"); }
  void expectRefusal(const std::string& part) { EXPECT_NE(refusal().find(part), std::string::npos) << refusal(); }
  nv::ILoop* loop = nullptr;
  nv::ITensor* x = nullptr;
  nv::IRecurrenceLayer* state = nullptr;
};

TEST_F(GuideRules, CountsAreIntegersOfOneElement) {
  markLast();
  loop->addTripLimit(real(2, {}), TripLimit::kCOUNT);
  expectRefusal("the number of iterations is f32 []");
}

TEST_F(GuideRules, ConditionsOfLoopsAreTruthValues) {
  markLast();
  loop->addTripLimit(*state->getOutput(0), TripLimit::kWHILE);
  expectRefusal("the condition is f32 [2,3], expected one bool");
}

TEST_F(GuideRules, LastValuesAreOfRecurrences) {
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  auto& within = sum(*state->getOutput(0), *state->getOutput(0));
  mark(loop->addLoopOutput(within, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  expectRefusal("which is no recurrence of the loop");
}

TEST_F(GuideRules, AxesAreThoseOfTheTensors) {
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* all = loop->addLoopOutput(*state->getOutput(0), LoopOutput::kCONCATENATE, 3);
  mark(all->getOutput(0), "y");
  expectRefusal("of loop 'loop': axis 3 is outside [0, 2] of the result");
  all->setAxis(2);
  EXPECT_EQ(refusal(), "accepted");
  auto* slices = loop->addIterator(*x, 2);
  state->setInput(1, sum(*state->getOutput(0), *slices->getOutput(0)));
  expectRefusal("axis 2 is outside [0, 2) of");
}

TEST_F(GuideRules, FirstValuesComeFromOutside) {
  markLast();
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* other = loop->addRecurrence(sum(*state->getOutput(0), *x));
  other->setInput(1, *other->getOutput(0));
  mark(loop->addLoopOutput(*other->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "z");
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(GuideRules, OnlyRecurrencesHaveBackEdges) {
  markLast();
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* first = network->addElementWise(*state->getOutput(0), *x, ElementWiseOperation::kSUM);
  auto* second = network->addElementWise(*first->getOutput(0), *x, ElementWiseOperation::kSUM);
  first->setInput(1, *second->getOutput(0));
  state->setInput(1, *second->getOutput(0));
  expectRefusal("depends on its own output through layer");
}

TEST_F(GuideRules, ALoopWithoutOutputsIsNothing) {
  loop->addTripLimit(number(2), TripLimit::kCOUNT);
  mark(&sum(*x, *x), "y");
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(GuideRules, AConditionalHasOutputs) {
  auto* choice = network->addIfConditional();
  choice->setName("choice");
  choice->setCondition(input("which", {}, nv::DataType::kBOOL));
  choice->addInput(*x);
  mark(&sum(*x, *x), "y");
  expectRefusal("conditional 'choice' has no outputs; call addOutput()");
}

TEST_F(GuideRules, ConditionsOfConditionalsAreTruthValues) {
  auto* choice = network->addIfConditional();
  choice->setCondition(*x);
  mark(choice->addOutput(*x, *x)->getOutput(0), "y");
  expectRefusal("the condition is f32, expected bool");
}

TEST_F(GuideRules, WhatIsWithinABranchIsNoOutputOfTheNetwork) {
  auto* choice = network->addIfConditional();
  choice->setName("choice");
  choice->setCondition(input("which", {}, nv::DataType::kBOOL));
  auto* inside = choice->addInput(*x)->getOutput(0);
  auto& leak = sum(*inside, *inside);
  mark(choice->addOutput(leak, *x)->getOutput(0), "y");
  mark(&leak, "leak");
  expectRefusal("network output 'leak' is computed within 'choice'");
}

}  // namespace
}  // namespace tenon::api
