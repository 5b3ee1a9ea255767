// Implicit-GEMM convolution of f32 images of few channels, whose weights are packed for tensor cores.
#include "backends/cuda/kernels/common/packed_kernel.h"
#include "backends/cuda/kernels/image_convolution/float_image.h"
#include "backends/cuda/kernels/image_convolution/image_places.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

// Parameters are "[K,C,R,S] types", with an "e" behind the shape where f32 is taken as it is.
struct Record {
  static constexpr std::string_view kName = "float_image_convolution";
  static constexpr const char* kFunction = "tenon_direct";

  explicit Record(const plan::KernelRecord& record) : op(descriptionOf<ops::Convolution>(record)) {
    const ShapeAndTypes params(record);
    TextReader in(params.shape, "parameters of a kernel of backend cuda");
    w = readWindow(in);
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
  Code code(const FloatImageForm& form) const { return form.code(op, types); }
  void checkWeights(const TensorView& given) const {
    checkUser(given.dims == w && given.dtype == DataType::kF32,
              "cuda.float_image_convolution: parameters {} do not fit weights {} of {}", w.text(), given.dims.text(),
              name(given.dtype));
  }
  std::string recipe(const FloatImageForm& form) const {
    return fmt::format("f32 image {} in {} parts for lanes{}", w.text(), form.parts,
                       form.isExact ? ", with rests" : "");
  }

  ops::Convolution op;
  Dims w;
  bool isExact = false;
  Types types;
};

class FloatImageInstance final : public runtime::KernelInstance {
 public:
  FloatImageInstance(const Record& record, const FloatImageForm& form, CUfunction function)
      : op_(record.op), form_(form), function_(function) {}

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
    setData(p, arguments, op_.hasBias);
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

}  // namespace

KernelRow kernelRow_float_image_convolution() { return packedRow<Record, FloatImageForm, FloatImageInstance>(1); }

}  // namespace tenon::backends::cuda
