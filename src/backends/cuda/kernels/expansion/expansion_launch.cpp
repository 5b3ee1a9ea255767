// A pointwise convolution together with the depthwise convolution behind it: launches.
#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/expansion/expansion.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

// Parameters are "shape types".
struct Record {
  explicit Record(const plan::KernelRecord& record) : op(ops::Operator::parse(record.op)) {
    if (!op.refusal.empty()) throw Unsupported("cuda.expansion: {}", op.refusal);
    const ShapeAndTypes params(record);
    shape = ExpansionShape::parse(params.shape);
    type = params.types.inputs.at(0);
    if (type != DataType::kF16 && type != DataType::kBF16)
      throw Unsupported("cuda.expansion: images of {}", name(type));
  }
  ExpansionOp op;
  ExpansionShape shape;
  DataType type;
};

class ExpansionInstance final : public runtime::KernelInstance {
 public:
  ExpansionInstance(const Record& record, CUfunction function) : record_(record), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    images_ = 0;
    const auto& x = shapes.inputs[0].dims;
    const auto& y = shapes.outputs[0].dims;
    if (y.count() == 0) return 0;
    auto refusal = record_.op.shapesRefusal(shapes);
    const auto& shape = record_.shape;
    const auto& v = shapes.inputs[record_.op.secondWeights()].dims;
    if (refusal.empty() && (shapes.inputs[0].dtype != record_.type || x[1] != shape.inputs || y[1] != shape.channels ||
                            v[2] != shape.height || v[3] != shape.width))
      refusal = fmt::format("an image {} of {}, which the kernel was not compiled for", x.text(),
                            name(shapes.inputs[0].dtype));
    if (!refusal.empty()) throw Unsupported("cuda.expansion: {}", refusal);
    auto& p = parameters_;
    images_ = static_cast<unsigned>(x[0]);
    p.height = static_cast<int32_t>(x[2]);
    p.width = static_cast<int32_t>(x[3]);
    p.rows = static_cast<int32_t>(y[2]);
    p.columns = static_cast<int32_t>(y[3]);
    p.channels = static_cast<int32_t>(y[1]);
    p.top = static_cast<int32_t>(record_.op.padding(0));
    p.left = static_cast<int32_t>(record_.op.padding(1));
    p.tilesOfRow = (p.columns + shape.columns - 1) / shape.columns;
    const int64_t tiles = int64_t{p.tilesOfRow} * ((p.rows + shape.rows - 1) / shape.rows);
    checkUser(tiles <= 65535, "cuda.expansion: {} tiles of a result {} exceed the grid", tiles, y.text());
    tiles_ = static_cast<unsigned>(tiles);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (images_ == 0) return;
    auto& p = parameters_;
    const auto& op = record_.op;
    const size_t second = op.secondWeights();
    p.x = arguments.inputs[0];
    p.y = arguments.outputs[0];
    p.expand = arguments.inputs[1];
    p.expandBias = op.expand.hasBias ? arguments.inputs[2] : nullptr;
    p.window = arguments.inputs[second];
    p.windowBias = op.window.hasBias ? arguments.inputs[second + 1] : nullptr;
    for (const void* address : {p.x, static_cast<const void*>(p.y), p.expand, p.window})
      checkUser(isAligned(address, kPackBytes), "cuda.expansion: a tensor is not aligned to {} bytes", kPackBytes);
    const auto& shape = record_.shape;
    launchGrid(function_, static_cast<unsigned>(shape.channels / shape.slice), tiles_, images_, kExpansionThreads, &p,
               arguments.stream, static_cast<unsigned>(shape.sharedBytes(op.stride())));
  }

 private:
  const Record& record_;
  CUfunction function_;
  unsigned images_ = 0, tiles_ = 0;
  ExpansionParameters parameters_;
};

class ExpansionKernel final : public runtime::Kernel {
 public:
  explicit ExpansionKernel(const runtime::KernelLoad& load)
      : record_(load.record), module_(load.nativeCode, expansionCode(record_.op, record_.shape, record_.type)) {
    for (size_t i = 1; i < record_.op.operands(); ++i) {
      if (i >= load.constants.size() || load.constants[i].data == nullptr)
        throw Unsupported("cuda.expansion: operand {} is no constant", i);
    }
    function_ = module_.function("tenon_expansion");
    allowSharedBytes(function_, static_cast<size_t>(record_.shape.sharedBytes(record_.op.stride())));
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<ExpansionInstance>(record_, function_);
  }

 private:
  const Record record_;
  Module module_;
  CUfunction function_ = nullptr;
};

}  // namespace

KernelRow kernelRow_expansion() {
  return {"expansion", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<ExpansionKernel>(load);
          },
          [](const plan::KernelRecord& row) {
            const Record record(row);
            return expansionCode(record.op, record.shape, record.type);
          }};
}

}  // namespace tenon::backends::cuda
