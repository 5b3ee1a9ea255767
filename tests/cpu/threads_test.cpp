// Every kernel of the CPU gives the same result, to the bit, on any number of threads.
#include <cstdlib>
#include <cstring>
#include <latch>
#include <set>
#include <thread>

#include "core/platform/threads.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

constexpr int kMostThreads = 6;
// Before anything asks how many cores there are.
const bool kWide = setenv("TENON_THREADS", "6", 1) == 0;

// Threads that count as running kernels, so that a context gets only its share of the cores.
class Neighbours {
 public:
  explicit Neighbours(int count) : ready_(count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        const platform::RunningThread running;
        ready_.count_down();
        done_.wait();
      });
    }
    ready_.wait();
  }
  ~Neighbours() {
    done_.count_down();
    for (auto& thread : threads_) thread.join();
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

 private:
  std::latch ready_;
  std::latch done_{1};
  std::vector<std::thread> threads_;
};

// Builds the graph once with each candidate of the node "op" and runs it with teams of 1, 2, 3 and 6; the number of
// candidates.
size_t runEach(const std::string& text) {
  RecordingLog log;
  const auto graph = graph::parse(text);
  std::vector<HostTensor> inputs;
  for (const auto input : graph.inputs()) {
    const auto& type = graph.value(input).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), inputs.size() + 1));
  }
  std::set<std::string> offered;
  compile::BuildOptions options;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.log = &log;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    for (const auto& candidate : candidates) {
      if (node.name == "op") offered.insert(candidate.text());
    }
    return candidates;
  };
  compile::build(graph, options);
  for (const auto& wanted : offered) {
    SCOPED_TRACE(wanted);
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.name == "op")
        std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != wanted; });
      return candidates;
    };
    const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
    std::vector<HostTensor> alone;
    for (const int share : {6, 3, 2, 1}) {
      const Neighbours neighbours(share - 1);
      auto got = run(engine, inputs, log);
      if (alone.empty()) {
        alone = std::move(got);
        continue;
      }
      for (size_t i = 0; i < got.size(); ++i) {
        const auto bytes = static_cast<size_t>(alone[i].view().bytes());
        EXPECT_EQ(std::memcmp(got[i].view().data, alone[i].view().data, bytes), 0)
            << kMostThreads / share << " threads, output " << i << "\n"
            << text;
      }
    }
  }
  return offered.size();
}

struct Image {
  int64_t batch, channels, extent, outChannels, size, stride, groups;
};

std::string convolution(const Image& c) {
  const int64_t out = (c.extent + 2 * (c.size / 2) - c.size) / c.stride + 1;
  return fmt::format(R"g(graph "g" {{
  input %x : f32[{0},{1},{2},{2}]
  const %w : f32[{3},{4},{5},{5}] = random(1)
  const %b : f32[{3}] = random(2)
  %y : f32[{0},{3},{6},{6}] = convolution{{strides=[{7},{7}] prePadding=[{8},{8}] postPadding=[{8},{8}] groups={9} hasBias=true epilogue="relu(x0)"}}(%x, %w, %b) "op"
  output %y
}})g",
                     c.batch, c.channels, c.extent, c.outChannels, c.channels / c.groups, c.size, out, c.stride,
                     c.size / 2, c.groups);
}

TEST(Threads, Convolution) {
  ASSERT_EQ(platform::coreCount(), kMostThreads);
  for (const auto& c : {Image{1, 3, 160, 8, 3, 2, 1}, Image{2, 3, 101, 24, 7, 2, 1}, Image{1, 64, 28, 48, 1, 1, 1},
                        Image{1, 40, 33, 64, 3, 1, 1}, Image{1, 192, 7, 320, 1, 1, 1}, Image{2, 17, 45, 23, 1, 1, 1},
                        Image{3, 17, 19, 23, 5, 1, 1}, Image{1, 96, 20, 96, 5, 1, 96}, Image{1, 8, 150, 1, 5, 1, 1},
                        Image{1, 2, 90, 7, 3, 3, 1}, Image{1, 48, 28, 96, 3, 1, 4}, Image{1, 512, 7, 512, 3, 1, 1},
                        Image{1, 64, 13, 256, 3, 1, 1}, Image{1, 16, 55, 71, 3, 1, 1}, Image{1, 40, 9, 330, 3, 1, 1}}) {
    EXPECT_GE(runEach(convolution(c)), 2);
  }
}

// Convolutions of one image as one node.
TEST(Threads, Composites) {
  EXPECT_GE(runEach(R"g(graph "g" {
  input %x : f32[1,48,29,23]
  const %u : f32[1,48,1,1] = random(1)
  const %v : f32[37,48,1,1] = random(2)
  const %w : f32[10,48,1,1] = random(3)
  %a : f32[1,1,29,23], %b : f32[1,37,29,23], %c : f32[1,10,29,23] = composite{parts=[{convolution{epilogue="sigmoid(x0)"} [0,1]},
    {convolution [0,2]},{convolution{epilogue="relu(x0)"} [0,3]}] outputs=[0,1,2]}(%x, %u, %v, %w) "op"
  output %a
  output %b
  output %c
})g"),
            1);
}

