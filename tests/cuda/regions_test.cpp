// Loops and conditionals in engines of a GPU, by the kernels of their operators: answers.
#include "cuda/regions.h"
#include "support/random_regions.h"

namespace tenon::test {
namespace {

TEST_F(OnGpu, LoopsOfSeveralLengths) {
  // Rows of 64 lie where kernels take them; those of 33 and 1 do not.
  for (const auto& [steps, batch, width] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {7, 1, 64}, {6, 1, 64}, {5, 3, 33}}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, steps / 2, steps}) {
      for (const bool reverse : {false, true})
        expectRight(recurrent(steps, batch, width, constantCount(count), reverse), list({{steps, batch, width}}));
    }
  }
}

TEST_F(OnGpu, LoopsCountedByTheDevice) {
  for (const auto type : {DataType::kI64, DataType::kI32}) {
    for (const int64_t count : {-2, 0, 1, 4}) {
      auto inputs = list({{5, 2, 8}});
      inputs.push_back(scalar(type, count));
      for (const bool reverse : {false, true})
        expectRight(recurrent(5, 2, 8, fmt::format("input %n : {}[]", name(type)), reverse), inputs);
    }
  }
}

// Slices and parts along an axis that is not the first one, of one element, and of halves.
TEST_F(OnGpu, LoopsAlongOtherAxes) {
  for (const int64_t width : {1, 5, 64}) {
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : f32[3,4,{0}]
  const %n : i64[] = {{4}}
  const %h : f32[3,{0}] = random(5)
  %last : f32[3,{0}], %all : f32[3,{0},5], %back : f32[3,6,{0}] = loop{{states=1 counted=true next={{2 [{{pointwise{{expr="add(x0,x1)"}} [0,1] 1 "a"}},{{pointwise{{expr="abs(x0)"}} [1] 1 "b"}}] [2,2,3]}} slices=[{{1 true -1}}] stacks=[{{2 false 5}},{{1 true 6}}]}}(%n, %h, %x) "loop"
  output %last
  output %all
  output %back
}})g",
                            width),
                list({{3, 4, width}}), 0);
  }
  expectRight(R"g(graph "g" {
  input %x : f16[7]
  const %n : i64[] = {7}
  const %h : f16[] = {0.25}
  %last : f16[], %all : f16[7] = loop{states=1 counted=true next={2 [{pointwise{expr="max(x0,x1)"} [0,1] 1 "a"}] [2,2]} slices=[{0 false -1}] stacks=[{0 true 7}]}(%n, %h, %x) "loop"
  output %last
  output %all
})g",
              list({{7}}, DataType::kF16), 0);
}

TEST_F(OnGpu, LoopsWhoseStatesChangePlaces) {
  for (const int count : {0, 1, 2, 5}) {
    expectRight(fmt::format(R"g(graph "g" {{
  input %a : f32[5]
  input %b : f32[5]
  const %n : i64[] = {{{}}}
  const %c : f32[5] = random(4)
  const %k : f32[5] = random(8)
  %x : f32[5], %y : f32[5], %z : f32[5], %u : f32[5], %v : f32[5], %w : f32[5] = loop{{states=6 counted=true next={{7 [{{reshape{{shape=[5]}} [2] 1 "v"}},{{pointwise{{expr="neg(x0)"}} [3] 1 "g"}},{{reshape{{shape=[5]}} [8] 1 "r"}}] [1,7,0,8,9,6]}}}}(%n, %a, %b, %c, %a, %b, %c, %k) "loop"
  output %x
  output %y
  output %z
  output %u
  output %v
  output %w
}})g",
                            count),
                list({{5}, {5}}), 0);
  }
}

TEST_F(OnGpu, LoopsUntilTheDeviceSaysStop) {
  expectRight(untilLarge(), list({{4}}));
  expectRight(untilLarge("true"), list({{4}}));
}

