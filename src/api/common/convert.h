// Values of the public API to ours and back: data types, extents, enums. No value of the ABI goes below this folder.
#pragma once

#include <NvInfer.h>

#include <string_view>

#include "core/dims.h"
#include "core/dtype.h"
#include "core/error.h"

namespace tenon::api {

namespace nv = nvinfer1;

DataType fromApi(nv::DataType type);  // throws UserError for values outside the enumeration
nv::DataType toApi(DataType type) noexcept;

nv::Dims toApi(const Dims& dims) noexcept;
nv::Dims toApi(const Shape& shape) noexcept;  // -1 where an extent is not constant
inline nv::Dims invalidDims() noexcept { return nv::Dims{-1, {}}; }
// Extents; throws UserError naming `what` for ranks outside 0..8 or extents below `lowest`.
Dims fromApi(const nv::Dims& dims, std::string_view what, int64_t lowest);
nv::Dims filledDims(int32_t rank, int64_t value) noexcept;
std::string text(const nv::Dims& dims);  // [1,3,-1]

// The value, when it is one of the enumeration; else UserError.
template <typename E>
E checkedEnum(E value, std::string_view what) {
  checkUser(static_cast<int32_t>(value) >= 0 && static_cast<int32_t>(value) < nv::EnumMax<E>(),
            "{} {} is out of range; expected 0 to {}", what, static_cast<int32_t>(value), nv::EnumMax<E>() - 1);
  return value;
}

// Our enumerator for a public one, by a table in the order of the public values.
template <typename Ours, typename Theirs, size_t N>
Ours mapEnum(const std::array<Ours, N>& table, Theirs value, std::string_view what) {
  static_assert(N > 0);
  checkedEnum(value, what);
  return table.at(static_cast<size_t>(value));
}

inline const char* orEmpty(const char* text) noexcept { return text != nullptr ? text : ""; }

}  // namespace tenon::api
