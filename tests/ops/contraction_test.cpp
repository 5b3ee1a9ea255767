// Convolution, deconvolution, matmul and pooling against direct definitions.
#include "core/error.h"
#include "ops/op/byte_matmul.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pooling.h"
#include "support.h"

namespace tenon::ops {
namespace {

double at(const HostTensor& t, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  int axis = 0;
  for (const int64_t i : index) offset = offset * t.view().dims[axis++] + i;
  return t.view().loadDouble(offset);
}

struct Spatial2 {
  int64_t kernel[2], stride[2], dilation[2], pre[2], post[2];
};

Spatial2 randomSpatial(Rng& rng) {
  Spatial2 s;
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = pick(rng, 1, 4);
    s.stride[i] = pick(rng, 1, 3);
    s.dilation[i] = pick(rng, 1, 2);
    s.pre[i] = pick(rng, 0, 2);
    s.post[i] = pick(rng, 0, 2);
  }
  return s;
}

template <typename T>
void setSpatial(T& op, const Spatial2& s) {
  op.strides = {s.stride[0], s.stride[1]};
  op.prePadding = {s.pre[0], s.pre[1]};
  op.postPadding = {s.post[0], s.post[1]};
}

TEST(Convolution, AgreesWithItsDefinition) {
  Rng rng(11);
  for (int round = 0; round < 150; ++round) {
    const auto s = randomSpatial(rng);
    const int64_t groups = pick(rng, 1, 3);
    const int64_t c = pick(rng, 1, 3);
    const int64_t k = pick(rng, 1, 2);
    const int64_t n = pick(rng, 0, 2);
    int64_t in[2];
    for (int i = 0; i < 2; ++i) {
      in[i] = std::max<int64_t>(1, s.dilation[i] * (s.kernel[i] - 1) + 1 - s.pre[i] - s.post[i] + pick(rng, 0, 7));
    }
    Convolution op;
    setSpatial(op, s);
    op.dilations = {s.dilation[0], s.dilation[1]};
    op.groups = groups;
    op.hasBias = pick(rng, 0, 1) == 1;
    const auto x = randomTensor(rng, {n, c * groups, in[0], in[1]});
    const auto w = randomTensor(rng, {k * groups, c, s.kernel[0], s.kernel[1]});
    const auto bias = randomTensor(rng, {k * groups});
    std::vector<TensorView> inputs{x.view(), w.view()};
    if (op.hasBias) inputs.push_back(bias.view());
    std::vector<TensorType> types;
    for (const auto& input : inputs) types.push_back(typeOf(input));
    const auto type = inferOf(op, types)[0];
    const HostTensor out(type.dtype, evaluate(type.shape, {}));
    const std::vector<TensorView> outputs{out.view()};
    op.evaluate({inputs, outputs, nullptr});
    const Dims& dims = out.view().dims;
    for (IndexIterator i(dims); i.valid(); i.next()) {
      double sum = op.hasBias ? at(bias, {i.index[1]}) : 0;
      for (int64_t ci = 0; ci < c; ++ci) {
        for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
          for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
            const int64_t y = i.index[2] * s.stride[0] + ky * s.dilation[0] - s.pre[0];
            const int64_t xx = i.index[3] * s.stride[1] + kx * s.dilation[1] - s.pre[1];
            if (y < 0 || y >= in[0] || xx < 0 || xx >= in[1]) continue;
            sum += at(x, {i.index[0], i.index[1] / k * c + ci, y, xx}) * at(w, {i.index[1], ci, ky, kx});
          }
        }
      }
      ASSERT_EQ(at(out, {i.index[0], i.index[1], i.index[2], i.index[3]}), sum) << "round " << round;
    }
    // The last window fits, one more would not.
    for (int i = 0; i < 2; ++i) {
      const int64_t last = (dims[i + 2] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1;
      EXPECT_LE(last, in[i] + s.pre[i] + s.post[i]);
      EXPECT_GT(last + s.stride[i], in[i] + s.pre[i] + s.post[i]);
    }
  }
}

