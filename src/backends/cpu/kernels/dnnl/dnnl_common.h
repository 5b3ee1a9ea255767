// What the kernels over oneDNN share: the engine, memory descriptors of our formats, post-operations of epilogues.
#pragma once

#include <dnnl.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/dnnl/dnnl_call.h"
#include "ops/scalar.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

const dnnl::engine& dnnlEngine();
dnnl::stream& dnnlStream();  // of the calling thread

// f32 tensor in any format; blocked ones for images whose channels fill whole blocks, so that nothing is padded.
dnnl::memory::desc dnnlDesc(const Dims& dims, Layout format);

// The stride of a window that lies in one place along an axis, with that padding behind it: of any size, so as small as
// oneDNN takes, for which stride and padding have a positive sum.
constexpr int64_t untakenStride(int64_t stride, int64_t after) {
  return std::min(stride, std::max<int64_t>(1, 1 - after));
}

// Throws Unsupported where a stride, dilation or padding of a window is beyond a million: oneDNN 2.6 generates code
// with 32-bit offsets of them, and crashes.
void checkWindow(std::initializer_list<const dnnl::memory::dims*> steps);

// The tensor in another strided format where the bytes are the same, because an image has one channel or one pixel.
// oneDNN has kernels for channels-last that it does not look for behind the strides of row-major images. Its cache of
// descriptions takes no notice of the strides of axes of extent 1, so that it did find them in a process that had
// described the other format before: each tensor must be described in one way, whatever its format.
runtime::TensorShape readAs(const runtime::TensorShape& shape, Layout format);

// The strides of axes of extent 1 as they are in row-major memory, for the same reason.
dnnl::memory::desc stridedDesc(const dnnl::memory::dims& extents, dnnl::memory::dims strides);

// An epilogue as oneDNN's post-operations, when it is a chain that they can express.
struct PostOps {
  dnnl::post_ops ops;
  struct Binary {
    int position;  // index of the post-operation
    int input;     // x-number in the expression, from 1
    bool prelu;    // takes slopes per channel
  };
  std::vector<Binary> binaries;
  bool slopes = false;
};
// `extras` are the shapes of x1, x2, ...; nothing when the chain does not fit. `slopes`: a leaky relu may have one per
// channel.
std::optional<PostOps> toPostOps(const ops::ScalarExpr& expr, std::span<const runtime::TensorShape> extras,
                                 const runtime::TensorShape& output, bool slopes);

// The epilogue of a contraction over oneDNN: as post-operations inside the primitive where they can express it, else by
// the block-wise runner over the result in place.
class Epilogue {
 public:
  explicit Epilogue(const ops::ScalarExpr& expr, bool slopes = false) : expr_(expr), runner_(expr), slopes_(slopes) {}
  // Chooses; the attributes are for the primitive. With `allowInside` false the runner does it all.
  dnnl::primitive_attr configure(std::span<const runtime::TensorShape> extras, const runtime::TensorShape& output,
                                 bool allowInside);
  // For a primitive beside which nothing is computed, or something by another object.
  static dnnl::primitive_attr withoutOps();
  bool isInside() const noexcept { return inside_.has_value(); }
  // Binds the extra operands of the post-operations; slot of x1 is firstSlot. `offsets`: bytes in front of each
  // operand, none where empty.
  void bind(DnnlCall& call, std::span<const runtime::TensorShape> extras, int firstSlot,
            std::span<const int64_t> offsets = {}) const;
  // After the primitive: what was not inside it.
  void finish(void* const* extras, void* output) const;

 private:
  ops::ScalarExpr expr_;
  PointwiseRunner runner_;
  bool slopes_;  // see toPostOps
  std::optional<PostOps> inside_;
  runtime::TensorShape output_;
  size_t extraCount_ = 0;
};

}  // namespace tenon::backends::cpu
