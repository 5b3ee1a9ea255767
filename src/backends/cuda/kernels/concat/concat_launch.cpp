// Concatenation: all parts whose rows move in packs of one width by one launch.
#include "ops/op/concat.h"

#include "backends/cuda/kernels/concat/concat_instance.h"

namespace tenon::backends::cuda {
namespace {

class PlainConcat final : public ConcatInstance {
 public:
  static Code code(const ops::Concat&, const Types&) {
    return {"", {}, "#include \"copy.cu\"\n#include \"concat.cu\"\n"};
  }
  PlainConcat(const ops::Concat& op, const Types&, const Module& module) : ConcatInstance(op.axis, {}, module) {}
};

}  // namespace

KernelRow kernelRow_concat() { return ownRow<ops::Concat, PlainConcat>("concat", 2); }

}  // namespace tenon::backends::cuda
