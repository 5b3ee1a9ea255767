// Owns the bytes of computed constants and reads constants as numbers.
#include "weight_store.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "error.h"
#include "half.h"

namespace tenon::parsers {
namespace {

constexpr size_t kAlignment = 64;

// Reals beyond the range of an integer become its ends, and NaN becomes 0: neither formats nor C++ define them.
template <typename T, typename S>
T numberAs(S value) {
  if constexpr (std::is_integral_v<T> && std::is_floating_point_v<S>) {
    constexpr T kLow = std::numeric_limits<T>::min();
    constexpr T kHigh = std::numeric_limits<T>::max();
    if (std::isnan(value)) return 0;
    if (value <= static_cast<S>(kLow)) return kLow;
    constexpr T kHalf = kHigh / 2 + 1;  // a power of two, so that S holds it and its double exactly
    if (value >= static_cast<S>(kHalf) * 2) return kHigh;
  }
  return static_cast<T>(value);
}

template <typename T, typename S>
void storeAs(std::byte* bytes, const std::vector<S>& values) {
  T* out = reinterpret_cast<T*>(bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = numberAs<T>(values[i]);
  }
}

template <typename S>
void storeNumbers(DataType type, std::byte* bytes, const std::vector<S>& values) {
  switch (type) {
    case DataType::kFLOAT: return storeAs<float>(bytes, values);
    case DataType::kINT32: return storeAs<int32_t>(bytes, values);
    case DataType::kINT64: return storeAs<int64_t>(bytes, values);
    case DataType::kINT8: return storeAs<int8_t>(bytes, values);
    case DataType::kUINT8: return storeAs<uint8_t>(bytes, values);
    default: break;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto real = static_cast<float>(values[i]);
    if (type == DataType::kBOOL) {
      reinterpret_cast<uint8_t*>(bytes)[i] = values[i] != 0 ? 1 : 0;
    } else if (type == DataType::kHALF) {
      reinterpret_cast<uint16_t*>(bytes)[i] = floatToHalf(real);
    } else if (type == DataType::kBF16) {
      reinterpret_cast<uint16_t*>(bytes)[i] = floatToBfloat(real);
    } else {
      fail(FaultKind::kUnsupportedType, fmt::format("a constant of {} cannot be computed", typeName(type)));
    }
  }
}

// Bytes of a model may be unaligned, hence memcpy for each element.
template <typename T, typename S>
std::vector<S> readAs(const WeightBytes& constant) {
  std::vector<S> values(static_cast<size_t>(constant.count()));
  const auto* bytes = static_cast<const std::byte*>(constant.data);
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    values[i] = numberAs<S>(element);
  }
  return values;
}

template <typename S>
std::vector<S> readNumbers(const WeightBytes& constant) {
  switch (constant.type) {
    case DataType::kFLOAT: return readAs<float, S>(constant);
    case DataType::kINT32: return readAs<int32_t, S>(constant);
    case DataType::kINT64: return readAs<int64_t, S>(constant);
    case DataType::kINT8: return readAs<int8_t, S>(constant);
    case DataType::kUINT8:
    case DataType::kBOOL: return readAs<uint8_t, S>(constant);
    case DataType::kHALF:
    case DataType::kBF16: {
      std::vector<S> values = {};
      for (const uint16_t bits : readAs<uint16_t, uint16_t>(constant)) {
        values.push_back(numberAs<S>(constant.type == DataType::kHALF ? halfToFloat(bits) : bfloatToFloat(bits)));
      }
      return values;
    }
    default:
      fail(FaultKind::kUnsupportedType,
           fmt::format("the elements of a {} constant cannot be read as numbers", typeName(constant.type)));
  }
}

}  // namespace

void WeightStore::Free::operator()(std::byte* bytes) const { std::free(bytes); }

std::byte* WeightStore::allocate(int64_t bytes) {
  const size_t size = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (block == nullptr) {
    fail(FaultKind::kOutOfMemory, fmt::format("cannot allocate {} bytes for a constant", bytes));
  }
  blocks_.emplace_back(block);
  return block;
}

bool WeightStore::allows(int64_t bytes) {
  if (bytes <= kAlwaysComputed) {
    return true;
  }
  if (bytes > computable_) {
    return false;
  }
  computable_ -= bytes;
  return true;
}

const WeightBytes& WeightStore::add(DataType type, Dimensions shape, const void* data, std::string name) {
  return constants_.emplace_back(WeightBytes{type, std::move(shape), data, std::move(name)});
}

const WeightBytes& WeightStore::ofInts(DataType type, Dimensions shape, const std::vector<int64_t>& values) {
  std::byte* bytes = allocate(bytesFor(type, static_cast<int64_t>(values.size())));
  storeNumbers(type, bytes, values);
  return add(type, std::move(shape), bytes);
}

const WeightBytes& WeightStore::ofReals(DataType type, Dimensions shape, const std::vector<double>& values) {
  std::byte* bytes = allocate(bytesFor(type, static_cast<int64_t>(values.size())));
  storeNumbers(type, bytes, values);
  return add(type, std::move(shape), bytes);
}

const WeightBytes& WeightStore::uniform(DataType type, const Dimensions& shape, double value) {
  const int64_t count = elementCount(shape);
  for (const Uniform& known : uniform_) {  // compared as bits, so that -0 is not 0
    const bool same = known.type == type && std::bit_cast<uint64_t>(known.value) == std::bit_cast<uint64_t>(value);
    if (same && known.count >= count) return add(type, shape, known.bytes);
  }
  const int64_t size = bytesFor(type, 1);
  std::byte* bytes = allocate(bytesFor(type, count));
  if (count > 0) {
    storeNumbers(type, bytes, std::vector<double>{value});
    for (int64_t done = 1; done < count;) {  // doubling copies: large weights come this way too
      const int64_t step = std::min(done, count - done);
      std::memcpy(bytes + done * size, bytes, static_cast<size_t>(step * size));
      done += step;
    }
  }
  uniform_.push_back({type, value, count, bytes});
  return add(type, shape, bytes);
}

std::vector<int64_t> toInts(const WeightBytes& constant) { return readNumbers<int64_t>(constant); }
std::vector<double> toReals(const WeightBytes& constant) { return readNumbers<double>(constant); }

}  // namespace tenon::parsers
