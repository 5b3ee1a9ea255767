// Arithmetic of concrete extents and owned host tensors.
#include "core/dims.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "core/error.h"
#include "core/large_memory.h"

namespace tenon {

void Dims::push(int64_t value) {
  checkInternal(rank < kMaxRank, "a tensor has at most {} dimensions", kMaxRank);
  extent[static_cast<size_t>(rank++)] = value;
}

int64_t Dims::count(int first, int last) const noexcept {
  int64_t result = 1;
  bool overflow = false;
  for (int i = first; i < last; ++i) {
    if ((*this)[i] == 0) return 0;
    overflow = __builtin_mul_overflow(result, (*this)[i], &result) || overflow;
  }
  return overflow ? std::numeric_limits<int64_t>::max() : result;
}

int64_t Dims::count() const noexcept { return count(0, rank); }

std::array<int64_t, kMaxRank> Dims::strides() const noexcept {
  std::array<int64_t, kMaxRank> result{};
  uint64_t stride = 1;  // unsigned: the strides of an absurd shape wrap, nobody may use them
  for (int i = rank - 1; i >= 0; --i) {
    result[static_cast<size_t>(i)] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>((*this)[i]);
  }
  return result;
}

std::string Dims::text() const { return rank == 0 ? "scalar" : fmt::format("{}", fmt::join(begin(), end(), "x")); }

bool Dims::operator==(const Dims& other) const noexcept {
  return std::equal(begin(), end(), other.begin(), other.end());
}

Dims evaluate(const Shape& shape, const SymbolValues& values) {
  Dims dims;
  for (const auto& extent : shape) dims.push(extent.evaluate(values));
  return dims;
}

Shape toShape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

void IndexIterator::next() noexcept {
  --left;
  for (int axis = dims.rank - 1; axis >= 0; --axis) {
    auto& i = index[static_cast<size_t>(axis)];
    if (++i < dims[axis]) return;
    i = 0;
  }
}

int64_t IndexIterator::dot(const std::array<int64_t, kMaxRank>& strides) const noexcept {
  int64_t offset = 0;
  for (int axis = 0; axis < dims.rank; ++axis) {
    offset += index[static_cast<size_t>(axis)] * strides[static_cast<size_t>(axis)];
  }
  return offset;
}

void HostTensor::Free::operator()(void* p) const noexcept { freeLarge(p); }

HostTensor::HostTensor(DataType dtype, const Dims& dims) {
  checkUser(std::all_of(dims.begin(), dims.end(), [](int64_t e) { return e >= 0; }),
            "a tensor of shape {} has a negative extent", dims.text());
  if (dims.count() > std::numeric_limits<int64_t>::max() / 64) throw std::bad_alloc();
  view_ = {nullptr, dtype, dims};
  const size_t bytes = std::max<size_t>(view_.bytes(), 1);
  data_.reset(allocateLarge(bytes));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get(), 0, bytes);
  view_.data = data_.get();
}

}  // namespace tenon
