// Inference with symbols agrees with inference with numbers, and what it says of contents with what evaluation
// computes.
#include "core/error.h"
#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/dequantize.h"
#include "ops/op/fill.h"
#include "ops/op/gather.h"
#include "ops/op/lrn.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/quantize.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/resize.h"
#include "ops/op/shape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/topk.h"
#include "ops/op/transpose.h"
#include "support.h"

namespace tenon::ops {
namespace {

// An operator and its inputs: extents and small integers are expressions over symbols that have values.
struct Case {
  Rng rng;
  SymbolValues symbols;
  std::vector<TensorType> inputs;
  Operator op = ShapeOf{};

  explicit Case(unsigned seed) : rng(seed) {}

  int64_t number(int64_t low, int64_t high) { return pick(rng, low, high); }
  bool flip() { return number(0, 1) == 1; }
  int64_t valueOf(const Extent& extent) const { return extent.evaluate(symbols); }

  // An expression of the given value: the number itself, a symbol (equal values share one), or a sum with one.
  Extent extent(int64_t value) {
    const int64_t kind = number(0, 2);
    if (kind == 0) return value;
    const int64_t base = kind == 1 ? value : value + number(-2, 2);
    if (base < 0) return value;
    const auto name = fmt::format("v{}", base);
    symbols[name] = base;
    return Extent::symbol(name) + Extent(value - base);
  }
  Shape shape(const std::vector<int64_t>& values) {
    Shape result;
    for (const int64_t value : values) result.push_back(extent(value));
    return result;
  }
  std::vector<int64_t> numbers(int64_t count, int64_t low, int64_t high) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(number(low, high));
    return result;
  }
  void input(const std::vector<int64_t>& values, DataType type = DataType::kF32) {
    inputs.push_back({type, shape(values), std::nullopt});
  }
  // A vector (or scalar) of i64 whose contents are known.
  void known(const std::vector<int64_t>& values, bool scalar = false) {
    inputs.push_back(
        {DataType::kI64, scalar ? Shape{} : Shape{Extent(static_cast<int64_t>(values.size()))}, shape(values)});
  }
};

using Maker = void (*)(Case&);

void makeConvolution(Case& c) {
  Convolution op;
  op.strides = c.numbers(2, 1, 3);
  op.dilations = c.numbers(2, 1, 2);
  op.prePadding = c.shape(c.numbers(2, 0, 2));
  op.postPadding = c.shape(c.numbers(2, 0, 2));
  op.groups = c.number(1, 2);
  const int64_t channels = c.number(1, 3);
  c.input({c.number(0, 2), channels * op.groups, c.number(5, 9), c.number(5, 9)});
  c.input({2 * op.groups, channels, c.number(1, 3), c.number(1, 3)});
  if ((op.hasBias = c.flip())) c.input({2 * op.groups});
  c.op = op;
}

void makeDeconvolution(Case& c) {
  Deconvolution op;
  op.strides = c.numbers(1, 1, 3);
  op.prePadding = c.shape({c.number(0, 1)});
  const int64_t channels = c.number(1, 3);
  c.input({c.number(0, 2), channels, c.number(2, 5)});
  c.input({channels, 2, c.number(1, 3)});
  c.op = op;
}

void makeMatMul(Case& c) {
  const int64_t m = c.number(0, 4), n = c.number(1, 4), k = c.number(0, 3), batch = c.number(2, 3);
  const bool transposeB = c.flip();
  c.input({c.flip() ? batch : 1, m, k});
  const std::vector<int64_t> b = transposeB ? std::vector{n, k} : std::vector{k, n};
  c.input(c.flip() ? std::vector{batch, b[0], b[1]} : b);
  c.op = MatMul{false, transposeB};
}

void makePooling(Case& c) {
  Pooling op;
  op.window = c.numbers(2, 1, 3);
  op.strides = c.numbers(2, 1, 3);
  op.prePadding = c.shape(c.numbers(2, 0, 1));
  op.ceilMode = c.flip();
  op.type = static_cast<PoolingType>(c.number(0, 2));
  c.input({c.number(1, 2), c.number(0, 2), c.number(3, 8), c.number(3, 8)});
  c.op = op;
}

void makeSoftmax(Case& c) {
  c.input(c.numbers(3, 0, 4));
  c.op = Softmax{c.number(-3, 2)};
}

void makeReduce(Case& c) {
  Reduce op{static_cast<ReduceOp>(c.number(0, 4)), {c.number(-1, 0)}, c.flip()};
  if (c.flip()) {
    c.known(c.numbers(c.number(1, 4), -3, 6));
  } else {
    c.input(c.numbers(3, 0, 4));
  }
  c.op = op;
}

void makeReshape(Case& c) {
  if (c.flip()) {
    c.known(c.numbers(1, 0, 9));
    c.op = Reshape{c.flip() ? Shape{} : Shape{1, 1}};
    return;
  }
  const auto v = c.numbers(3, 1, 4);
  c.inputs.push_back(typed({c.extent(v[0]), c.extent(v[1]), c.extent(v[2])}));
  const Shape& from = c.inputs[0].shape;
  c.op = Reshape{{from[2] * from[0], from[1]}};
}

void makeTranspose(Case& c) {
  c.input(c.numbers(3, 0, 4));
  c.op = Transpose{{2, 0, 1}};
}

void makeSlice(Case& c) {
  const auto mode = static_cast<SliceMode>(c.number(0, 4));
  const int64_t n = c.number(1, 6);
  int64_t start = c.number(-3, 8), size = c.number(0, 6), stride = c.number(-2, 2);
  if (mode == SliceMode::kStrict) {
    stride = 1;
    start = c.number(0, n - 1);
    size = c.number(0, n - start);
  }
  if (c.flip()) {
    c.known(c.numbers(n, -5, 9));
    if (mode == SliceMode::kFill && c.flip()) c.known({c.number(0, 9)}, true);
  } else {
    c.input({n});
  }
  c.op = Slice{{c.extent(start)}, {c.extent(size)}, {c.extent(stride)}, mode};
}

void makeConcat(Case& c) {
  const int64_t other = c.number(0, 3);
  if (c.flip()) {
    for (int64_t i = c.number(1, 3); i > 0; --i) c.known(c.numbers(c.number(0, 3), -5, 9));
    c.op = Concat{0};
    return;
  }
  for (int64_t i = c.number(1, 3); i > 0; --i) c.input({other, c.number(0, 4)});
  c.op = Concat{1};
}

void makeGather(Case& c) {
  if (c.flip()) {
    c.known(c.numbers(4, -5, 9));
    const auto indices = c.numbers(c.number(1, 3), -4, 3);
    const bool scalar = indices.size() == 1 && c.flip();
    c.inputs.push_back({DataType::kI64, scalar ? Shape{} : Shape{Extent(static_cast<int64_t>(indices.size()))},
                        Shape(indices.begin(), indices.end())});
    c.op = Gather{};
    return;
  }
  const int64_t batch = c.number(1, 3);
  c.input({batch, c.number(1, 3), 8, c.number(0, 2)});
  c.input({batch, c.number(0, 3)}, DataType::kI32);  // indices are drawn from [-4, 4]
  c.op = Gather{GatherMode::kDefault, 2, 1};
}

void makeResize(Case& c) {
  Resize op;
  op.mode = static_cast<ResizeMode>(c.number(0, 2));
  c.input(c.numbers(2, 1, 4));
  op.shape = c.shape(c.numbers(2, 0, 6));
  c.op = op;
}

void makeTopK(Case& c) {
  const int64_t n = c.number(1, 5);
  c.input({c.number(0, 3), n});
  c.op = TopK{c.flip(), c.extent(c.number(0, n)), 1};
}

void makeShape(Case& c) { c.input(c.numbers(c.number(0, 4), 0, 5)); }

void makeQuantize(Case& c) {
  const int64_t n = c.number(1, 4);
  c.input({c.number(0, 3), n});
  c.input({n});
  c.op = Quantize{1};
}

void makeDequantize(Case& c) {
  const int64_t n = c.number(1, 4);
  c.input({n, c.number(0, 3)}, DataType::kI8);
  c.input({n});
  c.op = Dequantize{0};
}

void makeNormalization(Case& c) {
  const int64_t n = c.number(1, 4);
  const int64_t rows = c.number(0, 3);
  c.input({rows, n});
  c.input({n});
  c.input({n});
  Normalization op{{1}};
  op.skip = c.flip();
  op.keepSum = op.skip && c.flip();
  if (op.skip) c.input({rows, n});
  c.op = op;
}

void makeLrn(Case& c) {
  c.input(c.numbers(3, 0, 4));
  c.op = Lrn{};
}

void makeFill(Case& c) {
  const bool vector = c.flip();
  c.op = Fill{vector ? c.shape({c.number(0, 5)}) : Shape{}, DataType::kI64, static_cast<double>(c.number(-5, 5)),
              vector ? std::vector<double>{static_cast<double>(c.number(-3, 3))} : std::vector<double>{}};
}

void makePointwise(Case& c) {
  static const std::vector<std::string> exprs{"add(x0,x1)",
                                              "mul(x0,x1);sub(t0,x0)",
                                              "max(x0,x1);min(t0,4)",
                                              "floor_div(x0,3);add(t0,x1)",
                                              "less(x0,x1);select(t0,x0,x1)",
                                              "equal(x0,x1);cast.i64(t0)",
                                              "cast.i32(x0);mod(t0,3)",
                                              "relu(x0)"};
  const int64_t n = c.number(1, 4);
  c.known(c.numbers(n, -5, 9));
  if (c.flip()) {
    c.known(c.numbers(c.flip() ? n : 1, -5, 9));
  } else {
    c.known(c.numbers(1, -5, 9), true);
  }
  c.op = Pointwise{parseScalarExpr(pickOf(c.rng, exprs))};
}

void makeBroadcast(Case& c) {
  const auto v = c.numbers(3, 1, 4);
  c.input({c.flip() ? v[0] : 1, v[1], v[2]});
  c.input({c.flip() ? v[1] : 1, c.flip() ? v[2] : 1});
  c.op = Pointwise{parseScalarExpr("add(x0,x1)")};
}

std::vector<TensorType> numeric(const Case& c) {
  std::vector<TensorType> result = c.inputs;
  for (auto& type : result) {
    for (auto& extent : type.shape) extent = c.valueOf(extent);
    if (!type.contents) continue;
    for (auto& value : *type.contents) value = c.valueOf(value);
  }
  return result;
}

void check(Case& c, const std::string& what) {
  const auto symbolic = c.op.infer("node", c.inputs);
  const auto expected = c.op.infer("node", numeric(c));
  ASSERT_EQ(symbolic.size(), expected.size()) << what;
  std::vector<HostTensor> tensors;
  std::vector<TensorView> inputs, outputs;
  for (const auto& type : numeric(c)) {
    tensors.push_back(randomTensor(c.rng, evaluate(type.shape, {}), type.dtype));
    inputs.push_back(tensors.back().view());
    for (size_t i = 0; type.contents && i < type.contents->size(); ++i) {
      inputs.back().storeInt(static_cast<int64_t>(i), (*type.contents)[i].constant());
    }
  }
  for (size_t i = 0; i < symbolic.size(); ++i) {
    const Dims dims = evaluate(symbolic[i].shape, c.symbols);
    EXPECT_EQ(dims, evaluate(expected[i].shape, c.symbols)) << what << ": " << text(symbolic[i].shape);
    EXPECT_EQ(symbolic[i].dtype, expected[i].dtype) << what;
    tensors.emplace_back(symbolic[i].dtype, dims);
    outputs.push_back(tensors.back().view());
  }
  c.op.evaluate({inputs, outputs, &c.symbols});
  for (size_t i = 0; i < symbolic.size(); ++i) {
    for (const auto* types : {&symbolic, &expected}) {
      if (!(*types)[i].contents) continue;
      const auto& contents = *(*types)[i].contents;
      ASSERT_EQ(static_cast<int64_t>(contents.size()), outputs[i].count()) << what;
      for (size_t k = 0; k < contents.size(); ++k) {
        EXPECT_EQ(c.valueOf(contents[k]), outputs[i].loadInt(static_cast<int64_t>(k)))
            << what << ": " << contents[k].text();
      }
    }
  }
}

struct Named {
  const char* name;
  Maker make;
};

class Symbolic : public testing::TestWithParam<Named> {};

TEST_P(Symbolic, AgreesWithNumbersAndEvaluation) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Case c(seed);
    GetParam().make(c);
    std::string what = fmt::format("seed {}, {}", seed, c.op.text());
    for (const auto& type : c.inputs)
      what += " " + text(type.shape) + (type.contents ? "=" + text(*type.contents) : "");
    try {
      check(c, what);
    } catch (const Error& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Symbolic,
    testing::Values(Named{"convolution", makeConvolution}, Named{"deconvolution", makeDeconvolution},
                    Named{"matmul", makeMatMul}, Named{"pooling", makePooling}, Named{"softmax", makeSoftmax},
                    Named{"reduce", makeReduce}, Named{"reshape", makeReshape}, Named{"transpose", makeTranspose},
                    Named{"slice", makeSlice}, Named{"concat", makeConcat}, Named{"gather", makeGather},
                    Named{"resize", makeResize}, Named{"topk", makeTopK}, Named{"shape", makeShape},
                    Named{"quantize", makeQuantize}, Named{"dequantize", makeDequantize},
                    Named{"normalization", makeNormalization}, Named{"lrn", makeLrn}, Named{"fill", makeFill},
                    Named{"pointwise", makePointwise}, Named{"broadcast", makeBroadcast}),
    [](const testing::TestParamInfo<Named>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::ops
