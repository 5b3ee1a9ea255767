// Pieces on several threads: all run, and what one throws arrives.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.h"
#include "runtime/engine_parts.h"
#include "runtime/preparation.h"
#include "support/hand_plan.h"

namespace tenon::test {
namespace {

TEST(Preparation, WhatAPieceThrowsArrivesAfterAllHaveRun) {
  for (const size_t count : {0, 1, 2, 37}) {
    std::atomic<size_t> ran{0};
    std::vector<std::function<void()>> pieces;
    for (size_t i = 0; i < count; ++i) {
      pieces.push_back([&ran, i] {
        ++ran;
        if (i % 2 == 1) throw OutOfMemory("piece {}", i);
      });
    }
    if (count < 2) EXPECT_NO_THROW(runtime::runTogetherOrThrow(std::move(pieces)));
    else EXPECT_THROW(runtime::runTogetherOrThrow(std::move(pieces)), OutOfMemory);
    EXPECT_EQ(ran, count);
  }
}

// Of a machine with more: threads that wait for a core hold locks of those that have one.
TEST(Preparation, ThereAreNoMoreThreadsThanCoresOfTheProcess) {
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  constexpr auto kPause = std::chrono::milliseconds(2);
  runtime::runTogether(std::vector<std::function<void()>>(8, [&] {
    std::this_thread::sleep_for(kPause);
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  }));
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(threads.size(), 1u);
}

TEST(Preparation, WhatRunsBesideEndsWithItsHolder) {
  std::atomic<int> ran{0};
  {
    const runtime::Beside beside({[&] { ++ran; }, [] { throw Unsupported("nobody hears it"); }, [&] { ++ran; }});
  }
  EXPECT_EQ(ran, 2);
}

// Notes what it is prepared for.
class Prepared final : public runtime::Kernel, public runtime::PreparedOnce {
 public:
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return nullptr; }
  void prepare(const runtime::Shapes& shapes) const override {
    seen += fmt::format("{}->{} ", shapes.inputs[0].dims.text(), shapes.outputs[0].dims.text());
  }
  mutable std::string seen;
};

class Plain final : public runtime::Kernel {
 public:
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return nullptr; }
};

// Equal steps, one of another size, and one whose kernel waits for nothing.
std::string preparedFor(const std::string& rows) {
  HandPlan hand;
  const auto x = hand.input("x", DataType::kF32, {rows, "3"});
  const auto z = hand.input("z", DataType::kF32, {"5", "3"});
  const auto a = hand.tensor("a", DataType::kF32, {rows, "3"});
  const auto b = hand.tensor("b", DataType::kF32, {rows, "3"});
  const auto y = hand.output("y", DataType::kF32, {rows, "3"});
  const auto u = hand.output("u", DataType::kF32, {"5", "3"});
  hand.step("first", pointwise("relu(x0)"), {x}, {a});
  hand.step("second", pointwise("relu(x0)"), {a}, {b});
  hand.step("plain", pointwise("neg(x0)"), {b}, {y});
  hand.step("smaller", pointwise("relu(x0)"), {z}, {u});
  if (rows == "n") hand.profile({{"x", {{1, 3}, {2, 3}, {9, 3}, {}, {}, {}}}});
  runtime::EngineParts parts;
  parts.plan = hand.finish();
  const auto kernel = std::make_shared<const Prepared>();
  auto& kernels = parts.programs.emplace_back().kernels;
  for (const auto& step : parts.plan.programs[0].steps) {
    kernels.emplace_back();
    if (step.name == "plain") kernels.back().kernel = std::make_shared<const Plain>();
    else kernels.back().kernel = kernel;
  }
  for (const auto& piece : runtime::preparationsOf(parts)) piece();
  return kernel->seen;
}

TEST(Preparation, KernelsArePreparedOnceForShapesThatStay) {
  EXPECT_EQ(preparedFor("2"), "2x3->2x3 5x3->5x3 ");
  EXPECT_EQ(preparedFor("1"), "1x3->1x3 5x3->5x3 ");
  EXPECT_EQ(preparedFor("0"), "0x3->0x3 5x3->5x3 ");
  EXPECT_EQ(preparedFor("n"), "") << "contexts choose the extents";
}

}  // namespace
}  // namespace tenon::test
