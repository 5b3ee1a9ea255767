// Recurrent networks of any kind and size.
#include "backends/cuda/kernels/recurrent/recurrent_form.h"

namespace tenon::backends::cuda {
namespace {

class RecurrentInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Recurrent& op, const Types& types) {
    return recurrentCode("recurrent_plain.cu", op, types, std::nullopt);
  }
  RecurrentInstance(const ops::Recurrent& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_recurrent_plain")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    setExtents(parameters_, op_, shapes);
    return plainExchangeBytes(parameters_);
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    setOperands(parameters_, op_, arguments);
    parameters_.exchange = static_cast<float*>(arguments.workspace);
    launchPlain(function_, parameters_, arguments.stream);
  }

 private:
  const ops::Recurrent& op_;
  CUfunction function_;
  RecurrentParameters parameters_;
};

}  // namespace

KernelRow kernelRow_recurrent() { return ownRow<ops::Recurrent, RecurrentInstance>("recurrent"); }

}  // namespace tenon::backends::cuda