TEST(Convolution, OneAndThreeAxes) {
  Convolution op;
  EXPECT_EQ(numbers(run1(op, tensor({1, 1, 4}, {1, 2, 3, 4}), tensor({1, 1, 2}, {1, 10}))),
            (std::vector<double>{21, 32, 43}));
  op.prePadding = {1, 0, 0};
  const auto out = run1(op, tensor({1, 1, 1, 1, 2}, {1, 2}), tensor({1, 1, 2, 1, 1}, {10, 100}));
  EXPECT_EQ(out.view().dims, (Dims{1, 1, 1, 1, 2}));
  EXPECT_EQ(numbers(out), (std::vector<double>{100, 200}));
}

TEST(Convolution, NegativePaddingCrops) {
  Convolution op;
  op.prePadding = {-1};
  op.postPadding = {-1};
  EXPECT_EQ(numbers(run1(op, tensor({1, 1, 4}, {1, 2, 3, 4}), tensor({1, 1, 1}, {1}))), (std::vector<double>{2, 3}));
}

TEST(Convolution, EpilogueSeesBiasAndExtras) {
  Convolution op;
  op.hasBias = true;
  op.epilogue = parseScalarExpr("add(x0,x1);relu(t0)");
  const auto out =
      run1(op, tensor({1, 1, 2}, {1, -2}), tensor({2, 1, 1}, {1, 2}), tensor({2}, {0.5, -1}), tensor({2, 1}, {0, 2}));
  EXPECT_EQ(numbers(out), (std::vector<double>{1.5, 0, 3, 0}));
}

TEST(Convolution, IntegersAccumulateWide) {
  Convolution op;
  op.epilogue = parseScalarExpr("cast.f32(x0);mul(t0,0.5)");
  const auto out = run1(op, tensor({1, 2, 1}, {127, 127}, DataType::kI8), tensor({1, 2, 1}, {127, 127}, DataType::kI8));
  EXPECT_EQ(numbers(out), (std::vector<double>{16129}));
  EXPECT_EQ(inferOf(Convolution{}, {typed({1, 1, 1}, DataType::kI8), typed({1, 1, 1}, DataType::kI8)})[0].dtype,
            DataType::kI32);
  EXPECT_EQ(inferOf(Convolution{}, {typed({1, 1, 1}, DataType::kF8E4M3), typed({1, 1, 1}, DataType::kF8E4M3)})[0].dtype,
            DataType::kF32);
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  Convolution op;
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4, 4}), typed({8, 2, 3, 3})}), UserError);  // channels
  EXPECT_THROW(inferOf(op, {typed({1, 3, 2, 4}), typed({8, 3, 3, 3})}), UserError);  // kernel larger than input
  EXPECT_THROW(inferOf(op, {typed({1, 3}), typed({8, 3})}), UserError);              // no spatial axis
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4, 4}), typed({8, 3, 3})}), UserError);     // ranks
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4}), typed({8, 3, 3}, DataType::kF16)}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4})}), UserError);
  op.strides = {0};
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4}), typed({8, 3, 3})}), UserError);
  op.strides = {1, 1};
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4}), typed({8, 3, 3})}), UserError);
  op.strides = {};
  op.groups = 2;
  EXPECT_THROW(inferOf(op, {typed({1, 4, 4}), typed({3, 2, 3})}), UserError);  // 3 outputs in 2 groups
  op.groups = 1;
  op.hasBias = true;
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4}), typed({8, 3, 3}), typed({7})}), UserError);
  op.hasBias = false;
  op.epilogue = parseScalarExpr("add(x0,x1)");
  EXPECT_THROW(inferOf(op, {typed({1, 3, 4}), typed({8, 3, 3}), typed({2, 1, 8, 2})}),
               UserError);  // would grow the output
}

TEST(Convolution, SymbolicShape) {
  const Extent n = Extent::symbol("N");
  const Extent h = Extent::symbol("H");
  Convolution op;
  op.strides = {2, 2};
  op.prePadding = {1, 1};
  op.postPadding = {1, 1};
  const auto shape = inferOf(op, {typed({n, 3, h, 224}), typed({64, 3, 3, 3})})[0].shape;
  EXPECT_EQ(shape, (Shape{n, 64, floorDiv(h - 1, 2) + 1, 112}));
}

