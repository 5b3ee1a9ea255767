// Conversions between the public API's values and ours.
#include "api/common/convert.h"

#include <fmt/ranges.h>

namespace tenon::api {
namespace {

// In the order of nvinfer1::DataType.
constexpr std::array<DataType, 12> kTypes{DataType::kF32,  DataType::kF16, DataType::kI8,     DataType::kI32,
                                          DataType::kBool, DataType::kU8,  DataType::kF8E4M3, DataType::kBF16,
                                          DataType::kI64,  DataType::kI4,  DataType::kF4E2M1, DataType::kE8M0};
static_assert(kTypes.size() == static_cast<size_t>(nv::EnumMax<nv::DataType>()));

}  // namespace

DataType fromApi(nv::DataType type) { return mapEnum(kTypes, type, "data type"); }

nv::DataType toApi(DataType type) noexcept {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<nv::DataType>(i);
  }
  return nv::DataType::kFLOAT;
}

nv::Dims toApi(const Dims& dims) noexcept {
  nv::Dims result{dims.rank, {}};
  for (int i = 0; i < dims.rank; ++i) result.d[i] = dims[i];
  return result;
}

nv::Dims toApi(const Shape& shape) noexcept {
  if (shape.size() > static_cast<size_t>(nv::Dims::MAX_DIMS)) return invalidDims();
  nv::Dims result{static_cast<int32_t>(shape.size()), {}};
  for (size_t i = 0; i < shape.size(); ++i) result.d[i] = shape[i].isConstant() ? shape[i].constant() : -1;
  return result;
}

Dims fromApi(const nv::Dims& dims, std::string_view what, int64_t lowest) {
  checkUser(dims.nbDims >= 0 && dims.nbDims <= nv::Dims::MAX_DIMS, "{} have {} dimensions; expected 0 to {}", what,
            dims.nbDims, nv::Dims::MAX_DIMS);
  Dims result;
  for (int i = 0; i < dims.nbDims; ++i) {
    checkUser(dims.d[i] >= lowest, "{} {}: entry {} is {}; expected at least {}", what, text(dims), i, dims.d[i],
              lowest);
    result.push(dims.d[i]);
  }
  return result;
}

nv::Dims filledDims(int32_t rank, int64_t value) noexcept {
  nv::Dims dims{rank, {}};
  for (int32_t i = 0; i < rank && i < nv::Dims::MAX_DIMS; ++i) dims.d[i] = value;
  return dims;
}

std::string text(const nv::Dims& dims) {
  if (dims.nbDims < 0 || dims.nbDims > nv::Dims::MAX_DIMS) return "[invalid]";
  return fmt::format("[{}]", fmt::join(dims.d, dims.d + dims.nbDims, ","));
}

}  // namespace tenon::api
