// Two regions with the same inputs as one kernel, and what their kernels read of constants: each constant in all the
// layouts that are read, in one piece of memory.
#pragma once

#include "runtime/region_steps.h"

namespace tenon::runtime {

class RegionsKernel : public Kernel, public Packer {
 public:
  // `first`: operands of the node that are no inputs of the regions. `changing`: inputs of the regions behind those
  // that are not the node's operands in each run, constant or not: states and slices of a loop. `load.constants`: by
  // operand of the node.
  RegionsKernel(std::span<const ops::Region> regions, size_t first, size_t changing, RegionLoad load);

  std::vector<PackedForm> packedForms(Layout output) const override;
  void pack(const PackedForm& form, std::span<const void* const> sources, void* to) const override;
  const RegionSteps& steps(size_t region) const { return *steps_[region]; }

 private:
  // One layout of constants that belong together.
  struct Section {
    const RegionSteps* steps = nullptr;  // null: a constant row-major
    const RegionSteps::Packed* packed = nullptr;
    std::vector<size_t> sources;  // among the inputs of the bundle
    size_t offset = 0;
    size_t bytes = 0;
  };
  struct Bundle {
    PackedForm form;  // its inputs: of the regions
    std::vector<Section> sections;
  };
  std::vector<std::vector<size_t>> groups(size_t inputs) const;
  Bundle bundleOf(std::vector<size_t> inputs, std::span<const TensorView> constants);
  void addPacked(Bundle& bundle, RegionSteps& steps, RegionSteps::Packed& packed, std::string& recipe);

  size_t first_;
  size_t alignment_;
  std::vector<std::unique_ptr<RegionSteps>> steps_;
  std::vector<Bundle> bundles_;
};

}  // namespace tenon::runtime
