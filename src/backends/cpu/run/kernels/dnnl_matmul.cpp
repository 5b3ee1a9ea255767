// Matrix products through oneDNN.
#include "backends/cpu/run/dnnl_common.h"
#include "backends/cpu/run/dnnl_version.h"
#include "backends/cpu/run/dnnl_weights.h"
#include "backends/cpu/run/kernel_row.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// The operand as a tensor of `rank` axes (leading ones of extent 1), transposed where asked, in row-major memory.
memory::desc operandDesc(const Dims& dims, bool transposed, int rank) {
  memory::dims extents(static_cast<size_t>(rank), 1);
  memory::dims strides(static_cast<size_t>(rank), std::max<int64_t>(dims.count(), 1));
  const auto own = dims.strides();
  for (int axis = 0; axis < dims.rank; ++axis) {
    extents[static_cast<size_t>(axis + rank - dims.rank)] = dims[axis];
    strides[static_cast<size_t>(axis + rank - dims.rank)] = own[static_cast<size_t>(axis)];
  }
  if (transposed) {
    std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  return {extents, memory::data_type::f32, strides};
}

class MatMulKernel;

class MatMulInstance final : public runtime::KernelInstance {
 public:
  explicit MatMulInstance(const MatMulKernel& kernel);
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;

 private:
  size_t make(const runtime::Shapes& shapes, bool inside, bool packed);
  const MatMulKernel& kernel_;
  Epilogue epilogue_;
  DnnlCall call_;
  std::vector<void*> slots_;
  bool empty_ = false;
};

class MatMulKernel final : public runtime::Kernel {
 public:
  MatMulKernel(const ops::MatMul& op, const runtime::KernelLoad& load) : op(op), b(load.constants[1]) {
    if (b.data != nullptr) weights = std::make_unique<PackedWeights>(operandDesc(b.dims, op.transposeB, b.dims.rank), load.sizesOnly ? nullptr : b.data);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return std::make_unique<MatMulInstance>(*this); }

  ops::MatMul op;
  TensorView b;
  std::unique_ptr<PackedWeights> weights;
};

MatMulInstance::MatMulInstance(const MatMulKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

size_t MatMulInstance::make(const runtime::Shapes& shapes, bool inside, bool packed) {
  const auto& a = shapes.inputs[0];
  const auto& b = shapes.inputs[1];
  const auto& y = shapes.outputs[0];
  const auto extras = shapes.inputs.subspan(2);
  // A two-dimensional b meets all rows of a at once.
  const bool flat = b.dims.rank == 2 && !kernel_.op.transposeA && a.dims.rank > 2;
  const int rank = flat ? 2 : y.dims.rank;
  Dims aDims = a.dims;
  Dims yDims = y.dims;
  if (flat) {
    aDims = {a.dims.count(0, a.dims.rank - 1), a.dims[a.dims.rank - 1]};
    yDims = {y.dims.count(0, y.dims.rank - 1), y.dims[y.dims.rank - 1]};
  }
  const auto aDesc = operandDesc(aDims, kernel_.op.transposeA, rank);
  auto bDesc = operandDesc(b.dims, kernel_.op.transposeB, rank);
  const auto yDesc = operandDesc(yDims, false, rank);
  const bool usePacked = packed && kernel_.weights != nullptr && b.dims.rank == rank;
  if (usePacked) bDesc = memory::desc(extentsOf(bDesc), memory::data_type::f32, memory::format_tag::any);

  // Post-operations see the flat shapes; an operand per column is one "per channel" there.
  std::vector<runtime::TensorShape> flatExtras(extras.begin(), extras.end());
  for (auto& extra : flatExtras) {
    if (!flat && extra.dims.rank == rank) continue;
    if (extra.dims == y.dims) {
      extra.dims = yDims;
    } else if (extra.dims.count() == 1 || extra.dims.count() == extra.dims[extra.dims.rank - 1]) {
      Dims dims;
      for (int i = 0; i + 1 < rank; ++i) dims.push(1);
      dims.push(extra.dims.count());
      extra.dims = dims;
    } else {
      inside = false;
    }
  }
  const auto attributes = epilogue_.configure(inside ? std::span<const runtime::TensorShape>(flatExtras) : extras,
                                              inside ? runtime::TensorShape{y.dtype, yDims, Format::kLinear} : y, inside);
  const auto primitive = describe<dnnl::matmul>(attributes, aDesc, bDesc, yDesc);
  call_.reset(dnnl::matmul(primitive));
  call_.bind(DNNL_ARG_SRC, aDesc, 0);
  if (usePacked) {
    call_.fix(DNNL_ARG_WEIGHTS, kernel_.weights->get(primitive.weights_desc()));
  } else {
    call_.bind(DNNL_ARG_WEIGHTS, bDesc, 1);
  }
  epilogue_.bind(call_, flatExtras, 2);
  const int outputSlot = static_cast<int>(shapes.inputs.size());
  call_.bind(DNNL_ARG_DST, yDesc, outputSlot);
  call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), outputSlot + 1);
  slots_.assign(shapes.inputs.size() + 2, nullptr);
  return primitive.scratchpad_desc().get_size();
}

size_t MatMulInstance::configure(const runtime::Shapes& shapes) {
  const auto& a = shapes.inputs[0].dims;
  const int64_t depth = a[a.rank - (kernel_.op.transposeA ? 2 : 1)];
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  if (depth == 0) throw Unsupported("oneDNN multiplies no matrices with an inner extent of 0");
  // On several threads oneDNN cuts sums into pieces by their number, and rounding with them.
  const platform::SerialScope scope(true);
  call_.setAlone(true);
  std::string reason;
  for (const bool inside : {true, false}) {
    for (const bool packed : {true, false}) {
      try {
        return make(shapes, inside, packed);
      } catch (const dnnl::error& error) {
        reason = error.what();
      }
    }
  }
  throw Unsupported("oneDNN refuses matmul of {} and {}: {}", a.text(), shapes.inputs[1].dims.text(), reason);
}

void MatMulInstance::launch(const runtime::LaunchArguments& arguments) {
  if (empty_) return;
  const size_t inputs = slots_.size() - 2;
  for (size_t i = 0; i < inputs; ++i) slots_[i] = arguments.inputs[i];
  slots_[inputs] = arguments.outputs[0];
  slots_[inputs + 1] = arguments.workspace;
  call_.run(slots_.data());
  epilogue_.finish(arguments.inputs + 2, arguments.outputs[0]);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::MatMul>();
  if (description == nullptr) throw Unsupported("cpu.{} cannot compute {}", request.record.name, op.name());
  return std::make_unique<MatMulKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_dnnl_matmul() { return {"dnnl_matmul", 1, &load}; }

}  // namespace tenon::backends::cpu
