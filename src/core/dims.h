// Concrete extents without allocation, and views of tensors in host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/extent.h"

namespace tenon {

constexpr int kMaxRank = 8;

// Up to kMaxRank extents, row-major; rank 0 is a scalar (one element).
struct Dims {
  std::array<int64_t, kMaxRank> extent{};
  int rank = 0;

  Dims() = default;
  Dims(std::initializer_list<int64_t> extents) {
    for (const int64_t e : extents) push(e);
  }
  template <typename Range>
  static Dims of(const Range& extents) {
    Dims dims;
    for (const auto& e : extents) dims.push(static_cast<int64_t>(e));
    return dims;
  }

  void push(int64_t value);  // throws InternalError beyond kMaxRank
  int64_t operator[](int axis) const { return extent[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return extent[static_cast<size_t>(axis)]; }
  const int64_t* begin() const { return extent.data(); }
  const int64_t* end() const { return extent.data() + rank; }
  int64_t count() const noexcept;                     // product of all extents; the highest int64 when it overflows
  int64_t count(int first, int last) const noexcept;  // product of [first, last)
  std::array<int64_t, kMaxRank> strides() const noexcept;  // row-major, in elements
  std::string text() const;                                // 1x3x224x224
  bool operator==(const Dims& other) const noexcept;
};

Dims evaluate(const Shape& shape, const SymbolValues& values);
Shape toShape(const Dims& dims);

// A contiguous row-major tensor in host memory, not owned.
struct TensorView {
  void* data = nullptr;
  DataType dtype = DataType::kF32;
  Dims dims;

  int64_t count() const noexcept { return dims.count(); }
  size_t bytes() const noexcept { return bytesOf(dtype, dims.count()); }
  double loadDouble(int64_t index) const noexcept { return tenon::loadDouble(dtype, data, index); }
  int64_t loadInt(int64_t index) const noexcept { return tenon::loadInt(dtype, data, index); }
  void storeDouble(int64_t index, double value) const noexcept { tenon::storeDouble(dtype, data, index, value); }
  void storeInt(int64_t index, int64_t value) const noexcept { tenon::storeInt(dtype, data, index, value); }
  template <typename T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

// Walks the indices of a row-major space in order: for (IndexIterator i(dims); i.valid(); i.next()) use i.index.
struct IndexIterator {
  explicit IndexIterator(const Dims& space) : dims(space), left(space.count()) {}
  bool valid() const noexcept { return left > 0; }
  void next() noexcept;
  int64_t dot(const std::array<int64_t, kMaxRank>& strides) const noexcept;

  Dims dims;
  std::array<int64_t, kMaxRank> index{};
  int64_t left;
};

// An owned tensor in host memory, 64-byte aligned, zeroed.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DataType dtype, const Dims& dims);
  const TensorView& view() const noexcept { return view_; }

 private:
  struct Free {
    void operator()(void* p) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  TensorView view_;
};

}  // namespace tenon
