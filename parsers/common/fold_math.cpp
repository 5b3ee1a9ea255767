// Arithmetic on constants.
#include <cmath>
#include <cstring>
#include <limits>

#include "error.h"
#include "fold.h"

namespace tenon::parsers {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

bool numeric(DataType type) { return isInteger(type) || isFloating(type) || type == DataType::kBOOL; }

// For each element of `out`, the index of the element of `in` that broadcasts to it.
std::vector<int64_t> broadcastIndices(const Dimensions& in, const Dimensions& out) {
  const size_t lead = out.size() - in.size();
  Dimensions strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = in.size(); i-- > 0;) {
    strides[i + lead] = in[i] == 1 ? 0 : stride;
    stride *= in[i];
  }
  std::vector<int64_t> indices(static_cast<size_t>(elementCount(out)));
  Dimensions position(out.size(), 0);
  int64_t at = 0;
  for (int64_t& index : indices) {
    index = at;
    for (size_t i = out.size(); i-- > 0;) {
      at += strides[i];
      if (++position[i] < out[i]) {
        break;
      }
      at -= strides[i] * out[i];
      position[i] = 0;
    }
  }
  return indices;
}

int64_t floorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    return base == 1 ? 1 : (base == -1 ? (exponent % 2 ? -1 : 1) : 0);
  }
  uint64_t result = 1;
  for (auto square = static_cast<uint64_t>(base); exponent > 0; exponent >>= 1, square *= square) {
    result *= (exponent & 1) ? square : 1;
  }
  return wrap(result);
}

int64_t apply(ElementWiseOperation operation, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  const bool divides = operation == ElementWiseOperation::kDIV || operation == ElementWiseOperation::kFLOOR_DIV;
  if (divides && (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))) {
    fail(FaultKind::kInvalidNode, fmt::format("the constant division {} / {} is undefined", a, b));
  }
  switch (operation) {
    case ElementWiseOperation::kSUM: return wrap(ua + ub);
    case ElementWiseOperation::kPROD: return wrap(ua * ub);
    case ElementWiseOperation::kMAX: return std::max(a, b);
    case ElementWiseOperation::kMIN: return std::min(a, b);
    case ElementWiseOperation::kSUB: return wrap(ua - ub);
    case ElementWiseOperation::kDIV: return a / b;
    case ElementWiseOperation::kPOW: return integerPower(a, b);
    case ElementWiseOperation::kFLOOR_DIV: return floorDivide(a, b);
    case ElementWiseOperation::kAND: return (a != 0 && b != 0) ? 1 : 0;
    case ElementWiseOperation::kOR: return (a != 0 || b != 0) ? 1 : 0;
    case ElementWiseOperation::kXOR: return ((a != 0) != (b != 0)) ? 1 : 0;
    case ElementWiseOperation::kEQUAL: return a == b ? 1 : 0;
    case ElementWiseOperation::kGREATER: return a > b ? 1 : 0;
    case ElementWiseOperation::kLESS: return a < b ? 1 : 0;
  }
  fail(FaultKind::kInternal, "an elementwise operation that is not defined for integers");
}

double apply(ElementWiseOperation operation, double a, double b) {
  switch (operation) {
    case ElementWiseOperation::kSUM: return a + b;
    case ElementWiseOperation::kPROD: return a * b;
    case ElementWiseOperation::kMAX: return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case ElementWiseOperation::kMIN: return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case ElementWiseOperation::kSUB: return a - b;
    case ElementWiseOperation::kDIV: return a / b;
    case ElementWiseOperation::kPOW: return std::pow(a, b);
    case ElementWiseOperation::kFLOOR_DIV: return std::floor(a / b);
    case ElementWiseOperation::kEQUAL: return a == b ? 1 : 0;
    case ElementWiseOperation::kGREATER: return a > b ? 1 : 0;
    case ElementWiseOperation::kLESS: return a < b ? 1 : 0;
    default: fail(FaultKind::kInternal, "an elementwise operation that is not defined for floating point");
  }
}

bool comparison(ElementWiseOperation operation) {
  return operation == ElementWiseOperation::kEQUAL || operation == ElementWiseOperation::kGREATER ||
         operation == ElementWiseOperation::kLESS;
}

