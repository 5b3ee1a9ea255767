// TopK: shape rule and sorting reference.
#include "ops/op/topk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// Total order of floating values with NaN above all numbers.
bool below(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
bool below(int64_t a, int64_t b) { return a < b; }

// The first k indices of the line in the operator's order.
template <typename T>
std::vector<int64_t> best(const std::vector<T>& line, int64_t k, bool largest) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const T x = line[static_cast<size_t>(a)];
    const T y = line[static_cast<size_t>(b)];
    if (largest ? below(y, x) : below(x, y)) return true;
    if (largest ? below(x, y) : below(y, x)) return false;
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
  order.resize(static_cast<size_t>(k));
  return order;
}

template <typename T, typename Load>
void select(const TopK& topk, const EvalContext& context, Load load) {
  const auto& x = context.inputs[0];
  const auto& values = context.outputs[0];
  const auto& indices = context.outputs[1];
  const int at = positiveAxis(topk.axis, x.dims.rank);
  const int64_t inner = x.dims.count(at + 1, x.dims.rank);
  const int64_t extent = x.dims[at];
  const int64_t k = values.dims[at];
  checkUser(k >= 0 && k <= extent, "topk: k = {} exceeds axis {} of extent {}", k, at, extent);
  const ElementCopy copy(x, values);
  std::vector<T> line(static_cast<size_t>(extent));
  for (int64_t o = 0; o < x.dims.count(0, at); ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < extent; ++j) line[static_cast<size_t>(j)] = load((o * extent + j) * inner + i);
      const auto order = best(line, k, topk.largest);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t index = order[static_cast<size_t>(j)];
        copy((o * extent + index) * inner + i, (o * k + j) * inner + i);
        indices.storeInt((o * k + j) * inner + i, index);
      }
    }
  }
}

}  // namespace

Facts TopK::facts() const { return {}; }

void TopK::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto at = static_cast<size_t>(context.axis(axis, x.rank()));
  context.check(indexType == DataType::kI32 || indexType == DataType::kI64, "index type {}, expected i32 or i64",
                name(indexType));
  context.check(indexType == DataType::kI64 || !x.shape[at].isConstant() || x.shape[at].constant() <= INT32_MAX,
                "axis {} has {} elements, which indices of i32 do not reach; expected indices of i64", at,
                x.shape[at].text());
  context.check(!k.isConstant() || k.constant() >= 0, "k = {} is negative", k.text());
  context.check(!k.isConstant() || !x.shape[at].isConstant() || k.constant() <= x.shape[at].constant(),
                "k = {} exceeds axis {} of extent {}", k.text(), at, x.shape[at].text());
  Shape shape = x.shape;
  shape[at] = k;
  context.output(x.dtype, shape);
  context.output(indexType, std::move(shape));
}

void TopK::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  if (isFloating(x.dtype)) {
    select<double>(*this, context, [&](int64_t i) { return x.loadDouble(i); });
  } else {
    select<int64_t>(*this, context, [&](int64_t i) { return x.loadInt(i); });
  }
}

OperatorInfo operatorInfo_topk() { return describe<TopK>(); }

}  // namespace tenon::ops