// <convolution(x), y> = <x, deconvolution(y)> for the same weights: one is the transpose of the other.
TEST(Deconvolution, IsTheTransposeOfConvolution) {
  Rng rng(12);
  for (int round = 0; round < 150; ++round) {
    const auto s = randomSpatial(rng);
    const int64_t groups = pick(rng, 1, 2);
    const int64_t c = pick(rng, 1, 3) * groups;
    const int64_t k = pick(rng, 1, 3) * groups;
    Deconvolution back;
    setSpatial(back, s);
    back.dilations = {s.dilation[0], s.dilation[1]};
    back.groups = groups;
    const auto y = randomTensor(rng, {2, k, pick(rng, 1, 4), pick(rng, 1, 4)});
    const auto w = randomTensor(rng, {k, c / groups, s.kernel[0], s.kernel[1]});
    Dims dims{2, c};
    for (int i = 0; i < 2; ++i) {
      dims.push((y.view().dims[i + 2] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 - s.pre[i] -
                s.post[i]);
    }
    if (dims[2] < 1 || dims[3] < 1) continue;
    Convolution forth;
    setSpatial(forth, s);
    forth.dilations = back.dilations;
    forth.groups = groups;
    const auto x = randomTensor(rng, dims);
    HostTensor convolved(DataType::kF32, y.view().dims);
    HostTensor deconvolved(DataType::kF32, dims);
    EXPECT_EQ(inferOf(back, {typeOf(y.view()), typeOf(w.view())})[0].shape, toShape(dims));
    const std::vector<TensorView> in1{x.view(), w.view()}, out1{convolved.view()}, in2{y.view(), w.view()},
        out2{deconvolved.view()};
    forth.evaluate({in1, out1, nullptr});
    back.evaluate({in2, out2, nullptr});
    double left = 0;
    double right = 0;
    for (int64_t i = 0; i < convolved.view().count(); ++i)
      left += convolved.view().loadDouble(i) * y.view().loadDouble(i);
    for (int64_t i = 0; i < x.view().count(); ++i) right += deconvolved.view().loadDouble(i) * x.view().loadDouble(i);
    EXPECT_EQ(left, right) << "round " << round;
  }
}

TEST(Deconvolution, ByHand) {
  Deconvolution op;
  op.strides = {2};
  op.hasBias = true;
  EXPECT_EQ(numbers(run1(op, tensor({1, 1, 2}, {1, 2}), tensor({1, 1, 3}, {1, 10, 100}), tensor({1}, {0.5}))),
            (std::vector<double>{1.5, 10.5, 102.5, 20.5, 200.5}));
  op.postPadding = {-1};  // output padding
  EXPECT_EQ(run1(op, tensor({1, 1, 2}, {1, 2}), tensor({1, 1, 3}, {1, 10, 100}), tensor({1}, {0.5})).view().dims[2], 6);
}

TEST(MatMul, AgreesWithItsDefinition) {
  Rng rng(13);
  for (int round = 0; round < 200; ++round) {
    const int64_t m = pick(rng, 0, 7);
    const int64_t n = pick(rng, 0, 7);
    const int64_t k = pick(rng, 0, 5);
    const int64_t outer = pick(rng, 1, 3);
    const int64_t middle = pick(rng, 1, 3);
    MatMul op;
    op.transposeA = pick(rng, 0, 1) == 1;
    op.transposeB = pick(rng, 0, 1) == 1;
    Dims a{pick(rng, 0, 1) == 1 ? outer : 1, middle};
    Dims b{};
    if (pick(rng, 0, 1) == 1) b.push(outer);
    if (b.rank == 1 || pick(rng, 0, 1) == 1) b.push(pick(rng, 0, 1) == 1 ? middle : 1);
    for (const int64_t e : op.transposeA ? std::vector{k, m} : std::vector{m, k}) a.push(e);
    for (const int64_t e : op.transposeB ? std::vector{n, k} : std::vector{k, n}) b.push(e);
    const auto x = randomTensor(rng, a);
    const auto y = randomTensor(rng, b);
    const auto out = run1(op, tensor(a, numbers(x)), tensor(b, numbers(y)));
    const bool bOuter = b.rank == 4 && b[0] != 1;
    ASSERT_EQ(out.view().dims, (Dims{a[0] != 1 || !bOuter ? a[0] : b[0], middle, m, n}));
    for (IndexIterator i(out.view().dims); i.valid(); i.next()) {
      const int64_t o = i.index[0];
      const int64_t mid = i.index[1];
      const int64_t left = (a[0] == 1 ? 0 : o) * middle + mid;
      const int64_t bMiddle = b.rank >= 3 ? b[b.rank - 3] : 1;
      const int64_t right = (bOuter ? o : 0) * bMiddle + (bMiddle == 1 ? 0 : mid);
      double sum = 0;
      for (int64_t j = 0; j < k; ++j) {
        const int64_t row = op.transposeA ? j * m + i.index[2] : i.index[2] * k + j;
        const int64_t column = op.transposeB ? i.index[3] * k + j : j * n + i.index[3];
        sum += x.view().loadDouble(left * m * k + row) * y.view().loadDouble(right * k * n + column);
      }
      ASSERT_EQ(out.view().loadDouble(i.dot(out.view().dims.strides())), sum) << "round " << round;
    }
  }
}

TEST(MatMul, EpilogueAndErrors) {
  MatMul op;
  op.epilogue = parseScalarExpr("add(x0,x1);relu(t0)");
  EXPECT_EQ(numbers(run1(op, tensor({2, 1}, {1, -1}), tensor({1, 2}, {1, 2}), tensor({2}, {10, 1}))),
            (std::vector<double>{11, 3, 9, 0}));
  EXPECT_THROW(inferOf(MatMul{}, {typed({2, 3}), typed({4, 2})}), UserError);
  EXPECT_THROW(inferOf(MatMul{}, {typed({3}), typed({3, 2})}), UserError);
  EXPECT_THROW(inferOf(MatMul{}, {typed({2, 2, 3}), typed({3, 3, 2})}), UserError);
  EXPECT_THROW(inferOf(MatMul{}, {typed({2, 3}, DataType::kI64), typed({3, 2}, DataType::kI64)}), UserError);
  EXPECT_THROW(inferOf(op, {typed({2, 3}), typed({3, 2})}), UserError);
}

TEST(Pooling, AgreesWithItsDefinition) {
  Rng rng(14);
  for (int round = 0; round < 200; ++round) {
    const auto s = randomSpatial(rng);
    Pooling op;
    setSpatial(op, s);
    op.window = {s.kernel[0], s.kernel[1]};
    op.type = pickOf(rng, std::vector{PoolingType::kMax, PoolingType::kAverage, PoolingType::kMaxAverageBlend});
    op.exclusive = pick(rng, 0, 1) == 1;
    op.ceilMode = pick(rng, 0, 1) == 1;
    op.blend = 0.25;
    int64_t in[2];
    for (int i = 0; i < 2; ++i) in[i] = std::max<int64_t>(1, s.kernel[i] - s.pre[i] - s.post[i] + pick(rng, 0, 6));
    const auto x = randomTensor(rng, {1, 2, in[0], in[1]});
    const auto out = run1(op, tensor(x.view().dims, numbers(x)));
    const Dims& dims = out.view().dims;
    for (int i = 0; i < 2; ++i) {
      const double room =
          static_cast<double>(in[i] + s.pre[i] + s.post[i] - s.kernel[i]) / static_cast<double>(s.stride[i]);
      auto expected = static_cast<int64_t>(op.ceilMode ? std::ceil(room) : std::floor(room)) + 1;
      while (op.ceilMode && (expected - 1) * s.stride[i] >= in[i] + s.pre[i]) --expected;
      EXPECT_EQ(dims[i + 2], expected);
    }
    for (IndexIterator i(dims); i.valid(); i.next()) {
      double highest = -INFINITY;
      double sum = 0;
      double inside = 0;
      double padded = 0;
      for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
          const int64_t y = i.index[2] * s.stride[0] + ky - s.pre[0];
          const int64_t xx = i.index[3] * s.stride[1] + kx - s.pre[1];
          if (y < in[0] + s.post[0] && xx < in[1] + s.post[1]) ++padded;
          if (y < 0 || y >= in[0] || xx < 0 || xx >= in[1]) continue;
          ++inside;
          const double value = at(x, {0, i.index[1], y, xx});
          sum += value;
          highest = std::max(highest, value);
        }
      }
      const double cells = op.exclusive ? inside : padded;
      const double average = cells == 0 ? 0 : sum / cells;
      const double expected = op.type == PoolingType::kMax       ? highest
                              : op.type == PoolingType::kAverage ? average
                                                                 : 0.75 * highest + 0.25 * average;
      expectNear({at(out, {0, i.index[1], i.index[2], i.index[3]})}, {expected}, 1e-6, fmt::format("round {}", round));
    }
  }
}

