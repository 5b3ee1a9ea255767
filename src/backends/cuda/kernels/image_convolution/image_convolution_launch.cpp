// Implicit-GEMM convolution of images of few channels, whose weights are packed for tensor cores.
#include <algorithm>

#include "backends/cuda/kernels/common/packed_kernel.h"
#include "backends/cuda/kernels/image_convolution/image_convolution.h"
#include "backends/cuda/kernels/image_convolution/image_places.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

// Parameters are "[K,C,R,S] types".
struct Record {
  static constexpr std::string_view kName = "image_convolution";
  static constexpr const char* kFunction = "tenon_direct";

  explicit Record(const plan::KernelRecord& record) : op(ops::Operator::parse(record.op)) {
    if (!op.refusal.empty()) throw Unsupported("cuda.image_convolution: {}", op.refusal);
    const ShapeAndTypes params(record);
    TextReader in(params.shape, "parameters of a kernel of backend cuda");
    w = readWindow(in);
    types = params.types;
    checkUser(types.inputs.size() >= 2 && op.typesRefusal(types.inputs).empty(),
              "parameters of a kernel of backend cuda: '{}' are wrong types for {}", record.params, record.op);
  }
  ImageForm form() const {
    ImageForm result(op, w);
    if (!result.refusal.empty()) throw Unsupported("cuda.image_convolution: {}", result.refusal);
    return result;
  }
  Code code(const ImageForm& form) const { return imageCode(form, op, types); }
  void checkWeights(const TensorView& given) const {
    checkUser(given.dims == w, "cuda.image_convolution: parameters {} do not fit weights {}", w.text(),
              given.dims.text());
    checkUser(bits(given.dtype) == 16, "cuda.image_convolution: weights of {}; expected f16 or bf16",
              name(given.dtype));
  }
  std::string recipe(const ImageForm& form) const {
    return fmt::format("image {} in {} parts, as rows or for lanes, {} taps from {}", w.text(), form.parts, form.taps,
                       form.lead);
  }

  ImageOp op;
  Dims w;
  Types types;
};

class ImageInstance final : public runtime::KernelInstance {
 public:
  ImageInstance(const Record& record, const ImageForm& form, CUfunction function)
      : op_(record.op), form_(form), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    auto& p = parameters_;
    blocks_ = 0;
    if (y.dims.count() == 0) return 0;
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows = ops::makeWindows(context, ops::spatialAttributes(op_.convolution, 2), y.dims, x.dims,
                                          {form_.rows, form_.columns});
    setImage(p, x, windows[1], windows[2], form_.lead);
    p.rows = int32Of(placesOf(windows[1]));
    p.columns = int32Of(placesOf(windows[2]));
    p.outputs = int32Of(y.dims[1]);
    columnsBytes_ = static_cast<size_t>(2 * bits(x.dtype) / 8);
    even_ = x.dims[3] % 2 == 0;
    const int64_t pooled = (kImageTileColumns - form_.pool[1]) / kImagePoolStride + 1;  // columns of a strip
    const int64_t across =
        op_.pooling ? (y.dims[3] + pooled - 1) / pooled : (p.columns + kImageTileColumns - 1) / kImageTileColumns;
    // The fewer sums of a block, the more of them fit.
    const int64_t turns = setTiles(p, y.dims[0], across, form_.groups(),
                                   form_.parts == 8   ? 3
                                   : form_.parts == 4 ? 4
                                                      : 6);
    blocks_ = static_cast<unsigned>((p.tiles + turns - 1) / turns);
    if (!op_.pooling) return 0;
    const auto cells =
        ops::makeWindows(context, ops::spatialAttributes(*op_.pooling, 2), y.dims, y.dims, op_.pooling->window);
    p.pooledRows = int32Of(y.dims[2]);
    p.pooledColumns = int32Of(y.dims[3]);
    p.poolTop = int32Of(cells[1].before);
    p.poolLeft = int32Of(cells[2].before);
    p.tilesOfBlock = int32Of(turns);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    auto& p = parameters_;
    setData(p, arguments, op_.convolution.hasBias);
    p.pairs = even_ && isAligned(p.x, columnsBytes_) ? 1 : 0;
    launchGrid(function_, blocks_, static_cast<unsigned>(form_.groups()), 1, kImageThreads, &p, arguments.stream,
               static_cast<unsigned>(form_.sharedBytes()));
  }

 private:
  // The extent of the convolution's result, which is not this kernel's where windows of it follow.
  int64_t placesOf(const ops::Window& window) const {
    if (!op_.pooling) return window.small;
    return (window.large + window.before + window.after - window.kernel) / window.stride + 1;
  }

  const ImageOp& op_;
  const ImageForm& form_;
  CUfunction function_;
  bool even_ = false;        // columns of the image
  size_t columnsBytes_ = 0;  // of two neighbouring columns
  unsigned blocks_ = 0;
  ImagePoolingParameters parameters_;
};

}  // namespace

KernelRow kernelRow_image_convolution() { return packedRow<Record, ImageForm, ImageInstance>(3); }

}  // namespace tenon::backends::cuda
