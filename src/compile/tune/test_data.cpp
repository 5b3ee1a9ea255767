// What operands hold when candidates are tried.
#include "compile/tune/test_data.h"

#include <algorithm>

#include "core/storage.h"

namespace tenon::compile {

int64_t integersBelow(const Problem& problem, size_t input) {
  const auto indices = problem.op.facts().indices;
  if (!indices || indices->input != static_cast<int>(input)) return 2;
  const auto& dims = problem.inputs[0].dims;
  if (indices->axis) return dims[static_cast<int>(*indices->axis < 0 ? *indices->axis + dims.rank : *indices->axis)];
  int64_t least = dims[0];
  for (int axis = 1; axis < dims.rank; ++axis) least = std::min(least, dims[axis]);
  return least;
}

void fillWithTestData(DataType dtype, void* data, int64_t count, uint64_t seed, int64_t below) {
  uint64_t state = seed * 2862933555777941757ull + 3037000493ull;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (isFloating(dtype)) {
      storeDouble(dtype, data, i, 0.1 + 0.9 * unit);
    } else {
      storeInt(dtype, data, i, static_cast<int64_t>(unit * static_cast<double>(below)));
    }
  }
}

}  // namespace tenon::compile
