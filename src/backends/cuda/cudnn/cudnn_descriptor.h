// A descriptor of cuDNN's backend interface, owned.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cuda/cudnn/cudnn_api.h"

namespace tenon::backends::cuda::dnn {

template <typename T>
constexpr AttributeType attributeType() {
  if constexpr (std::is_same_v<T, ElementType>) return AttributeType::kDataType;
  else if constexpr (std::is_same_v<T, bool>) return AttributeType::kBoolean;
  else if constexpr (std::is_same_v<T, int64_t>) return AttributeType::kInt64;
  else if constexpr (std::is_same_v<T, float>) return AttributeType::kFloat;
  else if constexpr (std::is_same_v<T, double>) return AttributeType::kDouble;
  else if constexpr (std::is_same_v<T, ConvolutionMode>) return AttributeType::kConvolutionMode;
  else if constexpr (std::is_same_v<T, HeuristicMode>) return AttributeType::kHeuristicMode;
  else if constexpr (std::is_same_v<T, KnobType>) return AttributeType::kKnobType;
  else if constexpr (std::is_same_v<T, NumericalNote>) return AttributeType::kNumericalNote;
  else if constexpr (std::is_same_v<T, BehaviorNote>) return AttributeType::kBehaviorNote;
  else if constexpr (std::is_same_v<T, PointwiseMode>) return AttributeType::kPointwiseMode;
  else if constexpr (std::is_same_v<T, ReductionOperator>) return AttributeType::kReductionOperator;
  else {
    static_assert(std::is_same_v<T, char>);
    return AttributeType::kChar;
  }
}

// Set attributes, then finalize; failures throw Unsupported with cuDNN's words.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(Kind kind) { check(library().createDescriptor(kind, &raw_), "a descriptor"); }
  ~Descriptor() {
    if (raw_ != nullptr) library().destroyDescriptor(raw_);
  }
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  RawDescriptor raw() const noexcept { return raw_; }

  template <typename T>
  void set(Attribute name, T value) {
    check(library().setAttribute(raw_, name, attributeType<T>(), 1, &value), "an attribute");
  }
  template <typename T>
  void set(Attribute name, std::span<const T> values) {
    check(library().setAttribute(raw_, name, attributeType<T>(), static_cast<int64_t>(values.size()), values.data()),
          "an attribute");
  }
  void set(Attribute name, const Descriptor& value) {
    check(library().setAttribute(raw_, name, AttributeType::kDescriptor, 1, &value.raw_), "an attribute");
  }
  void set(Attribute name, const std::vector<Descriptor>& values) {
    std::vector<RawDescriptor> raw;
    for (const auto& value : values) raw.push_back(value.raw());
    check(library().setAttribute(raw_, name, AttributeType::kDescriptor, static_cast<int64_t>(raw.size()), raw.data()),
          "an attribute");
  }
  void setHandle(Attribute name, Handle handle) {
    check(library().setAttribute(raw_, name, AttributeType::kHandle, 1, &handle), "the handle");
  }
  void setPointers(Attribute name, std::span<void* const> values) {
    check(
        library().setAttribute(raw_, name, AttributeType::kPointer, static_cast<int64_t>(values.size()), values.data()),
        "addresses");
  }
  void finalize(const char* what) { check(library().finalize(raw_), what); }

  template <typename T>
  T get(Attribute name) const {
    T value{};
    int64_t count = 0;
    check(library().getAttribute(raw_, name, attributeType<T>(), 1, &count, &value), "an attribute");
    return value;
  }
  // Up to `room` values.
  template <typename T>
  std::vector<T> list(Attribute name, size_t room) const {
    std::vector<T> values(room);
    int64_t count = 0;
    check(library().getAttribute(raw_, name, attributeType<T>(), static_cast<int64_t>(room), &count, values.data()),
          "an attribute");
    values.resize(static_cast<size_t>(count < 0 ? 0 : count) < room ? static_cast<size_t>(count) : room);
    return values;
  }
  // Text of a length that cuDNN says.
  std::vector<std::byte> bytes(Attribute name) const {
    int64_t count = 0;
    check(library().getAttribute(raw_, name, AttributeType::kChar, 0, &count, nullptr), "the length of a text");
    std::vector<std::byte> result(static_cast<size_t>(count < 0 ? 0 : count));
    check(library().getAttribute(raw_, name, AttributeType::kChar, count, &count, result.data()), "a text");
    return result;
  }
  // Up to `room` descriptors of a kind.
  std::vector<Descriptor> descriptors(Attribute name, Kind kind, size_t room) const {
    std::vector<Descriptor> result;
    std::vector<RawDescriptor> raw;
    for (size_t i = 0; i < room; ++i) raw.push_back(result.emplace_back(kind).raw());
    int64_t count = 0;
    check(
        library().getAttribute(raw_, name, AttributeType::kDescriptor, static_cast<int64_t>(room), &count, raw.data()),
        "descriptors");
    while (static_cast<int64_t>(result.size()) > count) result.pop_back();
    return result;
  }

 private:
  RawDescriptor raw_ = nullptr;
};

}  // namespace tenon::backends::cuda::dnn