TEST_F(OnGpu, ConditionalsBothWays) {
  for (const int holds : {0, 1}) {
    std::vector<HostTensor> inputs = list({{9, 17}});
    inputs.push_back(scalar(DataType::kBool, holds));
    expectRight(R"g(graph "g" {
  input %x : f32[9,17]
  input %c : bool[]
  const %w : f32[17,17] = random(3)
  %y : f32[9,17], %z : f32[9,17], %k : f32[17,17] = if{then={2 [{matmul [0,1] 1 "m"}] [2,2,1]} otherwise={2 [{pointwise{expr="neg(x0)"} [1] 1 "n"}] [0,0,2]}}(%c, %x, %w) "choice"
  output %y
  output %z
  output %k
})g",
                inputs);
  }
}

TEST_F(OnGpu, LoopsAndConditionals) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 2, 5}, 1));
  for (const int holds : {0, 1}) {
    inputs.push_back(scalar(DataType::kBool, holds));
    expectRight(R"g(graph "g" {
      input %x : f32[3,2,5]
      input %c : bool[]
      const %n : i64[] = {3}
      const %w : f32[5,5] = random(3)
      const %h : f32[2,5] = random(5)
      %last : f32[2,5], %all : f32[2,3,5] = loop{states=1 counted=true next={3 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [3,1] 1 "a"}] [4,4]} slices=[{0 true -1}] stacks=[{1 false 3}]}(%n, %h, %x, %w) "loop"
      %y : f32[2,5] = if{then={2 [{matmul [0,1] 1 "m"}] [2]} otherwise={2 [] [0]}}(%c, %last, %w) "choice"
      %z : f32[2,5] = pointwise{expr="mul(x0,2)"}(%y) "double"
      output %z
      output %all
    })g",
                inputs);
    inputs.pop_back();
  }
}

// An operator that has no kernel of the GPU runs on the host, the others do not.
TEST_F(OnGpu, LoopsWithAnOperatorOfTheHost) {
  auto inputs = list({{3, 4}});
  inputs.push_back(randomTensor(DataType::kI64, {3, 4}, 4));
  for (int64_t i = 0; i < 12; ++i) inputs[1].view().storeInt(i, i % 3);
  expectRight(R"g(graph "g" {
  input %x : f32[3,4]
  input %i : i64[3,4]
  const %n : i64[] = {3}
  %y : f32[3,4] = loop{states=1 counted=true next={2 [{pointwise{expr="mul(x0,0.5)"} [0] 1 "p"},{scatter_reduce{op=max axis=0} [0,1,2] 1 "u"}] [3]}}(%n, %x, %i) "loop"
  output %y
})g",
              inputs, 0);
}

// A weight that one kernel reads packed and another as it is.
TEST_F(OnGpu, LoopsWithAWeightThatIsReadInTwoWays) {
  for (const char* type : {"f32", "f16"}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %x : {0}[16,16]
  const %n : i64[] = {{3}}
  const %w : {0}[16,16] = random(9)
  %y : {0}[16,16] = loop{{states=1 counted=true next={{2 [{{matmul [0,1] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [2,1] 1 "a"}}] [3]}}}}(%n, %x, %w) "loop"
  output %y
}})g",
                                  type);
    const bool half = std::string(type) == "f16";
    expectRight(text, list({{16, 16}}, half ? DataType::kF16 : DataType::kF32), half ? 5e-3 : 1e-5);
  }
}

