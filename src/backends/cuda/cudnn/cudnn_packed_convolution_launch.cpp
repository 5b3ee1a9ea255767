// Convolution of an image of few channels: the image of blocks in the workspace, then cuDNN.
#include "backends/cuda/cudnn/cudnn_kernel.h"
#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/cudnn/packed_convolution.h"
#include "backends/cuda/kernels/common/channels_last_weights.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "core/text.h"
#include "runtime/packer.h"

namespace tenon::backends::cuda {
namespace {

// Parameters are "channels,height,width of a block;choice".
Code codeOf(const plan::KernelRecord& record) {
  TextReader in(record.params, "parameters of a kernel of backend cuda");
  const int64_t channels = in.integer();
  in.expect(",");
  const int64_t height = in.integer();
  in.expect(",");
  return packImageCode(channels, height, in.integer());
}

class PackedInstance final : public runtime::KernelInstance {
 public:
  PackedInstance(const ops::Convolution& op, const Module& module, std::unique_ptr<runtime::KernelInstance> product)
      : op_(op), packer_(module), product_(std::move(product)) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const PackedConvolution packed(op_, shapes);
    if (!packed.refusal.empty()) throw Unsupported("cuda.cudnn_packed_convolution: {}", packed.refusal);
    if (shapes.outputs[0].layout != Layout::kChannelsLast)
      throw Unsupported("cuda.cudnn_packed_convolution: the output is {}, expected channels_last",
                        tenon::name(shapes.outputs[0].layout));
    packer_.configure(packed, shapes.inputs[0]);
    std::vector<runtime::TensorShape> inputs(shapes.inputs.begin(), shapes.inputs.end());
    inputs[0].dims = packed.x;
    inputs[0].layout = Layout::kChannelsLast;
    inputs[1].dims = packed.w;
    inputs_.assign(inputs.size(), nullptr);
    constexpr size_t kAlignment = 256;
    imageBytes_ = (packer_.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    return imageBytes_ + product_->configure({inputs, shapes.outputs, shapes.symbols});
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    packer_.launch(arguments.inputs[0], arguments.workspace, arguments.stream);
    std::copy(arguments.inputs, arguments.inputs + inputs_.size(), inputs_.begin());
    inputs_[0] = arguments.workspace;
    product_->launch({inputs_.data(), arguments.outputs, static_cast<std::byte*>(arguments.workspace) + imageBytes_,
                      arguments.stream});
  }

 private:
  const ops::Convolution& op_;
  ImagePacker packer_;
  std::unique_ptr<runtime::KernelInstance> product_;
  std::vector<void*> inputs_;
  size_t imageBytes_ = 0;
};

class PackedKernel final : public runtime::Kernel, public runtime::Packer {
 public:
  explicit PackedKernel(const runtime::KernelLoad& load)
      : op_(descriptionOf<ops::Convolution>(load)), module_(load.nativeCode, codeOf(load.record)) {
    const auto& w = load.constants[1];
    if (w.data == nullptr) throw Unsupported("cuda.cudnn_packed_convolution: computed weights");
    const auto packed = packedOf(w.dims);
    const auto code = packImageCode(w.dims[1], packed.block[0], packed.block[1]).source();
    checkUser(code == codeOf(load.record).source(),
              "cuda.cudnn_packed_convolution: parameters {} do not fit {} and weights {}", load.record.params,
              load.record.op, w.dims.text());
    dtype_ = w.dtype;
    dims_ = w.dims;
    std::vector<TensorView> constants(load.constants.begin(), load.constants.end());
    constants[1].dims = packed.w;  // only that is asked for
    const auto choice = load.record.params.substr(load.record.params.find(';') + 1);
    const ops::Operator product(packed.op);
    const plan::KernelRecord record{"cuda", "cudnn_convolution", 1, product.text(), choice, -1};
    product_ = loadDnn({record, constants, {}, load.log, load.sizesOnly}, dnn::windowProgram(product));
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<PackedInstance>(op_, module_, product_->instantiate());
  }
  // Space-to-depth, and then as the product wants it.
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    const auto packed = packedOf(dims_);
    return {{{1},
             fmt::format("space_to_depth {} {} by {}x{} from {},{}", name(dtype_), dims_.text(), packed.block[0],
                         packed.block[1], packed.shift[0], packed.shift[1]),
             bytesOf(dtype_, packed.w.count()),
             false}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    packChannelsLast(packedOf(dims_).weights({const_cast<void*>(sources[0]), dtype_, dims_}).view(), to);
  }

 private:
  // Blocks and weights do not depend on the image.
  PackedConvolution packedOf(const Dims& w) const {
    const std::vector<runtime::TensorShape> inputs{{DataType::kF16, {1, w[1], w[2], w[3]}}, {DataType::kF16, w}};
    const std::vector<runtime::TensorShape> outputs{{DataType::kF16, {1, w[0], 1, 1}}};
    PackedConvolution packed(op_, {inputs, outputs, nullptr});
    if (!packed.refusal.empty()) throw Unsupported("cuda.cudnn_packed_convolution: {}", packed.refusal);
    return packed;
  }

  ops::Convolution op_;
  Module module_;
  DataType dtype_ = DataType::kF16;  // of the weights
  Dims dims_;
  std::unique_ptr<runtime::Kernel> product_;
};

}  // namespace

KernelRow kernelRow_cudnn_packed_convolution() {
  return {"cudnn_packed_convolution", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<PackedKernel>(load);
          },
          &codeOf};
}

}  // namespace tenon::backends::cuda
