// Numbers as bytes of every type, and random ones.
#include "operands.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>

namespace tenon::test {
namespace {

float fromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return static_cast<float>((half & 0x8000) != 0 ? -value : value);
}

// To the nearest half; of normal numbers.
uint16_t toHalf(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(fraction, exponent - unit)));
  const int bits = unit == -24 ? steps : ((unit + 24) << 10) + steps;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | bits);
}

size_t bytesOf(nv::DataType type) {
  switch (type) {
    case nv::DataType::kINT64: return 8;
    case nv::DataType::kHALF: return 2;
    case nv::DataType::kINT8: return 1;
    default: return 4;
  }
}

}  // namespace

SharedVector<char> toBytes(const Array& array) {
  SharedVector<char> bytes(array.values.size() * bytesOf(array.type) + 1);
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    if (array.type == nv::DataType::kFLOAT) put(static_cast<float>(array.values[i]));
    if (array.type == nv::DataType::kHALF) put(toHalf(array.values[i]));
    if (array.type == nv::DataType::kINT32) put(static_cast<int32_t>(array.values[i]));
    if (array.type == nv::DataType::kINT64) put(static_cast<int64_t>(array.values[i]));
    if (array.type == nv::DataType::kINT8) put(static_cast<int8_t>(array.values[i]));
  }
  return bytes;
}

void fromBytes(const SharedVector<char>& bytes, Array& array) {
  array.values.resize(static_cast<size_t>(array.count()));
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto get = [&](auto value) {
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    switch (array.type) {
      case nv::DataType::kFLOAT: array.values[i] = get(float{}); break;
      case nv::DataType::kHALF: array.values[i] = fromHalf(get(uint16_t{})); break;
      case nv::DataType::kINT64: array.values[i] = static_cast<double>(get(int64_t{})); break;
      case nv::DataType::kINT8: array.values[i] = get(int8_t{}); break;
      default: array.values[i] = get(int32_t{});
    }
  }
}

nv::Dims toDims(const std::vector<int64_t>& dims) {
  nv::Dims result{static_cast<int32_t>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), result.d);
  return result;
}
std::vector<int64_t> fromDims(const nv::Dims& dims) { return {dims.d, dims.d + std::max(dims.nbDims, 0)}; }

int64_t Array::count() const { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

double Array::at(std::initializer_list<int64_t> index) const {
  int64_t place = 0;
  size_t axis = 0;
  for (const int64_t i : index) place = place * dims.at(axis++) + i;
  return values.at(static_cast<size_t>(place));
}

bool inHalves() {
  static const bool result = std::getenv("TENON_TEST_HALVES") != nullptr;
  return result;
}

double held(double value) { return inHalves() ? fromHalf(toHalf(value)) : static_cast<float>(value); }

double Random::real(double low, double high) {
  const double value = std::round(std::uniform_real_distribution<>(low, high)(engine_) * 1024) / 1024;
  return held(value);
}
int64_t Random::whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

Array Random::array(std::vector<int64_t> dims, double low, double high) {
  Array result{std::move(dims), {}};
  for (int64_t i = 0; i < result.count(); ++i) result.values.push_back(real(low, high));
  return result;
}
Array Random::wholes(std::vector<int64_t> dims, int64_t low, int64_t high, nv::DataType type) {
  Array result{std::move(dims), {}, type};
  for (int64_t i = 0; i < result.count(); ++i) result.values.push_back(static_cast<double>(whole(low, high)));
  return result;
}
Array Random::boxes(std::vector<int64_t> dims, double size) {
  Array result = array(std::move(dims), 0, size);
  for (size_t i = 0; i + 3 < result.values.size(); i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      if (result.values[i + k] > result.values[i + k + 2]) std::swap(result.values[i + k], result.values[i + k + 2]);
    }
  }
  return result;
}
Array Random::distinct(std::vector<int64_t> dims) {
  Array result{std::move(dims), {}};
  for (int64_t i = 0; i < result.count(); ++i) {
    const double value = (static_cast<double>(i) + 0.5) / static_cast<double>(result.count());
    result.values.push_back(held(value));
  }
  std::shuffle(result.values.begin(), result.values.end(), engine_);
  return result;
}

}  // namespace tenon::test
