// Scalar expressions over all types against the reference: every operator and every cast.
#include <cmath>
#include <limits>
#include <random>

#include "cpu/typed_pointwise.h"

namespace tenon::test {
namespace {

using ops::ScalarExpr;
using ops::ScalarOp;

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
        TypedCase test{ScalarExpr::of(op), {}, {}, toleranceOf(type)};
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
          TypedCase test{ScalarExpr::of(op), {}, {}, toleranceOf(type)};
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

}  // namespace
}  // namespace tenon::test
