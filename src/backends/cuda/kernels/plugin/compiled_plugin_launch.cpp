// Plugins that are a kernel which somebody compiled: its code stands in the plan, and neither the plugin nor the
// program that made it is needed here. It works on the stream alone, so that recorded graphs may hold it.
#include <algorithm>
#include <array>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "core/text.h"
#include "ops/compiled_launch.h"
#include "runtime/aliased_inputs.h"

namespace tenon::backends::cuda {
namespace {

// What compilers append to the arguments of a kernel: Triton has pointers to scratch memory there, which are null where
// the kernel wants none. A driver that cannot say how many there are finds as many nulls as it may ask for.
constexpr size_t kMostAppended = 8;

ops::CompiledLaunch parse(const plan::KernelRecord& record) {
  TextReader in(record.params, "launch of a compiled plugin");
  auto launch = readFields<ops::CompiledLaunch>(in);
  if (!in.atEnd()) in.fail("expected the end");
  const bool good =
      launch.grid.size() == 3 && launch.block.size() == 3 && launch.arguments.size() == launch.argumentBytes.size() &&
      std::ranges::all_of(launch.argumentBytes, [](int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4; });
  checkUser(good, "the launch of the compiled plugin '{}' is not whole", launch.layer);
  return launch;
}

// A number of the launch in its limits.
unsigned limited(const ops::CompiledLaunch& launch, std::string_view what, int64_t value, int64_t least, int64_t most) {
  checkUser(value >= least && value <= most, "layer '{}': the kernel '{}' is launched with {} = {}; expected {} to {}",
            launch.layer, launch.kernel, what, value, least, most);
  return static_cast<unsigned>(value);
}

class Instance final : public runtime::KernelInstance {
 public:
  Instance(const ops::CompiledLaunch& launch, CUfunction function) : launch_(launch), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    makeCurrent();
    const auto value = [&](const Extent& extent) {
      return extent.isConstant() ? extent.constant() : extent.evaluate(*shapes.symbols);
    };
    constexpr std::array<int64_t, 3> kMostBlocks{INT32_MAX, 65535, 65535}, kMostThreads{1024, 1024, 64};
    constexpr std::array kAxes{"x", "y", "z"};
    for (size_t axis = 0; axis < 3; ++axis) {
      grid_[axis] =
          limited(launch_, fmt::format("grid_{}", kAxes[axis]), value(launch_.grid[axis]), 0, kMostBlocks[axis]);
      block_[axis] =
          limited(launch_, fmt::format("block_{}", kAxes[axis]), value(launch_.block[axis]), 1, kMostThreads[axis]);
    }
    limited(launch_, "threads of a block", int64_t{block_[0]} * block_[1] * block_[2], 1, 1024);
    shared_ = limited(launch_, "shared_mem", value(launch_.sharedBytes), 0, 1 << 20);
    allowSharedBytes(function_, shared_);
    numbers_.clear();
    for (size_t i = 0; i < launch_.arguments.size(); ++i) {
      const int64_t most = (int64_t{1} << (8 * launch_.argumentBytes[i] - 1)) - 1;
      const int64_t number = value(launch_.arguments[i]);
      limited(launch_, fmt::format("argument {}", i), number, -most - 1, most);
      numbers_.push_back(number);  // its low bytes are the first ones
    }
    inputs_ = shapes.inputs.size();
    outputs_ = shapes.outputs.size();
    checkParameters();
    aliased_.configure(shapes, launch_.aliases);
    addresses_.assign(inputs_ + outputs_ + kMostAppended, nullptr);
    pointers_.clear();
    for (size_t i = 0; i < inputs_; ++i) pointers_.push_back(&addresses_[i]);
    for (int64_t& number : numbers_) pointers_.push_back(&number);
    for (size_t i = inputs_; i < addresses_.size(); ++i) pointers_.push_back(&addresses_[i]);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (std::ranges::find(grid_, 0U) != grid_.end()) return;
    std::copy_n(aliased_.share(arguments, cudaDevice()), inputs_, addresses_.begin());
    std::copy_n(arguments.outputs, outputs_, addresses_.begin() + static_cast<std::ptrdiff_t>(inputs_));
    check(driver().launchKernel(function_, grid_[0], grid_[1], grid_[2], block_[0], block_[1], block_[2], shared_,
                                static_cast<CUstream>(arguments.stream), pointers_.data(), nullptr),
          "cuLaunchKernel");
  }

 private:
  // The driver copies what it takes the kernel to want, whatever is there.
  void checkParameters() const {
    if (driver().functionParameter == nullptr) return;
    std::vector<size_t> wanted(inputs_, sizeof(void*));
    for (const int64_t bytes : launch_.argumentBytes) wanted.push_back(static_cast<size_t>(bytes));
    wanted.resize(wanted.size() + outputs_, sizeof(void*));
    const size_t given = wanted.size();
    wanted.resize(given + kMostAppended, sizeof(void*));
    size_t offset = 0, bytes = 0, count = 0;
    while (driver().functionParameter(function_, count, &offset, &bytes) == CUDA_SUCCESS) {
      checkUser(
          count < wanted.size() && bytes == wanted[count],
          "layer '{}': parameter {} of the kernel '{}' has {} bytes; expected {}: it is called with the addresses "
          "of {} inputs, {} arguments, the addresses of {} outputs, and null for up to {} pointers behind",
          launch_.layer, count, launch_.kernel, bytes,
          count < wanted.size() ? fmt::format("{}", wanted[count]) : "no more parameters", inputs_,
          launch_.arguments.size(), outputs_, kMostAppended);
      ++count;
    }
    checkUser(
        count >= given,
        "layer '{}': the kernel '{}' has {} parameters; expected {}: the addresses of {} inputs, {} arguments and "
        "the addresses of {} outputs",
        launch_.layer, launch_.kernel, count, given, inputs_, launch_.arguments.size(), outputs_);
  }

  const ops::CompiledLaunch& launch_;  // of the kernel, which outlives its instances
  const CUfunction function_;
  std::array<unsigned, 3> grid_{}, block_{};
  unsigned shared_ = 0;
  size_t inputs_ = 0, outputs_ = 0;
  runtime::AliasedInputs aliased_;
  std::vector<int64_t> numbers_;
  std::vector<void*> addresses_;  // inputs, outputs, nulls
  std::vector<void*> pointers_;   // to each parameter
};

std::unique_ptr<Module> open(const ops::CompiledLaunch& launch, std::span<const std::byte> code) {
  try {
    return std::make_unique<Module>(code);
  } catch (const Unsupported& error) {
    throw Unsupported("layer '{}': {}", launch.layer, error.what());
  }
}

class CompiledKernel final : public runtime::Kernel {
 public:
  explicit CompiledKernel(const runtime::KernelLoad& load)
      : launch_(parse(load.record)), module_(open(launch_, load.nativeCode)), function_(module_->find(launch_.kernel)) {
    if (function_ == nullptr)
      throw Unsupported("layer '{}': its compiled code has no kernel '{}'", launch_.layer, launch_.kernel);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    makeCurrent();
    return std::make_unique<Instance>(launch_, function_);
  }

 private:
  const ops::CompiledLaunch launch_;
  const std::unique_ptr<Module> module_;
  const CUfunction function_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return std::make_unique<CompiledKernel>(request);
}

}  // namespace

KernelRow kernelRow_compiled_plugin() { return {"compiled_plugin", 1, &load}; }

}  // namespace tenon::backends::cuda
