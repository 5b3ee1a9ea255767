// Movement of elements within constants: transpose, slice, concatenation, gather.
#include <cstring>

#include "error.h"
#include "fold.h"

namespace tenon::parsers {
namespace {

bool movable(WeightStore& store, const WeightBytes& input, int64_t results) {
  return bitsOfType(input.type) >= 8 && input.count() <= kMovementLimit && results <= kMovementLimit &&
         store.allows(bytesFor(input.type, results));
}

Dimensions stridesOf(const Dimensions& shape) {
  Dimensions strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return strides;
}

// Copies elements so that output position p comes from `first` + sum of p[i] * step[i], all in elements.
void copyStrided(const std::byte* from, std::byte* to, int64_t size, const Dimensions& shape, const Dimensions& step,
                 int64_t first) {
  const int64_t count = elementCount(shape);
  Dimensions position(shape.size(), 0);
  int64_t at = first;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * size, from + at * size, static_cast<size_t>(size));
    for (size_t d = shape.size(); d-- > 0;) {
      at += step[d];
      if (++position[d] < shape[d]) {
        break;
      }
      at -= step[d] * shape[d];
      position[d] = 0;
    }
  }
}

}  // namespace

const WeightBytes* foldTranspose(WeightStore& store, const WeightBytes& input, const std::vector<int32_t>& order) {
  if (!movable(store, input, input.count())) {
    return nullptr;
  }
  const Dimensions strides = stridesOf(input.shape);
  Dimensions shape;
  Dimensions step;
  for (const int32_t axis : order) {
    shape.push_back(input.shape[static_cast<size_t>(axis)]);
    step.push_back(strides[static_cast<size_t>(axis)]);
  }
  std::byte* out = store.allocate(input.bytes());
  copyStrided(static_cast<const std::byte*>(input.data), out, bytesFor(input.type, 1), shape, step, 0);
  return &store.add(input.type, shape, out);
}

const WeightBytes* foldSlice(WeightStore& store, const WeightBytes& input, const Dimensions& start,
                             const Dimensions& size, const Dimensions& stride) {
  const int64_t count = elementCount(size);
  if (!movable(store, input, count)) {
    return nullptr;
  }
  const Dimensions strides = stridesOf(input.shape);
  Dimensions step(size.size());
  int64_t first = 0;
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t last = start[i] + (size[i] - 1) * stride[i];
    if (size[i] > 0 && (start[i] < 0 || start[i] >= input.shape[i] || last < 0 || last >= input.shape[i])) {
      fail(FaultKind::kInvalidNode,
           fmt::format("slice of axis {} from {} to {} exceeds the extent {}", i, start[i], last, input.shape[i]));
    }
    first += start[i] * strides[i];
    step[i] = stride[i] * strides[i];
  }
  const int64_t width = bytesFor(input.type, 1);
  std::byte* out = store.allocate(count * width);
  copyStrided(static_cast<const std::byte*>(input.data), out, width, size, step, first);
  return &store.add(input.type, size, out);
}

const WeightBytes* foldConcat(WeightStore& store, const std::vector<const WeightBytes*>& inputs, int32_t axis) {
  const auto along = static_cast<size_t>(axis);
  Dimensions shape = inputs.front()->shape;
  shape[along] = 0;
  for (const WeightBytes* input : inputs) {
    Dimensions others = input->shape;
    if (others.size() != shape.size() || input->type != inputs.front()->type) {
      return nullptr;
    }
    shape[along] += others[along];
    others[along] = shape[along];
    if (others != shape) {
      fail(FaultKind::kInvalidNode, fmt::format("concatenation over axis {} of {} with {}: other extents differ", axis,
                                                toString(inputs.front()->shape), toString(input->shape)));
    }
  }
  if (!movable(store, *inputs.front(), elementCount(shape))) {
    return nullptr;
  }
  int64_t outer = 1;
  for (size_t i = 0; i < along; ++i) {
    outer *= shape[i];
  }
  std::byte* out = store.allocate(bytesFor(inputs.front()->type, elementCount(shape)));
  std::byte* to = out;
  for (int64_t o = 0; o < outer; ++o) {
    for (const WeightBytes* input : inputs) {
      const int64_t row = input->bytes() / outer;
      if (row > 0) {
        std::memcpy(to, static_cast<const std::byte*>(input->data) + o * row, static_cast<size_t>(row));
      }
      to += row;
    }
  }
  return &store.add(inputs.front()->type, shape, out);
}

const WeightBytes* foldGather(WeightStore& store, const WeightBytes& input, const WeightBytes& indices, int32_t axis) {
  const auto along = static_cast<size_t>(axis);
  Dimensions shape(input.shape.begin(), input.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), input.shape.begin() + axis + 1, input.shape.end());
  if (!movable(store, input, elementCount(shape))) {
    return nullptr;
  }
  int64_t outer = 1;
  int64_t inner = bytesFor(input.type, 1);
  for (size_t i = 0; i < input.shape.size(); ++i) {
    (i < along ? outer : inner) *= i == along ? 1 : input.shape[i];
  }
  const int64_t extent = input.shape[along];
  const std::vector<int64_t> rows = toInts(indices);
  std::byte* out = store.allocate(bytesFor(input.type, elementCount(shape)));
  std::byte* to = out;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t row : rows) {
      if (row < -extent || row >= extent) {
        fail(FaultKind::kInvalidNode, fmt::format("index {} is outside axis {} of extent {}", row, axis, extent));
      }
      const int64_t from = (o * extent + (row < 0 ? row + extent : row)) * inner;
      std::memcpy(to, static_cast<const std::byte*>(input.data) + from, static_cast<size_t>(inner));
      to += inner;
    }
  }
  return &store.add(input.type, shape, out);
}

}  // namespace tenon::parsers
