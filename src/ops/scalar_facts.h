// What passes and the choice of precisions ask of scalar operators in place of their kinds.
#pragma once

#include "ops/scalar.h"

namespace tenon::ops {

enum class ScalarSign : uint8_t { kAny, kNonNegative };
enum class ScalarTrend : uint8_t {
  kUnknown,
  kRises,           // never falls, over all finite numbers
  kRisesWithSlope,  // the same where the second operand is not negative
  kRisesBetween,    // the same where the second operand is not above the third
};
enum class ScalarCost : uint8_t { kCheap, kDear };
enum class HalfSafety : uint8_t { kSafe, kUnsafe };

struct ScalarFacts {
  ScalarSign sign;
  ScalarTrend trend;
  ScalarCost cost;
  HalfSafety half;
};

const ScalarFacts& factsOf(ScalarOp op);

// Of one instruction with the operands that it has.
bool isNonNegative(const ScalarInstruction& instruction);
bool neverFalls(const ScalarInstruction& instruction);  // in its first operand, the others being numbers

// Whether every instruction is cheap, or safe in halves.
bool isCheap(const ScalarExpr& expr);
bool isSafeInHalf(const ScalarExpr& expr);

}  // namespace tenon::ops
