// Convolutions over channels-last images that share their input and window: tiles of pixels times panels of output
// channels. Most often it is one; of several, each panel is of one or, where few columns are left of each, of several.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "core/dims.h"
#include "ops/op/convolution.h"
#include "runtime/kernel.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {

// One of the convolutions, and where its operands stand among the inputs of the kernel.
struct ConvolutionPart {
  ops::Convolution op;
  std::vector<size_t> inputs;  // x, weights, bias if it has one, operands of the epilogue
};

class ConvolutionTiles final : public runtime::Kernel, public runtime::Packer {
 public:
  // Throws Unsupported where weights or biases are no constants or the convolutions do not go together.
  ConvolutionTiles(std::vector<ConvolutionPart> parts, const runtime::KernelLoad& load);
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  // All weights together: [panel][tap, channel][column].
  std::vector<runtime::PackedForm> packedForms(Layout output) const override;
  void pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const override;
  void restore(const runtime::PackedForm& form, size_t position, const void* packed, void* to) const override;

  // Columns of a panel that belong to one part.
  struct Segment {
    size_t part = 0;
    int64_t column = 0;  // of the part's result
    int64_t at = 0;      // in the panel
    int64_t count = 0;
  };
  struct Panel {
    int64_t group = 0;
    std::vector<Segment> segments;
    bool hasHalves = false;  // of its last columns, each for two rows
  };

  const std::vector<ConvolutionPart>& parts() const noexcept { return parts_; }
  const ops::Convolution& op() const noexcept { return parts_[0].op; }  // what all have in common
  const Dims& weights(size_t part = 0) const noexcept { return weights_[part]; }
  const std::vector<Panel>& panels() const noexcept { return panels_; }
  int64_t panelFloats() const noexcept { return panelFloats_; }
  const float* biasOf(int64_t panel) const noexcept;  // null where no part has one

 private:
  void divide();
  void addBias(const runtime::KernelLoad& load);

  std::vector<ConvolutionPart> parts_;
  std::vector<Dims> weights_;  // of each part
  std::vector<Panel> panels_;
  int64_t panelFloats_ = 0;
  std::vector<float> bias_;  // [panel][column]; empty without
};

}  // namespace tenon::backends::cpu
