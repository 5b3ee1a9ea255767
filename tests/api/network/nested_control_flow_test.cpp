// Loops and conditionals within each other where one thing alone ties them: a slice, a next value, a count, a
// condition; and sizes that a state is.
#include "control_flow.h"

namespace tenon::api {
namespace {

class Nested : public ControlFlow {
 protected:
  // All values of y, one for each of the outer loop's iterations.
  void markAll(nv::ILoop& outer, nv::ITensor& y, int64_t trips) {
    auto* all = outer.addLoopOutput(y, LoopOutput::kCONCATENATE);
    all->setInput(1, number(trips));
    mark(all->getOutput(0), "all");
  }
  nv::ITensor& lastOf(nv::ILoop& loop, nv::IRecurrenceLayer& state) {
    return *loop.addLoopOutput(*state.getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  }
  Numbers resultOf(std::vector<HostTensor> inputs) { return evaluate(inputs).at(0); }
  static std::vector<HostTensor> one(HostTensor tensor) {
    std::vector<HostTensor> list;
    list.push_back(std::move(tensor));
    return list;
  }
};

// The inner state begins with a constant: nothing but its next value depends on the outer iteration.
TEST_F(Nested, InnerStatesMayBeginWithConstants) {
  auto& x = input("x", {2, 3});
  auto* outer = network->addLoop();
  outer->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* row = outer->addIterator(x);
  auto* inner = network->addLoop();
  inner->addTripLimit(number(3), TripLimit::kCOUNT);
  auto* element = inner->addIterator(*row->getOutput(0));
  auto* total = inner->addRecurrence(real(0, {}));
  total->setInput(1, sum(*total->getOutput(0), *element->getOutput(0)));
  markAll(*outer, lastOf(*inner, *total), 2);
  EXPECT_EQ(resultOf(one(host({2, 3}, {1, 2, 3, 4, 5, 6}))), (Numbers{6, 15}));
}

TEST_F(Nested, OnlyTheCountOfTheInnerLoopVaries) {
  auto& counts = input("counts", {4}, nv::DataType::kINT64);
  auto* outer = network->addLoop();
  outer->addTripLimit(number(4), TripLimit::kCOUNT);
  auto* count = outer->addIterator(counts);
  auto* inner = network->addLoop();
  inner->addTripLimit(*count->getOutput(0), TripLimit::kCOUNT);
  auto* power = inner->addRecurrence(real(1, {}));
  power->setInput(1, product(*power->getOutput(0), real(3, {})));
  markAll(*outer, lastOf(*inner, *power), 4);
  EXPECT_EQ(resultOf(one(host({4}, {0, 3, 1, 5}, DataType::kI64))), (Numbers{1, 27, 3, 243}));
}

TEST_F(Nested, OnlyTheConditionOfTheInnerLoopVaries) {
  auto& limits = input("limits", {3});
  auto* outer = network->addLoop();
  outer->addTripLimit(number(3), TripLimit::kCOUNT);
  auto* limit = outer->addIterator(limits);
  auto* inner = network->addLoop();
  auto* power = inner->addRecurrence(real(1, {}));
  power->setInput(1, product(*power->getOutput(0), real(3, {})));
  inner->addTripLimit(binary(*power->getOutput(0), *limit->getOutput(0), ElementWiseOperation::kLESS),
                      TripLimit::kWHILE);
  markAll(*outer, lastOf(*inner, *power), 3);
  EXPECT_EQ(resultOf(one(host({3}, {0, 10, 3}))), (Numbers{1, 27, 3}));
}

// Both branches are tensors from outside.
TEST_F(Nested, OnlyTheConditionOfAConditionalVaries) {
  auto& x = input("x", {4});
  auto& chosen = input("chosen", {});
  auto* outer = network->addLoop();
  outer->addTripLimit(number(4), TripLimit::kCOUNT);
  auto* element = outer->addIterator(x);
  auto* choice = network->addIfConditional();
  choice->setCondition(binary(*element->getOutput(0), real(0, {}), ElementWiseOperation::kGREATER));
  markAll(*outer, *choice->addOutput(chosen, real(7, {}))->getOutput(0), 4);
  std::vector<HostTensor> inputs = one(host({4}, {1, -1, 0, 2}));
  inputs.push_back(host({}, {5}));
  EXPECT_EQ(resultOf(std::move(inputs)), (Numbers{5, 7, 7, 5}));
}

TEST_F(Nested, OnlyTheConditionOfAConditionalWithinABranchIsOfIt) {
  auto& x = input("x", {});
  auto& first = input("first", {}, nv::DataType::kBOOL);
  auto& second = input("second", {}, nv::DataType::kBOOL);
  auto* outer = network->addIfConditional();
  outer->setCondition(first);
  auto* inner = network->addIfConditional();
  inner->setCondition(*outer->addInput(second)->getOutput(0));
  mark(outer->addOutput(*inner->addOutput(x, real(7, {}))->getOutput(0), x)->getOutput(0), "y");
  for (const auto& [a, b, expected] : {std::tuple(1, 1, 5.0), {1, 0, 7.0}, {0, 1, 5.0}, {0, 0, 5.0}}) {
    std::vector<HostTensor> inputs = one(host({}, {5}));
    inputs.push_back(host({}, {static_cast<double>(a)}, DataType::kBool));
    inputs.push_back(host({}, {static_cast<double>(b)}, DataType::kBool));
    EXPECT_EQ(resultOf(std::move(inputs)), Numbers{expected});
  }
}

// What does not vary with the outer loop stays outside of it.
TEST_F(Nested, LoopsOverOuterTensorsAreOutside) {
  auto& x = input("x", {3});
  auto* outer = network->addLoop();
  outer->addTripLimit(number(2), TripLimit::kCOUNT);
  auto* state = outer->addRecurrence(real(0, {}));
  auto* inner = network->addLoop();
  inner->addTripLimit(number(3), TripLimit::kCOUNT);
  auto* element = inner->addIterator(x);
  auto* factor = inner->addRecurrence(real(1, {}));
  factor->setInput(1, product(*factor->getOutput(0), *element->getOutput(0)));
  state->setInput(1, sum(*state->getOutput(0), lastOf(*inner, *factor)));
  mark(&lastOf(*outer, *state), "y");
  EXPECT_EQ(resultOf(one(host({3}, {2, 3, 4}))), Numbers{48});
}

// A loop in each of a loop's iterations in each of a loop's, slices from either end, parts along any axis.
TEST_F(Nested, ThreeDeep) {
  auto& x = input("x", {2, 3, 4});
  nv::ILoop* loops[] = {network->addLoop(), network->addLoop(), network->addLoop()};
  for (int i = 0; i < 3; ++i) loops[i]->addTripLimit(number(2 + i), TripLimit::kCOUNT);
  auto* plane = loops[0]->addIterator(x, 0, true);
  auto* row = loops[1]->addIterator(*plane->getOutput(0));
  auto* element = loops[2]->addIterator(*row->getOutput(0), 0, true);
  auto* state = loops[2]->addRecurrence(real(1, {}));
  state->setInput(1, sum(product(*state->getOutput(0), real(2, {})), *element->getOutput(0)));
  const auto stack = [&](int i, nv::ITensor& part, LoopOutput kind, int32_t axis) {
    auto* all = loops[i]->addLoopOutput(part, kind, axis);
    all->setInput(1, number(2 + i));
    return all->getOutput(0);
  };
  auto* states = stack(2, *state->getOutput(0), LoopOutput::kCONCATENATE, 0);
  auto* columns = stack(1, *states, LoopOutput::kREVERSE, 1);
  mark(stack(0, *columns, LoopOutput::kCONCATENATE, 2), "y");  // [4,3,2]
  Numbers values, expected(24);
  for (int i = 0; i < 24; ++i) values.push_back((i * 7) % 11 - 5);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      double s = 1;
      for (size_t k = 0; k < 4; ++k) {
        expected[k * 6 + (2 - j) * 2 + i] = s;
        s = s * 2 + values[(1 - i) * 12 + j * 4 + 3 - k];
      }
    }
  }
  EXPECT_EQ(resultOf(one(host({2, 3, 4}, values))), expected);
}

// Sixteen of them and no more, which is said at once.
TEST_F(Nested, AsDeepAsAPlanHolds) {
  for (const int depth : {16, 17, 200}) {
    network = std::make_unique<Network>(builder, reporter, 0U);
    auto& x = input("x", {});
    std::vector<nv::IRecurrenceLayer*> states;
    std::vector<nv::ILoop*> loops;
    for (int i = 0; i < depth; ++i) {
      loops.push_back(network->addLoop());
      loops.back()->addTripLimit(number(i % 3 == 0 ? 2 : 1), TripLimit::kCOUNT);
      states.push_back(loops.back()->addRecurrence(i == 0 ? x : *states.back()->getOutput(0)));
    }
    nv::ITensor* y = &sum(*states.back()->getOutput(0), real(1, {}));
    for (int i = depth; i-- > 0;) {
      states[static_cast<size_t>(i)]->setInput(1, *y);
      y = &lastOf(*loops[static_cast<size_t>(i)], *states[static_cast<size_t>(i)]);
    }
    mark(y, "y");
    if (depth == 16) {
      EXPECT_EQ(resultOf(one(host({}, {5}))), Numbers{5 + 64});
    } else {
      EXPECT_NE(refusal().find("is the 17th of loops and conditionals that are within each other; expected 16 at most"),
                std::string::npos)
          << refusal();
    }
  }
}

// Without anything in between that would compute it.
TEST_F(Nested, StatesAndSlicesMayBeSizes) {
  auto& x = input("x", {5});
  const int64_t kZero = 0, kOne = 1;
  auto* loop = network->addLoop();
  loop->addTripLimit(number(6), TripLimit::kCOUNT);
  auto* size = loop->addRecurrence(*network->addConstant(dims({1}), {nv::DataType::kINT64, &kZero, 1})->getOutput(0));
  auto& one64 = *network->addConstant(dims({1}), {nv::DataType::kINT64, &kOne, 1})->getOutput(0);
  size->setInput(1, sum(*size->getOutput(0), one64));
  auto* part = network->addSlice(x, dims({0}), dims({1}), dims({1}));
  part->setInput(2, *size->getOutput(0));
  auto* total = network->addReduce(*part->getOutput(0), nv::ReduceOperation::kSUM, 1, false)->getOutput(0);
  markAll(*loop, *total, 6);
  EXPECT_EQ(resultOf(one(host({5}, {1, 2, 3, 4, 5}))), (Numbers{0, 1, 3, 6, 10, 15}));
}

}  // namespace
}  // namespace tenon::api
