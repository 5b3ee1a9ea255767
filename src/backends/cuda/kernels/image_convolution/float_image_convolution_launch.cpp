// Implicit-GEMM convolution of f32 images of few channels, whose weights are packed for tensor cores.
#include <cstring>

#include "backends/cuda/kernels/image_convolution/float_image.h"
#include "backends/cuda/kernels/image_convolution/image_places.h"
#include "core/text.h"
#include "runtime/packer.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

// Parameters are "[K,C,R,S] types", with an "e" behind the shape where f32 is taken as it is.
struct Record {
  explicit Record(const plan::KernelRecord& record) : op(descriptionOf<ops::Convolution>(record)) {
    const ShapeAndTypes params(record);
    TextReader in(params.shape, "parameters of a kernel of backend cuda");
    for (int axis = 0; axis < 4; ++axis) {
      in.expect(axis == 0 ? "[" : ",");
      w.push(in.integer());
    }
    in.expect("]");
    isExact = in.accept("e");
    types = params.types;
    checkUser(
        types.inputs.size() >= 2 && types.outputs.size() == 1 && floatImageTypes(types.inputs, op.hasBias).empty(),
        "parameters of a kernel of backend cuda: '{}' are wrong types for {}", record.params, record.op);
  }
  FloatImageForm form() const {
    FloatImageForm result(op, w, isExact);
    if (!result.refusal.empty()) throw Unsupported("cuda.float_image_convolution: {}", result.refusal);
    return result;
  }

  ops::Convolution op;
  Dims w;
  bool isExact = false;
  Types types;
};

class FloatImageInstance final : public runtime::KernelInstance {
 public:
  FloatImageInstance(const ops::Convolution& op, const FloatImageForm& form, CUfunction function)
      : op_(op), form_(form), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    auto& p = parameters_;
    blocks_ = 0;
    if (y.dims.count() == 0) return 0;
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows =
        ops::makeWindows(context, ops::spatialAttributes(op_, 2), y.dims, x.dims, {form_.rows, form_.columns});
    setImage(p, x, windows[1], windows[2], 0);
    p.rows = int32Of(y.dims[2]);
    p.columns = int32Of(y.dims[3]);
    p.outputs = int32Of(y.dims[1]);
    const int64_t turns =
        setTiles(p, y.dims[0], (p.columns + kImageTileColumns - 1) / kImageTileColumns, form_.groups(), 3);
    blocks_ = static_cast<unsigned>((p.tiles + turns - 1) / turns);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    auto& p = parameters_;
    p.x = arguments.inputs[0];
    p.w = arguments.inputs[1];
    p.bias = op_.hasBias ? arguments.inputs[2] : nullptr;
    p.data[0] = arguments.outputs[0];
    checkUser(isAligned(p.data[0], kPackBytes), "image convolution: the output is not aligned to {} bytes", kPackBytes);
    launchGrid(function_, blocks_, static_cast<unsigned>(form_.groups()), 1, kImageThreads, &p, arguments.stream,
               static_cast<unsigned>(form_.sharedBytes()));
  }

 private:
  const ops::Convolution& op_;
  const FloatImageForm& form_;
  CUfunction function_;
  unsigned blocks_ = 0;
  ImageParameters parameters_;
};

class FloatImageKernel final : public runtime::Kernel, public runtime::Packer {
 public:
  explicit FloatImageKernel(const runtime::KernelLoad& load)
      : record_(load.record), form_(record_.form()), module_(load.nativeCode, form_.code(record_.op, record_.types)) {
    if (load.constants.size() < 2 || load.constants[1].data == nullptr)
      throw Unsupported("cuda.float_image_convolution: the weights are no constant");
    const auto& w = load.constants[1];
    checkUser(w.dims == record_.w && w.dtype == DataType::kF32,
              "cuda.float_image_convolution: parameters {} do not fit weights {} of {}", load.record.params,
              w.dims.text(), name(w.dtype));
    weights_ = {nullptr, w.dtype, w.dims};
    allowSharedBytes(module_.function("tenon_direct"), form_.sharedBytes());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<FloatImageInstance>(record_.op, form_, module_.function("tenon_direct"));
  }
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1},
             fmt::format("f32 image {} in {} parts for lanes{}", weights_.dims.text(), form_.parts,
                         form_.isExact ? ", with rests" : ""),
             form_.packedBytes(),
             false}};
  }
  void pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const override {
    const auto packed = form_.pack({const_cast<void*>(sources[0]), weights_.dtype, weights_.dims});
    checkInternal(packed.size() * sizeof(packed[0]) == form.bytes, "image convolution: {} numbers for {} bytes",
                  packed.size(), form.bytes);
    std::memcpy(to, packed.data(), form.bytes);
  }

 private:
  Record record_;
  FloatImageForm form_;
  Module module_;
  TensorView weights_;  // without data
};

}  // namespace

KernelRow kernelRow_float_image_convolution() {
  return {"float_image_convolution", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<FloatImageKernel>(load);
          },
          [](const plan::KernelRecord& row) {
            const Record record(row);
            return record.form().code(record.op, record.types);
          }};
}

}  // namespace tenon::backends::cuda
