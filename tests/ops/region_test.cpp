// Loops and conditionals: values against the same arithmetic written out in C++, and what they refuse.
#include "core/error.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "support.h"

namespace tenon::ops {
namespace {

RegionNode scalarNode(const std::string& expr, std::vector<int32_t> inputs) {
  return {Pointwise{parseScalarExpr(expr)}, std::move(inputs), 1, "node"};
}

// state = state * decay + slice; part = state * 2
Loop decay(bool reverseIn, bool reverseOut, Extent length) {
  Loop loop;
  loop.states = 1;
  loop.counted = true;
  loop.slices = {{0, reverseIn, Extent(-1)}};
  loop.stacks = {{1, reverseOut, std::move(length)}};
  loop.next = Region({3, {scalarNode("mul(x0,x1);add(t0,x2)", {0, 2, 1}), scalarNode("mul(x0,2)", {3})}, {3, 4}});
  return loop;
}

TEST(Loop, StatesSlicesAndParts) {
  Rng rng(5);
  for (int round = 0; round < 100; ++round) {
    const int64_t count = pick(rng, 0, 7), width = pick(rng, 0, 5), length = count + pick(rng, 0, 3);
    const bool reverseIn = pick(rng, 0, 1) == 1, reverseOut = pick(rng, 0, 1) == 1;
    const auto first = randomTensor(rng, {width});
    const auto sequence = randomTensor(rng, {length, width});
    const auto factor = tensor({1}, {0.5});
    std::vector<HostTensor> inputs;
    inputs.push_back(tensor({}, {static_cast<double>(count)}, DataType::kI64));
    inputs.push_back(tensor({width}, numbers(first)));
    inputs.push_back(tensor({length, width}, numbers(sequence)));
    inputs.push_back(tensor({1}, {0.5}));
    const auto results = run(decay(reverseIn, reverseOut, Extent(length)), inputs);
    auto state = numbers(first);
    std::vector<double> parts(static_cast<size_t>(width * length));
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t i = 0; i < width; ++i) {
        auto& x = state[static_cast<size_t>(i)];
        x = x * 0.5 + sequence.view().loadDouble((reverseIn ? length - 1 - k : k) * width + i);
        parts[static_cast<size_t>(i * length + (reverseOut ? count - 1 - k : k))] = x * 2;
      }
    }
    ASSERT_EQ(numbers(results[0]), state) << count << " iterations of " << length;
    ASSERT_EQ(numbers(results[1]), parts) << count << " iterations of " << length;
  }
}

TEST(Loop, RunsAsLongAsTheConditionHolds) {
  // Doubles until 100 is passed; the two states change places each time.
  Loop loop;
  loop.states = 2;
  loop.test = Region({2, {scalarNode("less(x0,100)", {0})}, {2}});
  loop.next = Region({2, {scalarNode("mul(x0,2)", {0})}, {2, 0}});
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor({}, {3}));
  inputs.push_back(tensor({}, {7}));
  const auto results = run(loop, inputs);
  EXPECT_EQ(numbers(results[0]), std::vector<double>{192});
  EXPECT_EQ(numbers(results[1]), std::vector<double>{96});
  Loop swapped = loop;
  swapped.test = Region({2, {scalarNode("less(x0,5)", {0})}, {2}});
  swapped.next = Region({2, {}, {1, 0}});
  const auto swappedResults = run(swapped, inputs);
  EXPECT_EQ(numbers(swappedResults[0]), std::vector<double>{7});
  EXPECT_EQ(numbers(swappedResults[1]), std::vector<double>{3});
}

std::string refusal(const Operator& op, const std::vector<HostTensor>& inputs) {
  try {
    run(op, inputs);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Loop, RefusesMoreIterationsThanThereAreSlices) {
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor({}, {3}, DataType::kI64));
  inputs.push_back(tensor({1}, {0}));
  inputs.push_back(tensor({2, 1}, {1, 2}));
  inputs.push_back(tensor({1}, {1}));
  EXPECT_NE(refusal(decay(false, false, 5), inputs).find("iteration 2 reads beyond the 2 slices"), std::string::npos)
      << refusal(decay(false, false, 5), inputs);
  inputs[0] = tensor({}, {2}, DataType::kI64);
  EXPECT_NE(refusal(decay(false, false, 1), inputs).find("iteration 1 gives more than the 1 parts"), std::string::npos);
}

TEST(Loop, RefusesStatesThatChangeTheirShape) {
  Loop loop;
  loop.states = 1;
  loop.counted = true;
  loop.next = Region({2, {scalarNode("add(x0,x1)", {0, 1})}, {2}});
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor({}, {1}, DataType::kI32));
  inputs.push_back(tensor({1}, {1}));
  inputs.push_back(tensor({3}, {1, 2, 3}));
  EXPECT_NE(refusal(loop, inputs).find("begins as [1] and goes on as [3]"), std::string::npos) << refusal(loop, inputs);
}

TEST(Loop, NeedsAnEnd) {
  Loop loop;
  loop.next = Region({0, {}, {}});
  EXPECT_NE(refusal(loop, {}).find("neither a number of iterations nor a condition"), std::string::npos);
}

TEST(If, ComputesOneBranch) {
  If choice;
  choice.then = Region({2, {scalarNode("add(x0,x1)", {0, 1})}, {2}});
  choice.otherwise = Region({2, {scalarNode("sub(x0,x1)", {0, 1})}, {2}});
  for (const bool holds : {true, false}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(tensor({}, {holds ? 1.0 : 0.0}, DataType::kBool));
    inputs.push_back(tensor({2}, {5, 7}));
    inputs.push_back(tensor({2}, {1, 2}));
    EXPECT_EQ(numbers(run(choice, inputs)[0]), holds ? (std::vector<double>{6, 9}) : (std::vector<double>{4, 5}));
  }
}

TEST(If, RefusesBranchesOfDifferentShapes) {
  If choice;
  choice.then = Region({2, {}, {0}});
  choice.otherwise = Region({2, {}, {1}});
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor({}, {1}, DataType::kBool));
  inputs.push_back(tensor({2}, {5, 7}));
  inputs.push_back(tensor({3}, {1, 2, 3}));
  EXPECT_NE(refusal(choice, inputs).find("[2] in one branch and [3] in the other"), std::string::npos)
      << refusal(choice, inputs);
}

TEST(Region, TextReadsBackAndHostileTextIsRefused) {
  const Operator op(decay(true, false, Extent::symbol("n") + 1));
  EXPECT_EQ(Operator::parse(op.text()), op) << op.text();
  const auto parse = [](const std::string& text) -> std::string {
    try {
      const Operator read = Operator::parse(text);
      read.infer("op", std::vector<TensorType>{{DataType::kBool, {}, {}}, {DataType::kF32, {Extent(1)}, {}}});
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(parse("if{then={1 [{pointwise [5] 1 \"a\"}] [1]} otherwise={1 [] [0]}}").find("reads value 5"),
            std::string::npos);
  EXPECT_NE(parse("if{then={1 [] [7]} otherwise={1 [] [0]}}").find("reads value 7"), std::string::npos);
  EXPECT_NE(parse("if{then={2 [] [0]} otherwise={1 [] [0]}}").find("with 2 inputs is given 1"), std::string::npos);
  EXPECT_NE(parse("if{then={1 [{pointwise [0] 3 \"a\"}] [1]} otherwise={1 [] [0]}}").find("its region says 3"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "if{then={1 [{";
  EXPECT_NE(parse(deep).find("nested more than"), std::string::npos);
}

}  // namespace
}  // namespace tenon::ops
