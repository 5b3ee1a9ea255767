// Matmul through oneDNN.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/dnnl/dnnl_choice.h"
#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/dnnl_weights.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "backends/cpu/kernels/dnnl/window_slices.h"
#include "core/error.h"
#include "ops/op/matmul.h"
#include "runtime/chosen.h"
#include "runtime/keeper.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// The operand as a tensor of `rank` axes (leading ones of extent 1), transposed where asked, in row-major memory.
struct Strided {
  memory::dims extents, strides;
  memory::desc desc() const { return stridedDesc(extents, strides); }
  // The part from `begin` on of an axis, and the bytes in front of it; all of it where the axis is broadcast.
  std::pair<Strided, int64_t> part(size_t axis, int64_t begin, int64_t count) const {
    Strided result = *this;
    if (extents[axis] == 1) return {result, 0};
    result.extents[axis] = count;
    return {result, begin * strides[axis] * static_cast<int64_t>(sizeof(float))};
  }
};

Strided operand(const Dims& dims, bool transposed, int rank) {
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
  return {extents, strides};
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
  Strided a, b, y;
  runtime::TensorShape output;
  std::vector<runtime::TensorShape> extras;
  bool inside = false;
  bool packed = false;
  memory::desc bDesc() const {
    return packed ? memory::desc(b.extents, memory::data_type::f32, memory::format_tag::any) : b.desc();
  }
};

// A part of the result along one axis of it.
struct Part {
  size_t axis = 0;
  int64_t begin = 0;
  int64_t count = 0;
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
  template <typename See>
  void show(const Operands& operands, const See& see) const;
  // Makes the calls for so many parts; false where the chosen implementation does not compute them.
  bool make(const Operands& whole, const Choice<Primitive>& choice, int64_t parts);
  const MatMulKernel& kernel_;
  Epilogue epilogue_;
  DnnlCalls calls_;
  std::vector<void*> slots_;
  std::string implementation_;
  bool empty_ = false;
};

