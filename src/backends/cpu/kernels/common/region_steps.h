// The operators of a region as kernels that run one after the other: what loops and conditionals are made of here.
#pragma once

#include <memory>
#include <vector>

#include "ops/region.h"
#include "ops/region_kernels.h"
#include "runtime/kernel.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {

constexpr size_t kRegionAlignment = 64;
constexpr size_t aligned(size_t bytes) { return (bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment; }
template <typename T>
T* aligned(T* address) {
  return reinterpret_cast<T*>(aligned(reinterpret_cast<uintptr_t>(address)));
}

// Kernels of a region, shared by contexts.
class RegionSteps {
 public:
  // `constants`: by input of the region, data null where it is none.
  RegionSteps(const ops::Region& region, const std::vector<ops::RegionKernel>& kernels,
              std::span<const TensorView> constants, Log& log);

  // A constant that a kernel reads packed.
  struct Packed {
    size_t step;
    runtime::PackedForm own;      // its inputs: of the kernel
    runtime::PackedForm form;     // the same with inputs of the region
    std::vector<std::byte> held;  // the packed bytes, where they are kept here
  };
  const std::vector<Packed>& packed() const { return packed_; }
  std::vector<Packed>& packed() { return packed_; }
  void pack(const Packed& packed, std::span<const void* const> sources, void* to) const;
  // Packs into memory of its own: where another kernel reads the constant in another form.
  void packHere(Packed& packed);
  // Whether a step reads an input of the region as it is.
  bool readsRowMajor(size_t input) const;

 private:
  friend class RegionRun;
  struct Step {
    const ops::RegionNode* node;
    size_t firstResult;  // number of its first result among the values
    bool isView;
    std::unique_ptr<runtime::Kernel> kernel;  // null: by the reference
  };
  ops::Region region_;
  std::vector<TensorView> constants_;
  std::vector<Step> steps_;
  std::vector<Packed> packed_;
};

// A region in one context.
class RegionRun {
 public:
  explicit RegionRun(const RegionSteps& steps);
  // Bytes of memory that run() needs. No extent changes from run to run.
  size_t configure(std::span<const runtime::TensorShape> inputs, const SymbolValues& symbols);
  const std::vector<runtime::TensorShape>& outputs() const { return outputs_; }
  // The addresses of the outputs: within `memory`, or those of inputs. They hold until the next run.
  std::span<void* const> run(std::span<void* const> inputs, void* memory, runtime::StreamHandle stream);

 private:
  struct Own {
    std::unique_ptr<runtime::KernelInstance> instance;
    ops::Operator op;  // with the values of symbols, for the reference
    bool isEmpty = false;
    std::vector<size_t> inputs;  // values
    std::vector<TensorView> in, out;
    std::vector<void*> inputAddresses, outputAddresses;
    std::vector<std::pair<size_t, const void*>> held;  // inputs that are read from elsewhere: null where nothing is
  };
  void place();
  const RegionSteps& steps_;
  SymbolValues symbols_;
  std::vector<Own> own_;
  std::vector<runtime::TensorShape> shapes_;  // by value
  std::vector<runtime::TensorShape> outputs_;
  std::vector<size_t> roots_;    // by value: whose memory it has
  std::vector<size_t> offsets_;  // by value
  size_t workspaceAt_ = 0;
  size_t bytes_ = 0;
  std::vector<void*> addresses_;        // by value
  std::vector<void*> outputAddresses_;  // of the region
};

}  // namespace tenon::backends::cpu