double apply(UnaryOperation operation, double x) {
  switch (operation) {
    case UnaryOperation::kEXP: return std::exp(x);
    case UnaryOperation::kLOG: return std::log(x);
    case UnaryOperation::kSQRT: return std::sqrt(x);
    case UnaryOperation::kRECIP: return 1.0 / x;
    case UnaryOperation::kABS: return std::fabs(x);
    case UnaryOperation::kNEG: return -x;
    case UnaryOperation::kSIN: return std::sin(x);
    case UnaryOperation::kCOS: return std::cos(x);
    case UnaryOperation::kTAN: return std::tan(x);
    case UnaryOperation::kSINH: return std::sinh(x);
    case UnaryOperation::kCOSH: return std::cosh(x);
    case UnaryOperation::kASIN: return std::asin(x);
    case UnaryOperation::kACOS: return std::acos(x);
    case UnaryOperation::kATAN: return std::atan(x);
    case UnaryOperation::kASINH: return std::asinh(x);
    case UnaryOperation::kACOSH: return std::acosh(x);
    case UnaryOperation::kATANH: return std::atanh(x);
    case UnaryOperation::kCEIL: return std::ceil(x);
    case UnaryOperation::kFLOOR: return std::floor(x);
    case UnaryOperation::kERF: return std::erf(x);
    case UnaryOperation::kNOT: return x == 0 ? 1 : 0;
    case UnaryOperation::kSIGN: return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    case UnaryOperation::kROUND: return std::nearbyint(x);
    case UnaryOperation::kISINF: return std::isinf(x) ? 1 : 0;
    case UnaryOperation::kISNAN: return std::isnan(x) ? 1 : 0;
  }
  fail(FaultKind::kInternal, "an unknown unary operation");
}

}  // namespace

Dimensions broadcastShape(const Dimensions& a, const Dimensions& b) {
  Dimensions out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t fromEnd = out.size() - i;
    const int64_t da = fromEnd <= a.size() ? a[a.size() - fromEnd] : 1;
    const int64_t db = fromEnd <= b.size() ? b[b.size() - fromEnd] : 1;
    if (da != db && da != 1 && db != 1) {
      fail(FaultKind::kInvalidNode,
           fmt::format("shapes {} and {} do not broadcast: extents {} and {}", toString(a), toString(b), da, db));
    }
    out[i] = da == 1 ? db : da;
  }
  return out;
}

const WeightBytes* foldUnary(WeightStore& store, const WeightBytes& input, UnaryOperation operation) {
  if (!numeric(input.type) || input.count() > kArithmeticLimit || !store.allows(input.bytes())) {
    return nullptr;
  }
  const bool toBool =
      operation == UnaryOperation::kNOT || operation == UnaryOperation::kISINF || operation == UnaryOperation::kISNAN;
  if (isInteger(input.type) && (operation == UnaryOperation::kABS || operation == UnaryOperation::kNEG)) {
    std::vector<int64_t> values = toInts(input);
    for (int64_t& value : values) {
      const bool negate = operation == UnaryOperation::kNEG || value < 0;
      value = negate ? wrap(0 - static_cast<uint64_t>(value)) : value;
    }
    return &store.ofInts(input.type, input.shape, values);
  }
  std::vector<double> values = toReals(input);
  for (double& value : values) {
    value = apply(operation, value);
  }
  return &store.ofReals(toBool ? DataType::kBOOL : input.type, input.shape, values);
}

const WeightBytes* foldBinary(WeightStore& store, const WeightBytes& a, const WeightBytes& b,
                              ElementWiseOperation operation) {
  if (!numeric(a.type) || a.type != b.type) {
    return nullptr;
  }
  const Dimensions shape = broadcastShape(a.shape, b.shape);
  if (elementCount(shape) > kArithmeticLimit || !store.allows(bytesFor(a.type, elementCount(shape)))) {
    return nullptr;
  }
  const std::vector<int64_t> ia = broadcastIndices(a.shape, shape);
  const std::vector<int64_t> ib = broadcastIndices(b.shape, shape);
  const DataType type = comparison(operation) ? DataType::kBOOL : a.type;
  if (isFloating(a.type)) {
    const std::vector<double> va = toReals(a);
    const std::vector<double> vb = toReals(b);
    std::vector<double> out(ia.size());
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = apply(operation, va[static_cast<size_t>(ia[i])], vb[static_cast<size_t>(ib[i])]);
    }
    return &store.ofReals(type, shape, out);
  }
  const std::vector<int64_t> va = toInts(a);
  const std::vector<int64_t> vb = toInts(b);
  std::vector<int64_t> out(ia.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = apply(operation, va[static_cast<size_t>(ia[i])], vb[static_cast<size_t>(ib[i])]);
  }
  return &store.ofInts(type, shape, out);
}