TEST(Pooling, IntegersAndErrors) {
  Pooling op;
  op.window = {2};
  EXPECT_EQ(numbers(run1(op, tensor({1, 1, 3}, {-5, -7, 3}, DataType::kI8))), (std::vector<double>{-5, 3}));
  op.type = PoolingType::kAverage;
  EXPECT_EQ(numbers(run1(op, tensor({1, 1, 3}, {-5, -6, 3}, DataType::kI8))), (std::vector<double>{-6, -2}));
  EXPECT_THROW(inferOf(op, {typed({1, 1, 1})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 1, 4, 4})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 1, 4}, DataType::kBool)}), UserError);
}

TEST(Pooling, NanWins) {
  Pooling op;
  op.window = {3};
  EXPECT_TRUE(std::isnan(numbers(run1(op, tensor({1, 1, 3}, {1, std::nan(""), 5})))[0]));
}

HostTensor randomBytes(Rng& rng, const Dims& dims, DataType type) {
  HostTensor result(type, dims);
  for (int64_t i = 0; i < dims.count(); ++i)
    result.view().storeInt(i, type == DataType::kU8 ? pick(rng, 0, 255) : pick(rng, -128, 127));
  return result;
}

TEST(ByteMatMul, AgreesWithItsDefinition) {
  Rng rng(63);
  const std::vector<DataType> types{DataType::kI8, DataType::kU8};
  for (int round = 0; round < 200; ++round) {
    const int64_t m = pick(rng, 0, 5), k = pick(rng, 0, 9), n = pick(rng, 1, 6), batch = pick(rng, 1, 3);
    const auto left = pickOf(rng, types), right = pickOf(rng, types);
    const bool isShared = pick(rng, 0, 1) == 1, isPerColumn = pick(rng, 0, 1) == 1;
    auto a = randomBytes(rng, {batch, m, k}, left);
    auto b = randomBytes(rng, isShared ? Dims{k, n} : Dims{batch, k, n}, right);
    auto aZero = randomBytes(rng, {}, left);
    auto bZero = randomBytes(rng, {isPerColumn ? n : 1}, right);
    std::vector<double> expected;
    for (int64_t i = 0; i < batch * m * n; ++i) {
      const int64_t column = i % n, row = i / n, matrix = isShared ? 0 : row / m;
      double sum = 0;
      for (int64_t j = 0; j < k; ++j)
        sum += (a.view().loadDouble(row * k + j) - aZero.view().loadDouble(0)) *
               (b.view().loadDouble((matrix * k + j) * n + column) - bZero.view().loadDouble(isPerColumn ? column : 0));
      expected.push_back(sum);
    }
    const auto out = run1(ByteMatMul{}, std::move(a), std::move(b), std::move(aZero), std::move(bZero));
    EXPECT_EQ(numbers(out), expected) << "round " << round;
    EXPECT_EQ(out.view().dtype, DataType::kI32);
  }
}

