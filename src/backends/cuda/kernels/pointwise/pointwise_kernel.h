// Generated pointwise code on the device, and its launches: for pointwise nodes and for epilogues in place.
#pragma once

#include <memory>
#include <span>

#include "backends/cuda/kernels/pointwise/pointwise_form.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// A loaded module. `code` is machine code for this chip, or empty: then it is compiled here.
class GeneratedPointwise {
 public:
  GeneratedPointwise(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output,
                     std::span<const std::byte> code)
      : GeneratedPointwise({expr, {}, inputs, std::span(&output, 1)}, code) {}
  GeneratedPointwise(const PointwiseForm& form, std::span<const std::byte> code);
  CUfunction packed() const noexcept { return packed_; }
  CUfunction single() const noexcept { return single_; }
  CUfunction wide() const noexcept { return wide_; }
  int pack() const noexcept { return pack_; }

 private:
  Module module_;
  CUfunction packed_;
  CUfunction single_;
  CUfunction wide_;
  int pack_;
};

class PointwiseLauncher {
 public:
  explicit PointwiseLauncher(std::shared_ptr<const GeneratedPointwise> code) : code_(std::move(code)) {}
  // Outputs have one shape and format.
  void configure(std::span<const runtime::TensorShape> inputs, std::span<const runtime::TensorShape> outputs);
  void configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output) {
    configure(inputs, std::span(&output, 1));
  }
  // The halves of this axis of input 0, whose shape is the output's, have changed places.
  void configureSwapped(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output, int axis);
  // Of input i the elements starts[i], .. of this axis, where that is not negative: they have the outputs' shape.
  void configureSliced(std::span<const runtime::TensorShape> inputs, std::span<const runtime::TensorShape> outputs,
                       int axis, std::span<const int64_t> starts);
  void launch(void* const* inputs, void* const* outputs, void* stream);
  void launch(void* const* inputs, void* output, void* stream) { launch(inputs, &output, stream); }

 private:
  // Of the outputs and then the inputs within the space.
  void arrange(const Dims& space, const std::vector<Strides>& operands, std::span<const runtime::TensorShape> inputs,
               std::span<const runtime::TensorShape> outputs);
  bool packs() const;  // the addresses allow whole packs
  void fillSpace();    // for what packed_ says

  std::shared_ptr<const GeneratedPointwise> code_;
  PointwiseLaunch parameters_;
  size_t outputs_ = 1;
  LoopSpace space_;
  LoopSpace packs_;   // the part of it that is whole packs
  int64_t tail_ = 0;  // and what is left
  bool packable_ = false;
  bool packed_ = false;  // what parameters_.space is set for
  int64_t count_ = 0;
  // By input, of the first ones: bytes from its address to the element that belongs to the first one of the output.
  std::vector<int64_t> firstBytes_;
  std::vector<size_t> packBytes_;  // by operand: bytes to which its address must be aligned
};

}  // namespace tenon::backends::cuda
