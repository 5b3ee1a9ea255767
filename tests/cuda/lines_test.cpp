// Networks of sound: lines that are pictures of one column, gated units, convolutions of rows; long lines in chunks.
#include <limits>

#include "cuda/exact.h"

namespace tenon::test {
namespace {

class Lines : public OnGpu {
 protected:
  static void expectRight(const std::string& text, const Dims& x) {
    const auto graph = graph::parse(text);
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(graph.value(graph.inputs()[0]).type.dtype, x, 4));
    const auto expected = graph::evaluate(graph, views(inputs));
    for (const int level : {0, 3}) {
      compile::BuildOptions options;
      options.optimizationLevel = level;
      const auto run = runOnGpu(graph, inputs, options);
      EXPECT_LE(relativeError(run.outputs.at(0).view(), expected[0].view()), 4e-3) << text << level;
    }
  }
};

// Rows, a gated convolution of single pixels, a depthwise one, and rows again.
TEST_F(Lines, ConvolutionsOfAConformer) {
  for (const int batch : {1, 3}) {
    expectRight(fmt::format(R"g(graph "conformer" {{
  input %x : f16[{0},49,32]
  const %w : f16[64,32,1,1] = random(1)
  const %b : f16[64] = random(2)
  const %d : f16[32,1,7,1] = random(3)
  const %n : f16[32,32,1,1] = random(4)
  %t : f16[{0},32,49] = transpose{{permutation=[0,2,1]}}(%x) "t"
  %p : f16[{0},32,49,1] = reshape{{shape=[{0},32,49,1]}}(%t) "p"
  %v : f16[{0},64,49,1] = convolution{{hasBias=true}}(%p, %w, %b) "wide"
  %l : f16[{0},64,49] = reshape{{shape=[{0},64,49]}}(%v) "l"
  %g : f16[{0},32,49] = slice{{start=[0,0,0] size=[{0},32,49]}}(%l) "g"
  %h : f16[{0},32,49] = slice{{start=[0,32,0] size=[{0},32,49]}}(%l) "h"
  %s : f16[{0},32,49] = pointwise{{expr="sigmoid(x0);mul(x1,t0)"}}(%h, %g) "s"
  %q : f16[{0},32,49,1] = reshape{{shape=[{0},32,49,1]}}(%s) "q"
  %e : f16[{0},32,49,1] = convolution{{prePadding=[3,0] postPadding=[3,0] groups=32}}(%q, %d) "deep"
  %m : f16[{0},32,49,1] = convolution(%e, %n) "narrow"
  %k : f16[{0},32,49] = reshape{{shape=[{0},32,49]}}(%m) "k"
  %y : f16[{0},49,32] = transpose{{permutation=[0,2,1]}}(%k) "y"
  output %y
}})g",
                            batch),
                Dims{batch, 49, 32});
  }
}

// A causal convolution padded on both sides and cut behind, a gated unit and a residual sum of a part of the channels.
TEST_F(Lines, LayerOfAWavenet) {
  for (const int batch : {1, 2}) {
    expectRight(fmt::format(R"g(graph "wavenet" {{
  input %x : f16[{0},16,43]
  const %w : f16[32,16,2,1] = random(1)
  const %b : f16[32] = random(2)
  const %n : f16[48,16,1,1] = random(3)
  %p : f16[{0},16,43,1] = reshape{{shape=[{0},16,43,1]}}(%x) "p"
  %v : f16[{0},32,47,1] = convolution{{dilations=[4,1] prePadding=[4,0] postPadding=[4,0] hasBias=true}}(%p, %w, %b) "both"
  %l : f16[{0},32,47] = reshape{{shape=[{0},32,47]}}(%v) "l"
  %c : f16[{0},32,43] = slice{{start=[0,0,0] size=[{0},32,43]}}(%l) "c"
  %g : f16[{0},16,43] = slice{{start=[0,0,0] size=[{0},16,43]}}(%c) "g"
  %h : f16[{0},16,43] = slice{{start=[0,16,0] size=[{0},16,43]}}(%c) "h"
  %s : f16[{0},16,43] = pointwise{{expr="sigmoid(x0);tanh(x1);mul(t1,t0)"}}(%h, %g) "s"
  %q : f16[{0},16,43,1] = reshape{{shape=[{0},16,43,1]}}(%s) "q"
  %o : f16[{0},48,43,1] = convolution(%q, %n) "out"
  %r : f16[{0},48,43] = reshape{{shape=[{0},48,43]}}(%o) "r"
  %a : f16[{0},16,43] = slice{{start=[0,32,0] size=[{0},16,43]}}(%r) "a"
  %y : f16[{0},16,43] = pointwise{{expr="add(x0,x1)"}}(%x, %a) "y"
  output %y
}})g",
                            batch),
                Dims{batch, 16, 43});
  }
}

// Chunks without a number, with one alone, of very large ones; a NaN and an infinity make their line NaN.
TEST_F(Lines, SoftmaxOfChunks) {
  constexpr int64_t kExtent = 20001;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {6, kExtent}, 7));
  const auto& x = inputs[0].view();
  for (int64_t i = 0; i < kExtent; ++i) {
    if (i < kExtent - 100) x.storeDouble(i, -kInfinity);
    if (i != 9000) x.storeDouble(kExtent + i, -kInfinity);
    x.storeDouble(2 * kExtent + i, i % 3 == 0 ? 3e38 : -3e38);
    x.storeDouble(5 * kExtent + i, -kInfinity);
  }
  x.storeDouble(3 * kExtent + 12345, std::nan(""));
  x.storeDouble(4 * kExtent + 54, kInfinity);
  runByKernel("softmax{axis=-1}", "softmax", inputs, [&](size_t, const TensorView& got, const TensorView& expected) {
    for (int64_t i = 0; i < expected.count(); ++i) {
      const double a = got.loadDouble(i);
      const double b = expected.loadDouble(i);
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= 1e-5 * b) << i << ": " << a << ", not " << b;
    }
  });
}

}  // namespace
}  // namespace tenon::test
