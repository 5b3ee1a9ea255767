// Programs on several streams, in many orders, against the same program one step after another.
#include "memory/branches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace tenon::memory {
namespace {

constexpr int kSpaces = 3;
constexpr int kBytes = 64;

using Memory = std::vector<std::vector<uint64_t>>;  // by space and byte

// Steps over a small memory, so that places are used again and again.
std::vector<BranchStep> randomProgram(std::mt19937_64& random, int count) {
  std::vector<BranchStep> steps;
  for (int i = 0; i < count; ++i) {
    BranchStep step;
    const int accesses = 1 + static_cast<int>(random() % 4);
    for (int a = 0; a < accesses; ++a) {
      const auto begin = random() % kBytes;
      const auto end = std::min<uint64_t>(kBytes, begin + random() % 9);  // some touch nothing
      const bool writes = a == 0 || random() % 4 == 0;
      const auto space = random() % 4 == 0 ? 1 + static_cast<int32_t>(random() % (kSpaces - 1)) : 0;
      step.accesses.push_back({space, begin, end, writes});
      if (writes) continue;
      for (int j = i - 1; j >= 0; --j) {  // who wrote what is read here
        const auto& others = steps[static_cast<size_t>(j)].accesses;
        const auto meets = [&](const Access& x) {
          return x.writes && x.space == space && x.begin < end && begin < x.end;
        };
        if (std::none_of(others.begin(), others.end(), meets)) continue;
        step.needs.push_back(j);
        break;
      }
    }
    steps.push_back(step);
  }
  return steps;
}

uint64_t read(const BranchStep& step, const Memory& memory, uint64_t seed) {
  for (const auto& access : step.accesses) {
    if (access.writes) continue;
    for (uint64_t b = access.begin; b < access.end; ++b)
      seed = seed * 6364136223846793005u + memory[static_cast<size_t>(access.space)][b];
  }
  return seed;
}

void write(const BranchStep& step, Memory& memory, uint64_t value) {
  for (const auto& access : step.accesses) {
    if (!access.writes) continue;
    for (uint64_t b = access.begin; b < access.end; ++b) memory[static_cast<size_t>(access.space)][b] = value + b;
  }
}

Memory freshMemory() {
  Memory memory(kSpaces, std::vector<uint64_t>(kBytes));
  for (auto& space : memory) {
    for (size_t b = 0; b < space.size(); ++b) space[b] = b;
  }
  return memory;
}

// Streams go on at random; a step reads when it begins and writes when it ends, with others in between.
class Simulation {
 public:
  Simulation(const std::vector<BranchStep>& steps, const Branches& branches, std::mt19937_64& random)
      : steps_(steps),
        branches_(branches),
        random_(random),
        state_(steps.size(), kWaiting),
        values_(steps.size()),
        memory_(freshMemory()) {
    queues_.resize(16);
    for (size_t i = 0; i < steps.size(); ++i) queues_.at(static_cast<size_t>(branches.steps[i].stream)).push_back(i);
  }

  const Memory& run() {
    for (size_t ended = 0; ended < steps_.size();) {
      const auto stream = random_() % queues_.size();
      auto& queue = queues_[stream];
      if (next_[stream] == queue.size()) continue;
      const size_t step = queue[next_[stream]];
      if (state_[step] == kWaiting) {
        if (!mayBegin(step)) continue;
        for (size_t s = 0; s < step; ++s) {
          if (state_[s] == kEnded) continue;
          EXPECT_LE(step, static_cast<size_t>(branches_.lastBeside[s])) << "beside step " << s;
        }
        values_[step] = read(steps_[step], memory_, step + 1);
        state_[step] = kRunning;
      } else {
        write(steps_[step], memory_, values_[step]);
        state_[step] = kEnded;
        ++next_[stream];
        ++ended;
      }
    }
    return memory_;
  }

