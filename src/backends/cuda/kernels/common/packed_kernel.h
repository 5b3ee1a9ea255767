// Kernels whose constant weights, the second operand, are packed in an order of their own.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "runtime/packer.h"

namespace tenon::backends::cuda {

// Record, which is made of a plan's: `kName`; `kFunction` of the code; form(), of type Form, which throws Unsupported
// where there is none; code(form); checkWeights(w), which throws UserError where they are not those of the record;
// recipe(form), a text of how they are packed. Form: pack(w), a vector; packedBytes(); sharedBytes(). Instance: a
// constructor (const Record&, const Form&, CUfunction).
template <typename Record, typename Form, typename Instance>
class PackedKernel final : public runtime::Kernel, public runtime::Packer {
 public:
  explicit PackedKernel(const runtime::KernelLoad& load)
      : record_(load.record), form_(record_.form()), module_(load.nativeCode, record_.code(form_)) {
    if (load.constants.size() < 2 || load.constants[1].data == nullptr)
      throw Unsupported("cuda.{}: the weights are no constant", Record::kName);
    const auto& w = load.constants[1];
    record_.checkWeights(w);
    weights_ = {nullptr, w.dtype, w.dims};
    function_ = module_.function(Record::kFunction);
    allowSharedBytes(function_, form_.sharedBytes());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<Instance>(record_, form_, function_);
  }
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1}, record_.recipe(form_), form_.packedBytes(), false}};
  }
  void pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const override {
    const auto packed = form_.pack({const_cast<void*>(sources[0]), weights_.dtype, weights_.dims});
    checkInternal(packed.size() * sizeof(packed[0]) == form.bytes, "cuda.{}: {} numbers for {} bytes", Record::kName,
                  packed.size(), form.bytes);
    std::memcpy(to, packed.data(), form.bytes);
  }

 private:
  Record record_;
  Form form_;
  Module module_;
  CUfunction function_ = nullptr;
  TensorView weights_;  // without data
};

template <typename Record, typename Form, typename Instance>
KernelRow packedRow(int version) {
  return {Record::kName, version,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<PackedKernel<Record, Form, Instance>>(load);
          },
          [](const plan::KernelRecord& row) {
            const Record record(row);
            return record.code(record.form());
          }};
}

}  // namespace tenon::backends::cuda
