// Elements and rows by their bytes, whatever they hold.
#include "backends/cpu/kernels/common/strided_rows.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/simd/copy_simd.h"

namespace tenon::backends::cpu {
namespace {

template <typename T>
void collect(const char* from, int64_t stride, int64_t count, char* to) {
  const auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  if (stride == 0) {
    const T value = *source;
    std::fill_n(target, count, value);
  } else if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * 2];
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }
}

// Rows of so few elements that a call for each would cost more than they do; false where there are more.
template <typename T, int64_t kCount = 8>
bool collectShort(const T* from, int64_t step, int64_t stride, int64_t rows, int64_t count, T* to) {
  if constexpr (kCount > 1) {
    if (count != kCount) return collectShort<T, kCount - 1>(from, step, stride, rows, count, to);
    for (int64_t r = 0; r < rows; ++r, from += step, to += kCount) {
      for (int64_t i = 0; i < kCount; ++i) to[i] = from[i * stride];
    }
    return true;
  }
  return false;
}

// One row again and again, as one element where it is as long as one; false where it is not.
template <typename T>
bool repeatAs(const char* row, int64_t rowBytes, int64_t rows, char* to) {
  if (rowBytes != sizeof(T)) return false;
  T value;
  std::memcpy(&value, row, sizeof(T));
  for (int64_t r = 0; r < rows; ++r) std::memcpy(to + r * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  return true;
}
bool repeatShort(const char* row, int64_t rowBytes, int64_t rows, char* to) {
  return repeatAs<uint16_t>(row, rowBytes, rows, to) || repeatAs<uint32_t>(row, rowBytes, rows, to) ||
         repeatAs<uint64_t>(row, rowBytes, rows, to);
}

// What is there is copied, twice as much each time.
void repeatLong(const char* row, int64_t rowBytes, int64_t rows, char* to) {
  const int64_t all = rowBytes * rows;
  std::memcpy(to, row, static_cast<size_t>(rowBytes));
  for (int64_t done = rowBytes; done < all; done *= 2)
    std::memcpy(to + done, to, static_cast<size_t>(std::min(done, all - done)));
}

template <typename T>
void spread(const char* from, char* to, int64_t stride, int64_t count) {
  const auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) target[i * stride] = source[i];
}

}  // namespace

void gatherStrided(int64_t bytes, const char* from, int64_t stride, int64_t count, char* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  switch (bytes) {
    case 1: return collect<uint8_t>(from, stride, count, to);
    case 2: return collect<uint16_t>(from, stride, count, to);
    case 4: return collect<uint32_t>(from, stride, count, to);
    default: return collect<uint64_t>(from, stride, count, to);
  }
}

void gatherRows(int64_t bytes, const char* from, int64_t step, int64_t stride, int64_t rows, int64_t count, char* to) {
  constexpr int64_t kShort = 8;  // elements, which collectShort() knows
  const bool isSame = step == 0 && stride == 1 && rows > 1;
  if (isSame && repeatShort(from, count * bytes, rows, to)) return;
  if (isSame && count > kShort) return repeatLong(from, count * bytes, rows, to);
  if (stride == 0 && rows > 1 && count > kShort)
    return repeatFunction(bytes)(from, step, static_cast<size_t>(rows), static_cast<size_t>(count), to);
  const auto isShort = [&]<typename T>(T) {
    return collectShort(reinterpret_cast<const T*>(from), step, stride, rows, count, reinterpret_cast<T*>(to));
  };
  const bool done = rows > 1 && (bytes == 1   ? isShort(uint8_t{})
                                 : bytes == 2 ? isShort(uint16_t{})
                                 : bytes == 4 ? isShort(uint32_t{})
                                              : isShort(uint64_t{}));
  for (int64_t r = 0; !done && r < rows; ++r)
    gatherStrided(bytes, from + r * step * bytes, stride, count, to + r * count * bytes);
}

void scatterStrided(int64_t bytes, const char* from, char* to, int64_t stride, int64_t count) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  switch (bytes) {
    case 1: return spread<uint8_t>(from, to, stride, count);
    case 2: return spread<uint16_t>(from, to, stride, count);
    case 4: return spread<uint32_t>(from, to, stride, count);
    default: return spread<uint64_t>(from, to, stride, count);
  }
}

}  // namespace tenon::backends::cpu
