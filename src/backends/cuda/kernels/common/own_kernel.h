// Kernels made from a file of kernels/: operator and types decide the code, the instance launches it.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "core/dims.h"

namespace tenon::backends::cuda {

// Element types of a step's operands; they are the params of the record: "[f32,f16] [f32]".
struct Types {
  std::vector<DataType> inputs;
  std::vector<DataType> outputs;

  std::string text() const;
  static Types read(const plan::KernelRecord& record);  // UserError when the text is wrong
  static Types parse(std::string_view text);
};

// The params of a record whose kernel has a shape, too: "shape [f16,f16] [f16]".
struct ShapeAndTypes {
  explicit ShapeAndTypes(const plan::KernelRecord& record);  // UserError when the text is wrong
  std::string_view shape;                                    // of the record's text
  Types types;
};

// "X=f16" for a macro that names a type.
inline std::string typeDefine(std::string_view macro, DataType type) {
  return fmt::format("{}={}", macro, cudaName(type));
}

inline int64_t valueOf(const Extent& extent, const runtime::Shapes& shapes) {
  return extent.isConstant() ? extent.constant() : extent.evaluate(*shapes.symbols);
}

// Instance: `static Code code(const T&, const Types&)` and a constructor (const T&, const Types&, const Module&).
template <typename T, typename Instance>
class OwnKernel final : public runtime::Kernel {
 public:
  explicit OwnKernel(const runtime::KernelLoad& load)
      : description_(descriptionOf<T>(load)),
        types_(Types::read(load.record)),
        module_(load.nativeCode, Instance::code(description_, types_)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<Instance>(description_, types_, module_);
  }

 private:
  T description_;
  Types types_;
  Module module_;
};

template <typename T, typename Instance>
KernelRow ownRow(std::string_view name, int version = 1) {
  return {
      name, version,
      [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
        return std::make_unique<OwnKernel<T, Instance>>(load);
      },
      [](const plan::KernelRecord& record) { return Instance::code(descriptionOf<T>(record), Types::read(record)); }};
}

// Bytes, at most 16, in which rows of so many bytes can move between two addresses; at least those of an element.
inline int64_t unitOf(int64_t rowBytes, int64_t elementBytes, const void* from, const void* to) {
  int64_t unit = 16;
  const auto fits = [&](const void* address) { return isAligned(address, static_cast<size_t>(unit)); };
  while (unit > elementBytes && (rowBytes % unit != 0 || !fits(from) || !fits(to))) unit /= 2;
  return unit;
}

}  // namespace tenon::backends::cuda
