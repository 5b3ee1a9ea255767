// Constants of a graph: bytes, or a recipe (an operator over other constants) that is evaluated when bytes are needed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/dims.h"
#include "ops/operator.h"

namespace tenon::graph {

class Constant;
// Shared, because graphs, their copies during passes and the plan writer all refer to the same weights.
using ConstantPtr = std::shared_ptr<const Constant>;

// An immutable tensor in host memory. Folding and packing keep the recipe, so that new weights can be put through it.
class Constant {
 public:
  // Bytes that the constant owns.
  static ConstantPtr own(HostTensor tensor, std::string weights = {});
  // Bytes that somebody else keeps alive as long as the constant lives (the caller's weights during a build).
  static ConstantPtr borrow(const TensorView& view, std::string weights = {});
  static ConstantPtr scalar(DataType dtype, double value);        // rank 0
  static ConstantPtr ofInts(const std::vector<int64_t>& values);  // rank 1, i64
  // Output `output` of op over sources; bytes are computed on first use.
  static ConstantPtr recipe(ops::Operator op, std::vector<ConstantPtr> sources, int output = 0);

  DataType dtype() const noexcept { return dtype_; }
  const Dims& dims() const noexcept { return dims_; }
  int64_t count() const noexcept { return dims_.count(); }
  size_t bytes() const noexcept { return bytesOf(dtype_, dims_.count()); }
  ops::TensorType type() const;  // with contents when it is a small tensor that is followed
  TensorView view() const;       // evaluates a recipe on first use; thread-safe; do not write through it
  // The bytes with what keeps them alive, which is neither the recipe nor its sources. Borrowed ones have no owner
  // (use_count() is 0): they go when the caller's do.
  std::shared_ptr<const void> share() const;

  bool isRecipe() const noexcept { return op_ != nullptr; }
  const ops::Operator& op() const { return *op_; }
  const std::vector<ConstantPtr>& sources() const noexcept { return sources_; }
  const std::string& weights() const noexcept { return weights_; }  // name for refit ("conv1.kernel"), or empty

 private:
  Constant() = default;
  DataType dtype_ = DataType::kF32;
  Dims dims_;
  std::string weights_;
  std::unique_ptr<const ops::Operator> op_;
  std::vector<ConstantPtr> sources_;
  int output_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const HostTensor> owned_;  // null where the bytes are borrowed, or not computed yet
  mutable const void* data_ = nullptr;
};

}  // namespace tenon::graph