// A constant that a loop begins with, or takes slices of, is another tensor in each iteration: no kernel may pack it.
TEST_F(OnGpu, LoopsWithConstantsThatChange) {
  for (const char* type : {"f32", "f16"}) {
    const bool half = std::string(type) == "f16";
    const auto inputs = list({{64, 64}}, half ? DataType::kF16 : DataType::kF32);
    const double tolerance = half ? 5e-3 : 1e-5;
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : {0}[64,64]
  const %n : i64[] = {{3}}
  const %s : {0}[64,64] = random(9)
  %y : {0}[64,64] = loop{{states=1 counted=true next={{2 [{{matmul [1,0] 1 "m"}},{{pointwise{{expr="tanh(x0)"}} [2] 1 "a"}}] [3]}}}}(%n, %s, %x) "loop"
  output %y
}})g",
                            type),
                inputs, tolerance);
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : {0}[64,64]
  const %n : i64[] = {{3}}
  const %w : {0}[64,3,64] = random(9)
  %y : {0}[64,64] = loop{{states=1 counted=true next={{2 [{{matmul [0,1] 1 "m"}},{{pointwise{{expr="tanh(x0)"}} [2] 1 "a"}}] [3]}} slices=[{{1 false -1}}]}}(%n, %x, %w) "loop"
  output %y
}})g",
                            type),
                inputs, tolerance);
  }
}

TEST_F(OnGpu, LoopsOfTooManyIterationsAreAnError) {
  Ready ready(graph::parse(recurrent(3, 1, 4, constantCount(4))), list({{3, 1, 4}}), unmeasured());
  try {
    ready.context->enqueue(nullptr);
    FAIL() << "four iterations over three slices were run";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 3 reads beyond the 3 slices of a tensor 3x1x4"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(OnGpu, LoopsOfSeventyIterations) {
  expectRight(lstm(70, 1, 64, "f32"), list({{70, 1, 256}}), 1e-4);
  expectRight(lstm(70, 2, 10, "f32"), list({{70, 2, 40}}), 1e-4);
  expectRight(lstm(70, 1, 32, "f16"), list({{70, 1, 128}}, DataType::kF16), 2e-2);
}

// As detectors of voices are: a rate chooses between two networks, each of a convolution, a loop and a head.
TEST_F(OnGpu, LoopsWithinConditionals) {
  const auto branch = [](int64_t hidden, int64_t kernel) {
    return fmt::format(
        R"g({{6 [{{convolution{{prePadding=[{1}] postPadding=[{1}] epilogue="relu(x0)"}} [0,{2}] 1 "conv"}},{{transpose{{permutation=[2,0,1]}} [6] 1 "t"}},{{loop{{states=1 counted=true next={{3 [{{matmul [0,2] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [3,1] 1 "a"}}] [4,4]}} slices=[{{0 false -1}}] stacks=[{{0 false 12}}]}} [5,1,7,4] 2 "lstm"}},{{reduce{{op=max axes=[0]}} [9] 1 "head"}}] [10,8]}})g",
        hidden, kernel / 2, kernel == 3 ? 2 : 3);
  };
  for (const int rate : {0, 1}) {
    auto inputs = list({{1, 6, 12}, {1, 8}});
    inputs.push_back(scalar(DataType::kBool, rate));
    inputs.push_back(scalar(DataType::kI64, 9));
    expectRight(fmt::format(R"g(graph "g" {{
  input %x : f32[1,6,12]
  input %h : f32[1,8]
  input %c : bool[]
  input %n : i64[]
  const %w3 : f32[8,6,3] = random(3)
  const %w5 : f32[8,6,5] = random(4)
  const %r : f32[8,8] = random(5)
  %y : f32[1,8], %next : f32[1,8] = if{{then={} otherwise={}}}(%c, %x, %h, %w3, %w5, %r, %n) "rate"
  output %y
  output %next
}})g",
                            branch(8, 3), branch(8, 5)),
                inputs);
  }
}

TEST_F(OnGpu, LoopsAndConditionalsAtRandom) {
  const auto [first, count] = randomSeeds();
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const bool exact = seed % 3 != 0;
    const auto graph = RandomRegions(static_cast<uint64_t>(seed), exact).make();
    if (graph.outputs().empty()) continue;
    const auto inputs = RandomRegions::inputsOf(graph, static_cast<uint64_t>(seed));
    expectRight(graph, inputs, exact ? 0 : 1e-4);
  }
}

}  // namespace
}  // namespace tenon::test
