// Scattered elements, products with experts, pillars and random numbers on the GPU.
#include "cuda/exact.h"

namespace tenon::test {
namespace {

HostTensor integersBelow(DataType type, const Dims& dims, int64_t low, int64_t high, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < tensor.view().count(); ++i)
    tensor.view().storeInt(i, low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low)));
  return tensor;
}

TEST_F(OnGpu, ScatteredAndCombined) {
  uint64_t seed = 0;
  struct Shapes {
    Dims data, indices;
    int axis;
  };
  const std::vector<Shapes> all{{{1}, {1}, 0},
                                {{5, 3}, {9, 3}, 0},
                                {{5, 3}, {4, 7}, 1},
                                {{4, 3}, {0, 3}, 0},
                                {{31, 7}, {301, 5}, 0},
                                {{2, 3, 17}, {2, 2, 40}, -1},
                                {{3, 1031}, {3, 2063}, 1},
                                {{7}, {9001}, 0},
                                {{3}, {9001}, 0},
                                {{9001}, {70}, 0},
                                {{0, 3}, {0, 3}, 0}};
  for (const std::string op : {"sum", "prod", "max", "min"}) {
    for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64, DataType::kI32,
                            DataType::kI8, DataType::kU8}) {
      for (const auto& shapes : all) {
        const bool isLarge = shapes.indices.count() > 1000;
        if (isLarge && type != DataType::kF32 && type != DataType::kI64) continue;
        if (op != "sum" && type != DataType::kF32 && type != DataType::kI64)
          continue;  // each form takes its compilation
        std::vector<HostTensor> inputs;
        inputs.push_back(randomTensor(type, shapes.data, ++seed));
        const int64_t extent = shapes.data[shapes.axis < 0 ? shapes.axis + shapes.data.rank : shapes.axis];
        inputs.push_back(integersBelow(op == "sum" ? DataType::kI32 : DataType::kI64, shapes.indices, -extent,
                                       std::max<int64_t>(extent, 1), seed + 1000));
        inputs.push_back(randomTensor(type, shapes.indices, ++seed));
        const auto& updates = inputs[2].view();
        for (int64_t i = 0; i < updates.count() && isFloating(type); i += 13)
          updates.storeDouble(i, i % 2 == 0 ? -0.0 : i % 3 == 0 ? std::nan("") : 100);
        expectExact(fmt::format("scatter_reduce{{op={} axis={}}}", op, shapes.axis), "scatter_reduce", inputs);
      }
    }
  }
}

// The builder tries the kernel on indices that repeat, too, whose updates arrive in any order: any of them may stay.
TEST_F(OnGpu, ScatteredWhereIndicesRepeat) {
  constexpr int64_t kRows = 16, kColumns = 64;
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[16,64]
    input %i : i64[16,64]
    input %u : f32[16,64]
    %y : f32[16,64] = scatter{axis=0} (%x, %i, %u) "y"
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {kRows, kColumns}, 1));
  inputs.push_back(integersBelow(DataType::kI64, {kRows, kColumns}, 0, kRows, 2));
  inputs.push_back(randomTensor(DataType::kF32, {kRows, kColumns}, 3));
  compile::BuildOptions options;  // which measures
  const auto got = runOnGpu(graph, inputs, options).outputs;
  ASSERT_EQ(got.size(), 1U);
  for (int64_t at = 0; at < kRows * kColumns; ++at) {
    const double y = got[0].view().loadDouble(at);
    bool isNamed = false, isRight = false;
    for (int64_t update = at % kColumns; update < kRows * kColumns; update += kColumns) {
      if (inputs[1].view().loadInt(update) != at / kColumns) continue;
      isNamed = true;
      isRight = isRight || inputs[2].view().loadDouble(update) == y;
    }
    EXPECT_TRUE(isNamed ? isRight : inputs[0].view().loadDouble(at) == y) << at;
  }
}

TEST_F(OnGpu, ExpertsMultiply) {
  struct Problem {
    int64_t tokens, perToken, experts, depth, columns;
    bool shared;
  };
  uint64_t seed = 0;
  for (const auto& problem : std::vector<Problem>{{1, 1, 1, 1, 1, true},
                                                  {1, 2, 4, 33, 70, true},
                                                  {5, 2, 3, 8, 6, false},
                                                  {37, 3, 5, 65, 131, true},
                                                  {300, 2, 3, 40, 64, true},
                                                  {130, 1, 1, 17, 65, false},
                                                  {9, 2, 600, 5, 7, true},
                                                  {0, 2, 3, 4, 5, true},
                                                  {3, 2, 3, 0, 5, true},
                                                  {3, 2, 3, 4, 0, true},
                                                  {37, 3, 5, 64, 136, true},
                                                  {301, 2, 3, 200, 72, true},
                                                  {150, 2, 2, 8, 8, false},
                                                  {2, 2, 8, 136, 264, true}}) {
    for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
      std::vector<HostTensor> inputs;
      inputs.push_back(
          randomTensor(type, {problem.tokens, problem.shared ? 1 : problem.perToken, problem.depth}, ++seed));
      inputs.push_back(integersBelow(seed % 2 == 0 ? DataType::kI32 : DataType::kI64,
                                     {problem.tokens, problem.perToken}, -1, problem.experts + 1, seed + 1000));
      inputs.push_back(randomTensor(type, {problem.experts, problem.depth, problem.columns}, ++seed));
      const double tolerance = type == DataType::kF32 ? 1e-5 : type == DataType::kF16 ? 1e-3 : 6e-3;
      expectClose("expert_matmul", "expert_matmul", inputs, tolerance);
    }
  }
}

