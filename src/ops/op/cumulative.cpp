// Cumulative: shape rule, contents of shape arithmetic, reference in double or in integers that wrap in their type.
#include "ops/op/cumulative.h"

#include "ops/infer_util.h"
#include "ops/scalar_program.h"

namespace tenon::ops {
namespace {

double plus(double a, double b) { return a + b; }
int64_t plus(int64_t a, int64_t b) {  // unsigned arithmetic wraps
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
Extent plus(const Extent& a, const Extent& b) { return a + b; }

// Walks one line of `count` elements, from its end when reversed.
template <typename T, typename Load, typename Store>
void scan(const Cumulative& op, int64_t count, Load load, Store store) {
  T sum(0);
  for (int64_t step = 0; step < count; ++step) {
    const int64_t at = op.reverse ? count - 1 - step : step;
    if (op.exclusive) store(at, sum);
    sum = plus(sum, load(at));
    if (!op.exclusive) store(at, sum);
  }
}

template <typename T, typename Load, typename Store>
void scanLines(const Cumulative& op, const Dims& dims, Load load, Store store) {
  const int axis = positiveAxis(op.axis, dims.rank);
  const int64_t outer = dims.count(0, axis);
  const int64_t inner = dims.count(axis + 1, dims.rank);
  const int64_t count = dims[axis];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto index = [&](int64_t at) { return (o * count + at) * inner + i; };
      scan<T>(
          op, count, [&](int64_t at) { return load(index(at)); }, [&](int64_t at, T sum) { store(index(at), sum); });
    }
  }
}

}  // namespace

Facts Cumulative::facts() const { return {}; }

void Cumulative::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(x.dtype != DataType::kBool, "input of type bool; cast it");
  context.axis(axis, x.rank());
  Contents contents = isFloating(x.dtype) ? std::nullopt : x.contents;  // fractions are not summed here
  if (contents) {                                                       // an axis exists, so the rank is 1
    scan<Extent>(
        *this, static_cast<int64_t>(contents->size()),
        [&](int64_t at) { return (*x.contents)[static_cast<size_t>(at)]; },
        [&](int64_t at, const Extent& sum) { (*contents)[static_cast<size_t>(at)] = sum; });
  }
  context.output(x.dtype, x.shape, std::move(contents));
}

void Cumulative::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  if (isFloating(x.dtype)) {
    scanLines<double>(
        *this, x.dims, [&](int64_t i) { return x.loadDouble(i); },
        [&](int64_t i, double sum) { out.storeDouble(i, sum); });
  } else {
    scanLines<int64_t>(
        *this, x.dims, [&](int64_t i) { return x.loadInt(i); },
        [&](int64_t i, int64_t sum) { out.storeInt(i, wrapped(sum, out.dtype)); });
  }
}

OperatorInfo operatorInfo_cumulative() { return describe<Cumulative>(); }

}  // namespace tenon::ops