TEST(ByteMatMul, Refusals) {
  const auto refuses = [](std::vector<TensorType> inputs) {
    EXPECT_THROW(Operator(ByteMatMul{}).infer("test", inputs), UserError);
  };
  const TensorType a{DataType::kU8, {Extent(3), Extent(4)}, {}}, b{DataType::kI8, {Extent(4), Extent(5)}, {}};
  const TensorType aZero{DataType::kU8, {}, {}}, bZero{DataType::kI8, {Extent(5)}, {}};
  EXPECT_EQ(Operator(ByteMatMul{}).infer("test", std::vector{a, b, aZero, bZero})[0].shape,
            (Shape{Extent(3), Extent(5)}));
  refuses({a, b, aZero});
  refuses({a, b, bZero, bZero});                                                       // another type
  refuses({a, b, aZero, TensorType{DataType::kI8, {Extent(4)}, {}}});                  // not one for each column
  refuses({a, b, TensorType{DataType::kU8, {Extent(3)}, {}}, bZero});                  // more than one
  refuses({a, a, aZero, aZero});                                                       // depths that differ
  refuses({TensorType{DataType::kF32, {Extent(3), Extent(4)}, {}}, b, aZero, bZero});  // no bytes
  refuses({TensorType{DataType::kU8, {Extent(4)}, {}}, b, aZero, bZero});              // no matrix
}

}  // namespace
}  // namespace tenon::ops
