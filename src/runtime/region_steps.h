// The operators of a region as kernels that run one after the other: what loops and conditionals are made of on every
// device.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ops/region.h"
#include "ops/region_kernels.h"
#include "runtime/kernel.h"
#include "runtime/packer.h"

namespace tenon::runtime {

// What a backend says about itself and the constants of a region when its kernels are loaded.
struct RegionLoad {
  std::string_view backend;
  std::unique_ptr<Kernel> (*load)(const KernelLoad& load);  // by name and version; throws Unsupported
  size_t alignment;                                         // of values in memory; a power of two
  std::span<const TensorView> constants;                    // by input of the region, data null where it is none
  const KernelLoad& owner;                                  // of the loop or conditional
};

// Kernels of a region, shared by contexts.
class RegionSteps {
 public:
  RegionSteps(const ops::Region& region, const std::vector<ops::RegionKernel>& kernels, const RegionLoad& load);

  // Where a constant lies: behind the address of an input of the region.
  struct Place {
    size_t input = 0;
    size_t offset = 0;
  };
  // A constant that a kernel reads packed.
  struct Packed {
    size_t step;
    PackedForm own;   // its inputs: of the kernel
    PackedForm form;  // the same with inputs of the region
    Place place;
  };
  const std::vector<Packed>& packed() const { return packed_; }
  std::vector<Packed>& packed() { return packed_; }
  void pack(const Packed& packed, std::span<const void* const> sources, void* to) const;
  // Whether a step reads an input of the region as it is.
  bool readsRowMajor(size_t input) const;
  void setRowMajor(size_t input, Place place) { rowMajor_.emplace_back(input, place); }

 private:
  friend class RegionRun;
  struct Step {
    const ops::RegionNode* node;
    size_t firstResult;  // number of its first result among the values
    bool isView;
    std::unique_ptr<Kernel> kernel;  // null: by the reference
  };
  ops::Region region_;
  size_t alignment_;
  std::vector<Step> steps_;
  std::vector<Packed> packed_;
  std::vector<std::pair<size_t, Place>> rowMajor_;  // inputs that do not lie where their own address says
};

// A region in one context.
class RegionRun {
 public:
  explicit RegionRun(const RegionSteps& steps);
  // Bytes of memory that run() needs. No extent changes from run to run but those that follow from sizes which the
  // region computes, on the host alone: what depends on them is made ready, and has memory of its own, as it runs. With
  // `placed`, results that a step computes have no memory of their own: place() says where they go.
  size_t configure(std::span<const TensorShape> inputs, const SymbolValues& symbols, bool placed = false);
  const std::vector<TensorShape>& outputs() const { return outputs_; }
  // The value whose memory an output has: an input of the region, where that is less than their number, or a result.
  size_t rootOf(size_t output) const { return roots_[static_cast<size_t>(steps_.region_->outputs[output])]; }
  // Whether place() counts for it.
  bool isComputed(size_t output) const {
    return rootOf(output) >= static_cast<size_t>(steps_.region_->inputs) && !isLate(output) && !isLate_[rootOf(output)];
  }
  // Whether its extents are known behind a run only.
  bool isLate(size_t output) const { return isLate_[static_cast<size_t>(steps_.region_->outputs[output])]; }
  void place(size_t root, void* address) { placed_[root] = address; }
  // The addresses of the outputs: within `memory`, those of inputs, or as placed. They hold until the next run.
  std::span<void* const> run(std::span<void* const> inputs, void* memory, StreamHandle stream);
  // Of the steps that run() launches.
  const KernelInstance* instance(size_t step) const {
    return own_[step].isEmpty || own_[step].isPart ? nullptr : own_[step].instance.get();
  }
  size_t stepCount() const { return own_.size(); }

 private:
  struct Own {
    explicit Own(ops::Operator itsOp) : op(std::move(itsOp)) {}
    std::unique_ptr<KernelInstance> instance;
    ops::Operator op;  // with the values of symbols, for the reference
    bool isEmpty = false;
    bool isPart = false;         // nothing is computed: its result lies within its operand
    bool isLate = false;         // needs a size of the region
    bool isByReference = false;  // of these extents, because the kernel does not support them
    uint64_t configured = 0;     // late ones: the version of the sizes that it is ready for
    std::vector<size_t> inputs;  // values
    std::vector<TensorView> in, out;
    std::vector<void*> inputAddresses, outputAddresses;
  };
  // Memory that grows.
  class Buffer {
   public:
    void* atLeast(size_t bytes, size_t alignment);
    void* data() const { return data_; }

   private:
    std::vector<std::byte> bytes_;
    void* data_ = nullptr;
  };
  size_t configureStep(size_t step);
  void configureLate(size_t step);
  void readSize(size_t step);
  void layOut(bool placed);
  void findParts();
  void findAddresses(std::span<void* const> inputs, char* base);
  const RegionSteps& steps_;
  SymbolValues symbols_;
  std::vector<Own> own_;
  std::vector<TensorShape> shapes_;  // by value
  std::vector<TensorShape> outputs_;
  std::vector<size_t> roots_;    // by value: whose memory it has
  std::vector<size_t> shifts_;   // by value: bytes behind the beginning of that
  std::vector<size_t> offsets_;  // by value
  std::vector<void*> placed_;    // by value; null: at its offset
  size_t workspaceAt_ = 0;
  size_t bytes_ = 0;
  std::vector<void*> addresses_;        // by value
  std::vector<void*> outputAddresses_;  // of the region
  const std::set<std::string> sizes_;   // that the region computes
  uint64_t sizesVersion_ = 1;           // changes with their values
  std::vector<bool> isLate_;            // by value
  std::vector<Buffer> lateMemory_;      // by value
  Buffer lateWorkspace_;
};

}  // namespace tenon::runtime
