// Chains of scalar expressions over mixed types, and whole graphs of them.
#include <random>

#include "cpu/typed_pointwise.h"

namespace tenon::test {
namespace {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarOp;

// Makes chains of which every value of a floating type is a small whole number, so that nothing depends on rounding.
class Chains {
 public:
  explicit Chains(uint64_t seed) : random_(seed) {}

  void run() {
    const Dims space{below(3) + 1, below(9) + 1, below(4) == 0 ? below(600) + 1 : below(40)};
    std::vector<Unaligned> tensors;
    TypedCase test;
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
