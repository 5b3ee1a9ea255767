// Matmul through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/matmul.h"
#include "runtime/chosen.h"
#include "runtime/keeper.h"

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
  return stridedDesc(extents, strides);
}

class MatMulKernel;

// How the operands are described: the epilogue as post-operations or after the product, constants as the library likes
// them.
struct Way {
  bool inside = true;
  bool packed = true;
};
constexpr Way kWays[] = {{true, true}, {true, false}, {false, true}, {false, false}};

// The operands as oneDNN sees them.
struct Operands {
  memory::desc a, b, y;
  runtime::TensorShape output;
  std::vector<runtime::TensorShape> extras;
  bool inside = false;
  bool packed = false;
};

class MatMulInstance final : public runtime::KernelInstance, public runtime::Chosen {
 public:
  explicit MatMulInstance(const MatMulKernel& kernel);
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;
  std::string_view implementation() const override { return implementation_; }
  bool isPlain() const override { return speedOf(implementation_) == Speed::kPlain; }

 private:
  using Primitive = dnnl::matmul::primitive_desc;
  Operands describe(const runtime::Shapes& shapes, const Way& way) const;
  size_t make(const runtime::Shapes& shapes, const Choice<Primitive>& choice);
  const MatMulKernel& kernel_;
  Epilogue epilogue_;
  DnnlCall call_;
  std::vector<void*> slots_;
  std::string implementation_;
  bool empty_ = false;
};

class MatMulKernel final : public runtime::Kernel, public runtime::Keeper {
 public:
  MatMulKernel(const ops::MatMul& op, const runtime::KernelLoad& load)
      : op(op), demand{load.record.params, load.trial}, b(load.constants[1]) {
    if (b.data != nullptr)
      weights = std::make_unique<PackedWeights>(operandDesc(b.dims, op.transposeB, b.dims.rank),
                                                load.sizesOnly ? nullptr : b.data);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<MatMulInstance>(*this);
  }
  runtime::Hold holds(size_t input) const override {
    return input == 1 && weights != nullptr && weights->holdsAll() ? runtime::Hold::kRestorable
                                                                   : runtime::Hold::kNothing;
  }
  void release(size_t) const override { weights->release(); }
  void restore(size_t, void* to) const override { weights->restore(to); }

  ops::MatMul op;
  DnnlDemand demand;
  TensorView b;
  std::unique_ptr<PackedWeights> weights;
};

MatMulInstance::MatMulInstance(const MatMulKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

Operands MatMulInstance::describe(const runtime::Shapes& shapes, const Way& way) const {
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
  Operands o;
  o.inside = way.inside;
  o.packed = way.packed && kernel_.weights != nullptr && b.dims.rank == rank;
  o.a = operandDesc(aDims, kernel_.op.transposeA, rank);
  o.b = operandDesc(b.dims, kernel_.op.transposeB, rank);
  o.y = operandDesc(yDims, false, rank);
  if (o.packed) o.b = memory::desc(extentsOf(o.b), memory::data_type::f32, memory::format_tag::any);

  // Post-operations see the flat shapes; an operand per column is one "per channel" there.
  o.extras.assign(extras.begin(), extras.end());
  for (auto& extra : o.extras) {
    if (!flat && extra.dims.rank == rank) continue;
    if (extra.dims == y.dims) {
      extra.dims = yDims;
    } else if (extra.dims.count() == 1 || extra.dims.count() == extra.dims[extra.dims.rank - 1]) {
      Dims dims;
      for (int i = 0; i + 1 < rank; ++i) dims.push(1);
      dims.push(extra.dims.count());
      extra.dims = dims;
    } else {
      o.inside = false;
    }
  }
  if (!o.inside) o.extras.assign(extras.begin(), extras.end());
  o.output = o.inside ? runtime::TensorShape{y.dtype, yDims, Layout::kLinear} : y;
  return o;
}

size_t MatMulInstance::make(const runtime::Shapes& shapes, const Choice<Primitive>& choice) {
  const auto& primitive = choice.primitive;
  const auto o = describe(shapes, kWays[choice.way]);
  epilogue_.configure(o.extras, o.output, o.inside);
  implementation_ = choice.name();
  call_.reset(dnnl::matmul(primitive));
  call_.bind(DNNL_ARG_SRC, o.a, 0);
  if (o.packed) {
    call_.fix(DNNL_ARG_WEIGHTS, kernel_.weights->get(primitive.weights_desc()));
  } else {
    call_.bind(DNNL_ARG_WEIGHTS, o.b, 1);
  }
  epilogue_.bind(call_, o.extras, 2);
  const int outputSlot = static_cast<int>(shapes.inputs.size());
  call_.bind(DNNL_ARG_DST, o.y, outputSlot);
  call_.bind(DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), outputSlot + 1);
  slots_.assign(shapes.inputs.size() + 2, nullptr);
  return primitive.scratchpad_desc().get_size();
}

size_t MatMulInstance::configure(const runtime::Shapes& shapes) {
  const auto& a = shapes.inputs[0].dims;
  const int64_t depth = a[a.rank - (kernel_.op.transposeA ? 2 : 1)];
  implementation_.clear();
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  if (depth == 0) throw Unsupported("oneDNN does not support a matmul with K = 0");
  const auto showWay = [&](size_t way, const auto& see) {
    const auto o = describe(shapes, kWays[way]);
    eachImplementation<dnnl::matmul>(see, epilogue_.configure(o.extras, o.output, o.inside), o.a, o.b, o.y);
  };
  Ways<Primitive, decltype(showWay)> ways(std::size(kWays), showWay);
  // On several threads oneDNN cuts sums into pieces by their number, and rounding with them.
  const auto choice = choose(ways, kernel_.demand, [](std::string_view) { return true; });
  if (!choice)
    throw Unsupported("oneDNN refuses matmul of {} and {}: {}", a.text(), shapes.inputs[1].dims.text(), ways.refusal());
  const platform::SerialScope scope(true);
  call_.setAlone(true);
  return make(shapes, choice->first);
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