const WeightBytes* foldSelect(WeightStore& store, const WeightBytes& condition, const WeightBytes& a,
                              const WeightBytes& b) {
  const Dimensions shape = broadcastShape(condition.shape, broadcastShape(a.shape, b.shape));
  if (!numeric(a.type) || a.type != b.type || elementCount(shape) > kArithmeticLimit ||
      !store.allows(bytesFor(a.type, elementCount(shape)))) {
    return nullptr;
  }
  const int64_t size = bytesFor(a.type, 1);
  const std::vector<int64_t> conditions = toInts(condition);
  const std::vector<int64_t> ic = broadcastIndices(condition.shape, shape);
  const std::vector<int64_t> ia = broadcastIndices(a.shape, shape);
  const std::vector<int64_t> ib = broadcastIndices(b.shape, shape);
  std::byte* out = store.allocate(size * static_cast<int64_t>(ic.size()));
  for (size_t i = 0; i < ic.size(); ++i) {
    const bool first = conditions[static_cast<size_t>(ic[i])] != 0;
    const auto* from = static_cast<const std::byte*>(first ? a.data : b.data) + size * (first ? ia[i] : ib[i]);
    std::memcpy(out + static_cast<int64_t>(i) * size, from, static_cast<size_t>(size));
  }
  return &store.add(a.type, shape, out);
}

const WeightBytes* foldCast(WeightStore& store, const WeightBytes& input, DataType type) {
  const bool from = numeric(input.type) || input.type == DataType::kINT8 || input.type == DataType::kUINT8;
  const bool to = numeric(type) || type == DataType::kINT8 || type == DataType::kUINT8;
  if (!from || !to || input.count() > kMovementLimit || !store.allows(bytesFor(type, input.count()))) {
    return nullptr;
  }
  if (!isFloating(input.type)) {
    return &store.ofInts(type, input.shape, toInts(input));
  }
  std::vector<double> values = toReals(input);
  if (!isFloating(type) && type != DataType::kBOOL) {
    for (double& value : values) {  // out of range formats define no result; clamped, so that C++ defines one
      value = std::isnan(value) ? 0.0
                                : std::min(std::max(std::trunc(value), -9223372036854775808.0), 9223372036854774784.0);
    }
    std::vector<int64_t> integers(values.begin(), values.end());
    return &store.ofInts(type, input.shape, integers);
  }
  return &store.ofReals(type, input.shape, values);
}

const WeightBytes* foldReduce(WeightStore& store, const WeightBytes& input, ReduceOperation operation, uint32_t axes,
                              bool keepDimensions) {
  if (!(isInteger(input.type) || isFloating(input.type)) || input.count() > kArithmeticLimit || input.count() == 0) {
    return nullptr;
  }
  Dimensions kept = input.shape;
  Dimensions out;
  for (size_t i = 0; i < kept.size(); ++i) {
    const bool reduced = (axes >> i) & 1u;
    kept[i] = reduced ? 1 : kept[i];
    if (!reduced || keepDimensions) {
      out.push_back(kept[i]);
    }
  }
  const std::vector<int64_t> target = broadcastIndices(kept, input.shape);
  const std::vector<double> values = toReals(input);
  const int64_t results = elementCount(kept);
  std::vector<double> sums(static_cast<size_t>(results), 0.0);
  std::vector<bool> started(sums.size(), false);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<size_t>(target[i]);
    const double x = values[i];
    double& sum = sums[at];
    if (!started[at]) {
      sum = x;
      started[at] = true;
      continue;
    }
    switch (operation) {
      case ReduceOperation::kSUM:
      case ReduceOperation::kAVG: sum += x; break;
      case ReduceOperation::kPROD: sum *= x; break;
      case ReduceOperation::kMAX: sum = std::max(sum, x); break;
      case ReduceOperation::kMIN: sum = std::min(sum, x); break;
      default: return nullptr;
    }
  }
  if (operation == ReduceOperation::kAVG) {
    for (double& sum : sums) {
      sum /= static_cast<double>(input.count()) / static_cast<double>(results);
      sum = isInteger(input.type) ? std::trunc(sum) : sum;
    }
  }
  return &store.ofReals(input.type, out, sums);
}

}  // namespace tenon::parsers
