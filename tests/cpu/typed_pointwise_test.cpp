// Scalar expressions over all types against the reference: every operator, every cast, and chains of mixed types.
#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "core/strided.h"
#include "ops/scalar_program.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

using backends::cpu::PointwiseRunner;
using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarOp;

constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                               DataType::kI32, DataType::kI8,  DataType::kU8,   DataType::kBool};
constexpr int64_t kCounts[] = {0, 1, 7, 129, (1 << 16) + 3};

// Numbers of the whole range for integers; for floating types ordinary ones and, where `special`, others too.
void fill(const TensorView& view, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  constexpr double kSpecial[] = {0.,    -0.,    1.,     -1.,   INFINITY, -INFINITY, NAN,   127.5, 128.,
                                 255.9, -0.75,  3e9,    -3e9,  1e19,     -1e19,     86.9,  -86.9, 1e-6,
                                 -1e-6, 65504., 65520., 1e-41, 2.5,      3.5,       -128.4};
  constexpr int64_t kWhole[] = {0,
                                1,
                                -1,
                                2,
                                127,
                                128,
                                -128,
                                -129,
                                255,
                                256,
                                2147483647,
                                -2147483648LL,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
  std::normal_distribution<double> draw(0, 4);
  for (int64_t i = 0; i < view.count(); ++i) {
    const uint64_t bits = random();
    if (isFloating(view.dtype)) {
      view.storeDouble(i, special && bits % 8 == 0 ? kSpecial[bits / 8 % std::size(kSpecial)] : draw(random));
    } else if (view.dtype == DataType::kBool) {
      static_cast<uint8_t*>(view.data)[i] = static_cast<uint8_t>(bits % 2 == 0 ? 0 : bits / 2 % 255 + 1);
    } else if (bits % 4 == 0) {
      view.storeInt(i, kWhole[bits / 4 % std::size(kWhole)]);
    } else {
      view.storeInt(i, static_cast<int64_t>(random()) >> (bits / 4 % 64));
    }
  }
}

// A tensor that begins `offset` elements behind an aligned address.
struct Unaligned {
  Unaligned(DataType type, const Dims& dims, int64_t offset) : storage(type, Dims{dims.count() + offset + 64}) {
    view = storage.view();
    view.data = static_cast<char*>(view.data) + offset * (bits(type) / 8);
    view.dims = dims;
  }
  HostTensor storage;
  TensorView view;
};

runtime::TensorShape shapeOf(const TensorView& view) { return {view.dtype, view.dims, Layout::kLinear}; }

struct Case {
  ScalarExpr expr;
  std::vector<TensorView> inputs;
  TensorView got;
  double tolerance = 0;  // relative to the operands' magnitudes; 0: equal
};

void check(const Case& test) {
  std::vector<DataType> types;
  std::vector<runtime::TensorShape> shapes;
  std::vector<void*> addresses;
  std::vector<Strides> strides;
  for (const auto& in : test.inputs) {
    types.push_back(in.dtype);
    shapes.push_back(shapeOf(in));
    addresses.push_back(in.data);
    strides.push_back(stridesWithin(in.dims, Layout::kLinear, test.got.dims));
  }
  PointwiseRunner runner(test.expr);
  runner.configure(shapes, shapeOf(test.got));
  ops::ScalarProgram program(test.expr, types);
  const HostTensor expected(test.got.dtype, test.got.dims);
  std::vector<ops::Number> numbers(types.size());
  std::vector<double> scale;
  int64_t position = 0;
  for (IndexIterator i(test.got.dims); i.valid(); i.next(), ++position) {
    double magnitude = 0.1;
    double product = 1;
    for (size_t k = 0; k < numbers.size(); ++k) {
      int64_t at = 0;
      for (size_t axis = 0; axis < static_cast<size_t>(test.got.dims.rank); ++axis)
        at += i.index[axis] * strides[k][axis];
      numbers[k] = ops::Number::load(test.inputs[k], at);
      const double size = std::abs(numbers[k].asReal());
      magnitude += std::isfinite(size) ? size : 0;
      product *= std::isfinite(size) && size > 1 ? size : 1;
    }
    program(numbers).store(expected.view(), position);
    scale.push_back(magnitude + product);
  }
  runner.run(addresses.data(), test.got.data);
  for (int64_t i = 0; i < test.got.count(); ++i) {
    const bool floating = isFloating(test.got.dtype);
    const double got = floating ? test.got.loadDouble(i) : 0;
    const double want = floating ? expected.view().loadDouble(i) : 0;
    bool same = floating || test.got.loadInt(i) == expected.view().loadInt(i);
    if (floating) {
      same = (std::isnan(want) && std::isnan(got)) || want == got ||
             std::abs(got - want) <= test.tolerance * (std::abs(want) + scale[static_cast<size_t>(i)]);
    }
    ASSERT_TRUE(same) << ops::text(test.expr) << " of " << name(types[0]) << " " << test.got.dims.text() << ": element "
                      << i << " is " << (floating ? got : static_cast<double>(test.got.loadInt(i))) << ", expected "
                      << (floating ? want : static_cast<double>(expected.view().loadInt(i)));
    if (test.got.dtype == DataType::kBool) {
      ASSERT_LE(static_cast<const uint8_t*>(test.got.data)[i], 1);
    }
  }
}

// What the rounding of the type, and of f32 before it, is for results of about 1.
double toleranceOf(DataType type) {
  if (!isFloating(type)) return 0;
  return type == DataType::kF32 ? 3e-6 : (type == DataType::kF16 ? 1e-3 : 8e-3);
}

bool takesSpecial(ScalarOp op) {
  switch (op) {
    case ScalarOp::k_add:
    case ScalarOp::k_sub:
    case ScalarOp::k_mul:
    case ScalarOp::k_div:
    case ScalarOp::k_min:
    case ScalarOp::k_max:
    case ScalarOp::k_equal:
    case ScalarOp::k_greater:
    case ScalarOp::k_less:
    case ScalarOp::k_and:
    case ScalarOp::k_or:
    case ScalarOp::k_xor:
    case ScalarOp::k_abs:
    case ScalarOp::k_neg:
    case ScalarOp::k_sign:
    case ScalarOp::k_relu:
    case ScalarOp::k_not:
    case ScalarOp::k_isnan:
    case ScalarOp::k_isinf:
    case ScalarOp::k_floor:
    case ScalarOp::k_ceil:
    case ScalarOp::k_round:
    case ScalarOp::k_sqrt: return true;
    default: return false;
  }
}

bool takes(ScalarOp op, DataType type) { return ops::row(op).result != ops::ScalarResult::kInteger || isInteger(type); }

TEST(TypedPointwise, EveryOperatorOfEveryType) {
  for (size_t k = 0; k < ops::scalarTable().size(); ++k) {
    const auto op = static_cast<ScalarOp>(k);
    if (op == ScalarOp::k_cast) continue;
    for (const auto type : kTypes) {
      if (!takes(op, type)) continue;
      for (const int64_t count : kCounts) {
        std::vector<Unaligned> tensors;
        Case test{ScalarExpr::of(op), {}, {}, toleranceOf(type)};
        for (int i = 0; i < ops::row(op).arity; ++i) {
          const bool isCondition = op == ScalarOp::k_select && i == 0;
          tensors.emplace_back(isCondition ? DataType::kBool : type, Dims{count}, count % 3);
          fill(tensors.back().view, k * 8 + static_cast<uint64_t>(i), takesSpecial(op));
        }
        std::vector<DataType> types;
        for (const auto& tensor : tensors) {
          test.inputs.push_back(tensor.view);
          types.push_back(tensor.view.dtype);
        }
        const Unaligned result(ops::resultType(test.expr, types), Dims{count}, 1);
        test.got = result.view;
        check(test);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// One operand is one value for each row, or for all; rows that are joined and rows that are not.
TEST(TypedPointwise, SingleValues) {
  for (size_t k = 0; k < ops::scalarTable().size(); ++k) {
    const auto op = static_cast<ScalarOp>(k);
    const int arity = ops::row(op).arity;
    if (op == ScalarOp::k_cast || arity == 1) continue;
    for (const auto type : kTypes) {
      if (!takes(op, type)) continue;
      for (const Dims& space : {Dims{3, 5, 300}, Dims{2, 1, 1031}, Dims{4, 3, 16}}) {
        for (int single = 1; single < (1 << arity); ++single) {
          std::vector<Unaligned> tensors;
          Case test{ScalarExpr::of(op), {}, {}, toleranceOf(type)};
          std::vector<DataType> types;
          for (int i = 0; i < arity; ++i) {
            Dims dims = space;
            if ((single >> i & 1) != 0) dims[2] = 1;
            const bool isCondition = op == ScalarOp::k_select && i == 0;
            types.push_back(isCondition ? DataType::kBool : type);
            tensors.emplace_back(types.back(), dims, i);
            fill(tensors.back().view, k * 8 + static_cast<uint64_t>(i), takesSpecial(op));
          }
          for (const auto& tensor : tensors) test.inputs.push_back(tensor.view);
          const Unaligned result(ops::resultType(test.expr, types), space, 1);
          test.got = result.view;
          check(test);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Truth values are compared as such, whatever numbers they were made; what only the numbers were for is left out.
TEST(TypedPointwise, ComparedTruthValues) {
  for (const char* text : {"cast.i32(x0);cast.i32(x1);equal(t0,t1)", "cast.f32(x0);cast.f32(x1);equal(t0,t1)",
                           "cast.i32(x0);cast.i32(x1);equal(t0,t1);cast.i32(t2);add(t3,t0)"}) {
    const Unaligned a(DataType::kBool, Dims{515}, 0);
    const Unaligned b(DataType::kBool, Dims{515}, 1);
    fill(a.view, 1, false);
    fill(b.view, 2, false);
    const auto expr = ops::parseScalarExpr(text);
    const Unaligned out(ops::resultType(expr, std::array{DataType::kBool, DataType::kBool}), Dims{515}, 0);
    check({expr, {a.view, b.view}, out.view, 0});
    if (HasFatalFailure()) return;
  }
}

TEST(TypedPointwise, Cubes) {
  const Unaligned in(DataType::kF32, Dims{515}, 1);
  fill(in.view, 5, true);
  const Unaligned out(DataType::kF32, Dims{515}, 0);
  check({ops::parseScalarExpr("pow(x0,3)"), {in.view}, out.view, 1e-6});
}

TEST(TypedPointwise, EveryCast) {
  for (const auto from : kTypes) {
    for (const auto to : kTypes) {
      for (const int64_t count : kCounts) {
        const Unaligned in(from, Dims{count}, 1);
        const Unaligned out(to, Dims{count}, count % 2);
        fill(in.view, static_cast<uint64_t>(from) * 16 + static_cast<uint64_t>(to), true);
        // Integers of more digits than f32 has are rounded to it first.
        check({ScalarExpr::castTo(to), {in.view}, out.view, to == DataType::kBF16 ? 4e-3 : 0});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Literals that the type does not hold are compared and added as the numbers they are.
TEST(TypedPointwise, LiteralsBeyondTheType) {
  for (const char* text : {"min(x0,300)", "max(x0,-5)", "clip(x0,-1000,1000)", "less(x0,1e12)", "div(x0,1e12)",
                           "add(x0,300);mul(t0,-1)", "pow(x0,3)", "pow(2,x0)", "sqrt(x0)"}) {
    for (const auto type : {DataType::kU8, DataType::kI8, DataType::kI32, DataType::kI64}) {
      const Unaligned in(type, Dims{515}, 0);
      fill(in.view, 5, false);
      const auto expr = ops::parseScalarExpr(text);
      const Unaligned out(ops::resultType(expr, std::array{type}), Dims{515}, 0);
      check({expr, {in.view}, out.view, 0});
      if (HasFatalFailure()) return;
    }
  }
}

// Makes chains of which every value of a floating type is a small whole number, so that nothing depends on rounding.
class Chains {
 public:
  explicit Chains(uint64_t seed) : random_(seed) {}

  void run() {
    const Dims space{below(3) + 1, below(9) + 1, below(4) == 0 ? below(600) + 1 : below(40)};
    std::vector<Unaligned> tensors;
    Case test;
    for (int64_t i = 0; i < 3; ++i) {
      Dims dims = space;
      for (int axis = 0; axis < dims.rank; ++axis) {
        if (below(4) == 0) dims[axis] = 1;
      }
      const auto type = kTypes[below(std::size(kTypes))];
      tensors.emplace_back(type, dims, below(3));
      const auto& view = tensors.back().view;
      for (int64_t k = 0; k < view.count(); ++k) view.storeInt(k, below(9) - (type == DataType::kU8 ? 0 : 4));
      values_.push_back({ScalarArgument::input(static_cast<int>(i)), type, 8});
    }
    std::vector<DataType> types;
    for (const auto& tensor : tensors) {
      test.inputs.push_back(tensor.view);
      types.push_back(tensor.view.dtype);
    }
    const int64_t length = below(12) + 1;
    for (int64_t i = 0; i < length; ++i) append();
    test.expr = expr_;
    const Unaligned out(ops::resultType(expr_, types), space, below(2));
    test.got = out.view;
    check(test);
  }

 private:
  struct Value {
    ScalarArgument argument;
    DataType type;
    double bound;  // of the magnitude
  };

  int64_t below(size_t count) { return static_cast<int64_t>(random_() % count); }
  Value& any() { return values_[static_cast<size_t>(below(values_.size()))]; }

  void push(ScalarOp op, std::vector<ScalarArgument> arguments, DataType type, double bound) {
    auto one = ScalarExpr::of(op, std::move(arguments));
    one.instructions[0].castTo = op == ScalarOp::k_cast ? type : DataType::kF32;
    expr_.instructions.push_back(one.instructions[0]);
    if (type == DataType::kU8) bound = std::max(bound, 255.);  // what wraps below zero
    values_.push_back({ScalarArgument::result(static_cast<int>(expr_.instructions.size()) - 1), type, bound});
  }

  Value inType(DataType type) {
    const Value from = any();
    if (from.type == type) return from;
    constexpr double kExact = 256;  // of bf16
    if (isFloating(type) && from.bound > kExact) {
      push(ScalarOp::k_cast, {from.argument}, DataType::kBool, 1);
      return inTypeOf(values_.back(), type);
    }
    return inTypeOf(from, type);
  }
  Value inTypeOf(const Value& from, DataType type) {
    push(ScalarOp::k_cast, {from.argument}, type, type == DataType::kBool ? 1 : from.bound);
    return values_.back();
  }

  void append() {
    constexpr ScalarOp kUnary[] = {ScalarOp::k_abs, ScalarOp::k_neg, ScalarOp::k_relu, ScalarOp::k_sign,
                                   ScalarOp::k_floor};
    constexpr ScalarOp kBinary[] = {ScalarOp::k_add, ScalarOp::k_sub, ScalarOp::k_min, ScalarOp::k_max,
                                    ScalarOp::k_mul};
    constexpr ScalarOp kWhole[] = {ScalarOp::k_div,     ScalarOp::k_floor_div,  ScalarOp::k_mod,
                                   ScalarOp::k_fmod,    ScalarOp::k_bit_and,    ScalarOp::k_bit_or,
                                   ScalarOp::k_bit_xor, ScalarOp::k_shift_right};
    constexpr ScalarOp kTruth[] = {ScalarOp::k_equal, ScalarOp::k_greater, ScalarOp::k_less,
                                   ScalarOp::k_and,   ScalarOp::k_or,      ScalarOp::k_xor};
    const Value a = any();
    const bool arithmetic = a.type != DataType::kBool;
    switch (below(6)) {
      case 0:
        if (arithmetic) push(kUnary[below(std::size(kUnary))], {a.argument}, a.type, a.bound);
        break;
      case 1: {
        const Value b = inType(a.type);
        const auto op = kBinary[below(std::size(kBinary))];
        const double bound = op == ScalarOp::k_mul ? a.bound * b.bound : a.bound + b.bound;
        constexpr double kMost = 1 << 20;
        if (arithmetic && (!isFloating(a.type) || bound < kMost)) push(op, {a.argument, b.argument}, a.type, bound);
        break;
      }
      case 2:
        if (arithmetic && !isFloating(a.type)) {
          const Value b = inType(a.type);
          push(kWhole[below(std::size(kWhole))], {a.argument, b.argument}, a.type, a.bound + b.bound + 1);
        }
        break;
      case 3: push(kTruth[below(std::size(kTruth))], {a.argument, inType(a.type).argument}, DataType::kBool, 1); break;
      case 4: {
        const Value condition = inType(DataType::kBool);
        const Value b = inType(a.type);
        push(ScalarOp::k_select, {condition.argument, a.argument, b.argument}, a.type, std::max(a.bound, b.bound));
        break;
      }
      default:
        if (arithmetic)
          push(ScalarOp::k_add, {a.argument, ScalarArgument::constant(static_cast<double>(below(7)) - 3)}, a.type,
               a.bound + 3);
    }
    if (expr_.empty()) push(ScalarOp::k_identity, {a.argument}, a.type, a.bound);
  }

  std::mt19937_64 random_;
  std::vector<Value> values_;
  ScalarExpr expr_;
};

TEST(TypedPointwise, RandomChains) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Chains(seed).run();
    if (HasFatalFailure()) return;
  }
}

// Through a build, in place where memory is shared, with several outputs.
TEST(TypedPointwise, Graphs) {
  for (const char* type : {"f32", "f16", "bf16", "i64", "i32", "i8", "u8"}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %a : {0}[3,1000]
  input %b : {0}[3,1]
  %c : {0}[3,1000] = pointwise{{expr="add(x0,x1);mul(t0,x0)"}}(%a, %b) "c"
  %d : bool[3,1000] = pointwise{{expr="less(x0,x1)"}}(%c, %a) "d"
  %e : {0}[3,1000] = pointwise{{expr="select(x0,x1,x2)"}}(%d, %c, %a) "e"
  %f : i64[3,1000] = pointwise{{expr="cast.i64(x0)"}}(%e) "f"
  output %e
  output %f
  output %d
}})g",
                                  type);
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      const auto kernel = node.op.name() == "multi_pointwise" ? "cpu.multi_pointwise" : "cpu.pointwise";
      std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != kernel; });
      EXPECT_FALSE(candidates.empty()) << node.op.text();
      return candidates;
    };
    const auto graph = graph::parse(text);
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < 2; ++i) {
      const auto& want = graph.value(graph.inputs()[i]).type;
      inputs.emplace_back(want.dtype, evaluate(want.shape, {}));
      const auto& view = inputs.back().view();  // whole numbers: comparisons do not depend on rounding
      for (int64_t k = 0; k < view.count(); ++k)
        view.storeInt(k, k * (k + 3) % 5 - (want.dtype == DataType::kU8 ? 0 : 2));
    }
    expectMatchesReference(graph, inputs, options, 1e-2);
  }
}

}  // namespace
}  // namespace tenon::test