class MatMulKernel final : public runtime::Kernel, public runtime::Keeper {
 public:
  MatMulKernel(const ops::MatMul& op, const runtime::KernelLoad& load)
      : op(op), demand{load.record.params, load.trial}, b(load.constants[1]) {
    if (b.data != nullptr)
      weights = std::make_unique<PackedWeights>(operand(b.dims, op.transposeB, b.dims.rank).desc(),
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
  o.a = operand(aDims, kernel_.op.transposeA, rank);
  o.b = operand(b.dims, kernel_.op.transposeB, rank);
  o.y = operand(yDims, false, rank);

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

template <typename See>
void MatMulInstance::show(const Operands& o, const See& see) const {
  Epilogue epilogue(kernel_.op.epilogue);
  const auto attributes = o.inside ? epilogue.configure(o.extras, o.output, true) : Epilogue::withoutOps();
  eachImplementation<dnnl::matmul>(see, attributes, o.a.desc(), o.bDesc(), o.y.desc());
}

// The axis that parts of the result are cut along: the first one that is not 1, of matrices or of rows.
size_t axisOfParts(const Operands& o) {
  size_t axis = 0;
  while (axis + 2 < o.y.extents.size() && o.y.extents[axis] == 1) ++axis;
  return axis;
}

// Numbers of parts, from the one that is expected to be the fastest.
std::vector<int64_t> partCounts(const Operands& o) {
  const auto elements = [](const Strided& tensor) {
    int64_t count = 1;
    for (const int64_t extent : tensor.extents) count *= extent;
    return count;
  };
  const size_t axis = axisOfParts(o);
  const int64_t extent = o.y.extents[axis];
  const auto activations = static_cast<int64_t>(sizeof(float)) * (elements(o.a) + elements(o.y));
  const auto weights = static_cast<int64_t>(sizeof(float)) * elements(o.b);
  const bool sharesB = o.b.extents[axis] == 1 || axis + 2 == o.y.extents.size();
  const double operations = static_cast<double>(elements(o.y)) * static_cast<double>(o.a.extents.back());
  std::vector<std::pair<double, int64_t>> priced{{priceOf(slicePrice(operations, activations, weights), 1), 1}};
  for (const int64_t parts : kPartCounts) {
    if (parts > extent) break;
    const int64_t longest = (extent + parts - 1) / parts;
    const double share = static_cast<double>(longest) / static_cast<double>(extent);
    const double slice =
        slicePrice(operations * share, activations / extent * longest, sharesB ? weights : weights / extent * longest);
    priced.emplace_back(priceOf(slice, parts), parts);
  }
  std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int64_t> counts;
  for (const auto& [price, parts] : priced) counts.push_back(parts);
  return counts;
}

// Operands of the epilogue for a part; false where one of them changes along the axis otherwise than the result.
bool cutExtras(const Operands& whole, const Part& part, Operands& to, std::vector<int64_t>& offsets) {
  for (const auto& extra : whole.extras) {
    auto mine = extra;
    int64_t offset = 0;
    if (extra.dims == whole.output.dims) {
      mine.dims[static_cast<int>(part.axis)] = part.count;
      offset = part.begin * whole.y.strides[part.axis] * static_cast<int64_t>(sizeof(float));
    } else if (extra.dims.count() != 1 && extra.dims.count() != extra.dims[extra.dims.rank - 1]) {
      return false;
    }
    to.extras.push_back(mine);
    offsets.push_back(offset);
  }
  return true;
}

bool MatMulInstance::make(const Operands& whole, const Choice<Primitive>& choice, int64_t parts) {
  const size_t axis = axisOfParts(whole);
  const bool isRows = axis + 2 == whole.y.extents.size();
  const int64_t extent = whole.y.extents[axis];
  const int outputSlot = static_cast<int>(slots_.size()) - 1;
  std::optional<memory> weights;
  if (whole.packed) weights = kernel_.weights->get(choice.primitive.weights_desc());
  calls_.clear();
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = partBegin(extent, parts, i);
    const Part part{axis, begin, partBegin(extent, parts, i + 1) - begin};
    Operands o = whole;
    int64_t offsets[3] = {};
    std::vector<int64_t> extraOffsets(whole.extras.size());
    if (parts > 1) {
      std::tie(o.a, offsets[0]) = whole.a.part(axis, part.begin, part.count);
      if (!isRows) std::tie(o.b, offsets[1]) = whole.b.part(axis, part.begin, part.count);
      std::tie(o.y, offsets[2]) = whole.y.part(axis, part.begin, part.count);
      if (whole.inside) o.output.dims = Dims::of(o.y.extents);
      o.extras.clear();
      extraOffsets.clear();
      if (whole.inside && !cutExtras(whole, part, o, extraOffsets)) return false;
    }
    const auto showPart = [&](size_t, const auto& see) { show(o, see); };
    Ways<Primitive, decltype(showPart)> ways(1, showPart);
    const auto found =
        parts == 1 ? std::optional(choice) : ways.find([&](std::string_view name) { return name == implementation_; });
    if (!found) return false;
    const auto& primitive = found->primitive;
    auto& call = calls_.add(dnnl::matmul(primitive));
    call.bind(DNNL_ARG_SRC, o.a.desc(), 0, offsets[0]);
    if (weights) {
      if (axis != 0 && offsets[1] != 0) return false;
      const auto mine = partOf(*weights, primitive.weights_desc(), offsets[1] != 0 ? begin : 0);
      if (!mine) return false;
      call.fix(DNNL_ARG_WEIGHTS, *mine);
    } else {
      call.bind(DNNL_ARG_WEIGHTS, o.b.desc(), 1, offsets[1]);
    }
    if (whole.inside) {
      Epilogue epilogue(kernel_.op.epilogue);
      epilogue.configure(o.extras, o.output, true);
      if (!epilogue.isInside()) return false;
      epilogue.bind(call, o.extras, 2, extraOffsets);
    }
    call.bind(DNNL_ARG_DST, o.y.desc(), outputSlot, offsets[2]);
    call.bindScratch(primitive.scratchpad_desc());
  }
  return true;
}

size_t MatMulInstance::configure(const runtime::Shapes& shapes) {
  const auto& a = shapes.inputs[0].dims;
  const int64_t depth = a[a.rank - (kernel_.op.transposeA ? 2 : 1)];
  implementation_.clear();
  empty_ = shapes.outputs[0].dims.count() == 0;
  if (empty_) return 0;
  if (depth == 0) throw Unsupported("oneDNN does not support a matmul with K = 0");
  slots_.assign(shapes.inputs.size() + 1, nullptr);
  const auto showWay = [&](size_t way, const auto& see) { show(describe(shapes, kWays[way]), see); };
  Ways<Primitive, decltype(showWay)> ways(std::size(kWays), showWay);
  const auto choice = choose(ways, kernel_.demand);
  if (!choice)
    throw Unsupported("oneDNN refuses matmul of {} and {}: {}", a.text(), shapes.inputs[1].dims.text(), ways.refusal());
  const DnnlScope scope;
  implementation_ = choice->name();
  auto whole = describe(shapes, kWays[choice->way]);
  epilogue_.configure(whole.extras, whole.output, whole.inside);
  whole.inside = epilogue_.isInside();
  for (const int64_t parts : partCounts(whole)) {
    if (make(whole, *choice, parts)) break;
  }
  return calls_.workspaceBytes();
}

void MatMulInstance::launch(const runtime::LaunchArguments& arguments) {
  if (empty_) return;
  const size_t inputs = slots_.size() - 1;
  for (size_t i = 0; i < inputs; ++i) slots_[i] = arguments.inputs[i];
  slots_[inputs] = arguments.outputs[0];
  calls_.run(slots_.data(), arguments.workspace);
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