std::string product(int64_t batch, int64_t rows, int64_t depth, int64_t columns, bool constant) {
  const auto b = constant ? fmt::format("const %w : f32[{},{}] = random(1)", depth, columns)
                          : fmt::format("input %w : f32[{},{},{}]", batch, depth, columns);
  return fmt::format(R"g(graph "g" {{
  input %x : f32[{0},{1},{2}]
  {4}
  %y : f32[{0},{1},{3}] = matmul{{}}(%x, %w) "op"
  output %y
}})g",
                     batch, rows, depth, columns, b);
}

TEST(Threads, MatMul) {
  for (const bool constant : {true, false}) {
    for (const auto& [batch, rows, depth, columns] : {std::array<int64_t, 4>{1, 1, 2048, 1000},
                                                      {1, 3, 4097, 64},
                                                      {1, 128, 768, 768},
                                                      {12, 64, 64, 64},
                                                      {2, 37, 1031, 53},
                                                      {1, 16, 8192, 16},
                                                      {1, 700, 64, 1}}) {
      EXPECT_GE(runEach(product(batch, rows, depth, columns, constant)), 1);
    }
  }
}

TEST(Threads, Pooling) {
  for (const char* type : {"max", "average"}) {
    EXPECT_GE(runEach(fmt::format(R"g(graph "g" {{
  input %x : f32[2,33,64,64]
  %y : f32[2,33,32,32] = pooling{{type={} window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[0,0]}}(%x) "op"
  output %y
}})g",
                                  type)),
              2);
  }
}

TEST(Threads, Deconvolution) {
  EXPECT_GE(runEach(R"g(graph "g" {
  input %x : f32[1,24,40,40]
  const %w : f32[24,24,3,3] = random(1)
  %y : f32[1,24,81,81] = deconvolution{strides=[2,2]}(%x, %w) "op"
  output %y
})g"),
            1);
  EXPECT_GE(runEach(R"g(graph "g" {
  input %x : f32[1,24,40,40]
  const %w : f32[24,24,2,2] = random(1)
  %y : f32[1,24,80,80] = deconvolution{strides=[2,2]}(%x, %w) "op"
  output %y
})g"),
            2);
}

// Rows of a batch that threads share: alone, in small groups and in large ones.
TEST(Threads, RecurrentRows) {
  constexpr int64_t kHidden = 67;
  for (const int64_t batch : {2, 3, 4, 13, 19}) {
    for (const auto& [cell, gates, outputs] :
         {std::tuple<const char*, int64_t, int>{"lstm", 4, 3}, {"gru", 3, 2}, {"rnn", 1, 2}}) {
      const std::string state = fmt::format("f32[1,{},{}]", batch, kHidden);
      EXPECT_GE(
          runEach(fmt::format(R"g(graph "g" {{
  input %x : f32[9,{0},1,{1}]
  const %w : f32[1,{1},{2}] = random(1)
  %y : f32[9,{0},1,{2}], %h : {3}{4} = recurrent{{cell={5}}}(%x, %w) "op"
  output %y
}})g",
                              batch, gates * kHidden, kHidden, state, outputs == 3 ? ", %c : " + state : "", cell)),
          1);
    }
  }
}

TEST(Threads, Rows) {
  const auto one = [](const std::string& op, const std::string& shape) {
    return runEach(fmt::format(
        "graph \"g\" {{\n  input %x : f32[64,33,130]\n  %y : f32[{}] = {}(%x) \"op\"\n  output %y\n}}", shape, op));
  };
  for (const char* axes : {"2", "1", "0", "0,1", "1,2", "0,1,2"}) {
    const std::string kept =
        fmt::format("{},{},{}", strchr(axes, '0') ? 1 : 64, strchr(axes, '1') ? 1 : 33, strchr(axes, '2') ? 1 : 130);
    EXPECT_GE(one(fmt::format("reduce{{op=sum axes=[{}] keepDims=true}}", axes), kept), 1);
  }
  EXPECT_GE(
      runEach(
          "graph \"g\" {\n  input %x : f32[64,331,3]\n  %y : f32[64,331,3] = softmax{axis=2}(%x) \"op\"\n  output %y\n}"),
      1);
  EXPECT_GE(one("pointwise_reduce{expr=\"exp(x0)\" op=sum axes=[2]}", "64,33"), 1);
  EXPECT_GE(one("pointwise_reduce{expr=\"mul(x0,x0)\" op=avg axes=[2]}", "64,33"), 1);
  EXPECT_GE(one("softmax{axis=2}", "64,33,130"), 1);
  EXPECT_GE(one("softmax{axis=0}", "64,33,130"), 1);
  EXPECT_GE(one("cumulative{axis=0}", "64,33,130"), 1);
  for (const char* shape : {"100,65", "10,1025"}) {  // a team leaves a block of one column
    EXPECT_GE(
        runEach(fmt::format(
            "graph \"g\" {{\n  input %x : f32[{0}]\n  %y : f32[{0}] = cumulative{{axis=0}}(%x) \"op\"\n  output %y\n}}",
            shape)),
        1);
  }
}

}  // namespace
}  // namespace tenon::test