 private:
  enum State { kWaiting, kRunning, kEnded };
  bool mayBegin(size_t step) const {
    const auto& waits = branches_.steps[step].waits;
    return std::all_of(waits.begin(), waits.end(), [&](int32_t w) { return state_[static_cast<size_t>(w)] == kEnded; });
  }
  const std::vector<BranchStep>& steps_;
  const Branches& branches_;
  std::mt19937_64& random_;
  std::vector<State> state_;
  std::vector<uint64_t> values_;
  std::vector<std::vector<size_t>> queues_;
  size_t next_[16] = {};
  Memory memory_;
};

// What the executor relies on, beside the order of accesses.
void expectSound(const std::vector<BranchStep>& steps, const Branches& b, int32_t streams) {
  ASSERT_EQ(b.steps.size(), steps.size());
  ASSERT_EQ(b.lastBeside.size(), steps.size());
  std::vector<int32_t> tails(static_cast<size_t>(streams), -1);
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& placed = b.steps[i];
    ASSERT_GE(placed.stream, 0);
    ASSERT_LT(placed.stream, b.streams);
    ASSERT_LE(b.streams, streams);
    auto& tail = tails[static_cast<size_t>(placed.stream)];
    EXPECT_EQ(placed.waitsForStart, placed.stream != 0 && tail < 0 && placed.waits.empty()) << i;
    tail = static_cast<int32_t>(i);
    for (const int32_t other : placed.waits) {
      EXPECT_LT(other, static_cast<int32_t>(i));
      EXPECT_NE(b.steps[static_cast<size_t>(other)].stream, placed.stream);
      EXPECT_TRUE(b.steps[static_cast<size_t>(other)].isWaitedFor);
    }
  }
  // The caller's stream comes behind every step: it waits for the last of each stream, or for who has.
  std::vector<bool> ended(steps.size());
  const std::function<void(int32_t)> end = [&](int32_t step) {
    for (int32_t s = step; s >= 0; --s) {
      if (b.steps[static_cast<size_t>(s)].stream != b.steps[static_cast<size_t>(step)].stream ||
          ended[static_cast<size_t>(s)])
        continue;
      ended[static_cast<size_t>(s)] = true;
      for (const int32_t other : b.steps[static_cast<size_t>(s)].waits) end(other);
    }
  };
  if (tails[0] >= 0) end(tails[0]);
  for (const int32_t step : b.joins) {
    EXPECT_TRUE(b.steps[static_cast<size_t>(step)].isWaitedFor);
    end(step);
  }
  EXPECT_EQ(std::count(ended.begin(), ended.end(), true), static_cast<std::ptrdiff_t>(steps.size()));
}

TEST(Branches, AnyOrderGivesWhatOneAfterAnotherGives) {
  int beside = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const auto steps = randomProgram(random, static_cast<int>(random() % 60));
    auto expected = freshMemory();
    for (size_t i = 0; i < steps.size(); ++i) write(steps[i], expected, read(steps[i], expected, i + 1));
    for (const int32_t streams : {1, 2, 3, 8}) {
      const auto branches = branch(steps, streams);
      expectSound(steps, branches, streams);
      beside += branches.streams > 1;
      for (int order = 0; order < 4; ++order)
        EXPECT_EQ(Simulation(steps, branches, random).run(), expected)
            << "seed " << seed << ", " << streams << " streams";
    }
  }
  EXPECT_GT(beside, 600);  // or nothing was tested
}

// Each step writes a place of its own and reads those of the steps it needs.
std::vector<BranchStep> programOf(const std::vector<std::vector<int32_t>>& needs) {
  std::vector<BranchStep> steps;
  for (size_t i = 0; i < needs.size(); ++i) {
    BranchStep step{{{0, i, i + 1, true}}, needs[i]};
    for (const int32_t need : needs[i])
      step.accesses.push_back({0, static_cast<uint64_t>(need), static_cast<uint64_t>(need) + 1, false});
    steps.push_back(step);
  }
  return steps;
}

std::vector<int32_t> streamsOf(const Branches& branches) {
  std::vector<int32_t> result;
  for (const auto& step : branches.steps) result.push_back(step.stream);
  return result;
}

TEST(Branches, AChainStaysOnTheCallersStream) {
  const auto result = branch(programOf({{}, {0}, {1}, {2}}), 4);
  EXPECT_EQ(result.streams, 1);
  EXPECT_TRUE(result.joins.empty());
  EXPECT_EQ(result.lastBeside, (std::vector<int32_t>{0, 1, 2, 3}));
  for (const auto& step : result.steps) EXPECT_TRUE(step.waits.empty());
}

TEST(Branches, ADiamondForksAndJoins) {
  const auto result = branch(programOf({{}, {0}, {1}, {0}, {3}, {2, 4}}), 4);
  EXPECT_EQ(result.streams, 2);
  EXPECT_EQ(streamsOf(result), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(result.steps[3].waits, (std::vector<int32_t>{0}));
  EXPECT_EQ(result.steps[5].waits, (std::vector<int32_t>{2}));
  EXPECT_EQ(result.joins, (std::vector<int32_t>{5}));
  EXPECT_EQ(result.lastBeside, (std::vector<int32_t>{0, 4, 4, 3, 4, 5}));
}

TEST(Branches, StreamsThatHaveJoinedServeAgain) {
  const auto result = branch(programOf({{}, {0}, {0}, {1, 2}, {3}, {3}, {4, 5}}), 8);
  EXPECT_EQ(result.streams, 2);
}

TEST(Branches, RootsBeginBehindTheCaller) {
  const auto result = branch(programOf({{}, {}, {}, {0, 1, 2}}), 2);
  EXPECT_EQ(result.streams, 2);
  EXPECT_FALSE(result.steps[0].waitsForStart);
  EXPECT_TRUE(result.steps[1].waitsForStart);
  EXPECT_TRUE(branch({}, 3).steps.empty());
}

}  // namespace
}  // namespace tenon::memory