TEST_F(OnGpu, PillarsOfPoints) {
  uint64_t seed = 0;
  struct Problem {
    int64_t clouds, most, numbers, pillars, points, extra;
  };
  for (const auto& problem : std::vector<Problem>{{1, 1, 3, 1, 1, 5},
                                                  {2, 700, 4, 300, 5, 6},
                                                  {3, 333, 5, 20, 3, 5},
                                                  {1, 5003, 4, 2000, 32, 6},
                                                  {2, 0, 4, 3, 2, 6},
                                                  {0, 5, 4, 3, 2, 6}}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, {problem.clouds, problem.most, problem.numbers}, ++seed));
    const auto& points = inputs[0].view();
    for (int64_t i = 0; i < points.count(); i += 101) points.storeDouble(i, i % 2 == 0 ? std::nan("") : -0.5);
    inputs.push_back(integersBelow(DataType::kI32, {problem.clouds}, -1, problem.most + 5, ++seed));
    expectExact(fmt::format("pillars{{pillars={} points={} features={} range=[-0.9,-0.5,-0.8,0.9,0.7,0.8] "
                            "size=[0.11,0.13,1.6]}}",
                            problem.pillars, problem.points, problem.numbers + problem.extra),
                "pillars", inputs);
  }
}

// One sequence for the whole context, whatever its shapes: as on the host, number for number.
TEST_F(OnGpu, RandomNumbersOfAContext) {
  const char* const text = R"g(graph "g" {
    symbol "N" = extent(%x, 0)
    input %x : f32[N]
    %a : f32[N] = random{shape=[N] seed=7 seeded=true}() "first"
    %b : f32[N,3] = random{shape=[N,3] seed=7 seeded=true}() "second"
    %y : f32[N] = pointwise{expr="add(x0,x1)"}(%a, %x) "sum"
    output %y
    output %b
  })g";
  const auto graph = graph::parse(text);
  std::vector<std::vector<float>> results[2];
  for (const std::string device : {"cpu", "cuda"}) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = device;
    options.optimizationLevel = 0;
    options.log = &log;
    plan::InputRange range;
    range.min = {0};
    range.opt = {8};
    range.max = {4000};
    options.profiles = {{{"x", range}}};
    options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
      std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic == "cuda.host_evaluate"; });
      return candidates;
    };
    const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
    for (int again = 0; again < 2; ++again) {
      runtime::Context context(engine, {}, log);
      for (const int64_t n : {5, 5, 5, 1031, 5, 0, 5, 1}) {
        HostTensor x(DataType::kF32, {n});
        HostTensor y(DataType::kF32, {n}), b(DataType::kF32, {n, 3});
        for (int64_t i = 0; i < n; ++i) x.view().storeDouble(i, 0);
        auto& runs = results[device == "cpu" ? 0 : 1];
        if (device == "cpu") {
          context.setInputShape(0, {n});
          context.setAddress(0, x.view().data);
          context.setAddress(1, y.view().data);
          context.setAddress(2, b.view().data);
          context.enqueue(nullptr);
          engine->device().synchronize(nullptr);
        } else {
          DeviceTensor dx(engine->device(), x.view()), dy(engine->device(), y.view()), db(engine->device(), b.view());
          context.setInputShape(0, {n});
          context.setAddress(0, dx.data());
          context.setAddress(1, dy.data());
          context.setAddress(2, db.data());
          context.enqueue(nullptr);
          engine->device().synchronize(nullptr);
          dy.readBack();
          db.readBack();
        }
        runs.emplace_back(y.view().as<float>(), y.view().as<float>() + n);
        runs.emplace_back(b.view().as<float>(), b.view().as<float>() + 3 * n);
      }
    }
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) EXPECT_EQ(results[0][i], results[1][i]) << "tensor " << i;
  EXPECT_NE(results[1][0], results[1][2]);
  EXPECT_NE(results[1][0], results[1][8]);
}

}  // namespace
}  // namespace tenon::test
