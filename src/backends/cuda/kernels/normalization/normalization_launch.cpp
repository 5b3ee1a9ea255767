// Layer, instance, group and root-mean-square normalization, of a tensor or a sum of two: a statistic's members by a
// block or a warp.
#include <algorithm>
#include <utility>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/named_kernels.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/normalization/normalization_form.h"

namespace tenon::backends::cuda {
namespace {

class NormalizationInstance final : public runtime::KernelInstance {
 public:
  NormalizationInstance(const ops::Normalization& op, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const NormalizationShape shape(op_, shapes);
    count_ = shape.count;
    if (count_ == 0) return 0;
    parameters_ = shape.parameters;
    rows_ = rowParts_ = nullptr;
    if (const auto [name, function] = firstOf(shape.packed); function != nullptr)
      configurePacked(name, function, shape);
    const auto [name, function] = firstOf(shape.any);
    if (function == nullptr)
      throw Unsupported("cuda.normalization: statistics over {} elements, which the kernel was not compiled for",
                        parameters_.members);
    configureAny(name, function);
    const int64_t shared = rowParts_ != nullptr || parts_ != nullptr ? parameters_.groups.count * parameters_.parts : 0;
    checkUser(shared < int64_t{1} << 31, "normalization: {} parts of statistics exceed a grid", shared);
    return static_cast<size_t>(shared) * 2 * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.scale = arguments.inputs[1];
    parameters_.bias = arguments.inputs[2];
    parameters_.y = arguments.outputs[0];
    if (op_.skip) parameters_.skip = arguments.inputs[3];
    if (op_.keepSum) parameters_.sum = arguments.outputs[1];
    parameters_.moments = arguments.workspace;
    if (rows_ != nullptr && packs(arguments)) {
      if (rowParts_ != nullptr)
        launchGrid(rowParts_, static_cast<unsigned>(rowBlocks_), 1, 1, rowThreads_, &parameters_, arguments.stream);
      launchGrid(rows_, static_cast<unsigned>(rowBlocks_), 1, 1, rowThreads_, &parameters_, arguments.stream);
      return;
    }
    if (parts_ != nullptr)
      launchGrid(parts_, static_cast<unsigned>(blocks_), 1, 1, threads_, &parameters_, arguments.stream);
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, threads_, &parameters_, arguments.stream);
  }

 private:
  // The first that the code has.
  std::pair<std::string_view, CUfunction> firstOf(const std::vector<std::string_view>& names) const {
    for (const auto name : names) {
      if (auto* const function = module_.find(fmt::format("{}{}", kNormalize, name))) return {name, function};
    }
    return {};
  }

  void configurePacked(std::string_view name, CUfunction function, const NormalizationShape& shape) {
    rows_ = function;
    const int64_t groups = parameters_.groups.count;
    const auto warps = [](int64_t threads, int64_t least, int64_t most) {
      return static_cast<unsigned>(std::clamp(threads, least, most) + 31) / 32 * 32;
    };
    rowBlocks_ = groups;
    if (name.starts_with("many_rows")) {
      constexpr int64_t kRowsOfLanes = 4;
      const int64_t lanes = shape.packs <= 8 ? 8 : shape.packs <= 16 ? 16 : 32;
      rowThreads_ = 256;
      const int64_t rowsOfBlock = kRowsOfLanes * rowThreads_ / lanes;
      rowBlocks_ = (groups + rowsOfBlock - 1) / rowsOfBlock;
    } else if (name == "few_rows_block") {
      rowThreads_ = static_cast<unsigned>((shape.packs + 31) / 32 * 32);
    } else if (name == "rows_block") {
      const int64_t perThread = groups < fewBlocks() ? 1 : 2;
      rowThreads_ = warps((shape.packs + perThread - 1) / perThread, 64, 1024);
    } else if (name == "planes_split") {
      rowParts_ = module_.function(partsOf(name));
      rowThreads_ = kNormalizationThreads;
      rowBlocks_ = groups * parameters_.parts;
    } else if (name == "planes") {
      rowThreads_ = warps(shape.packs / 2, 128, groups < fewBlocks() ? 1024 : 512);
    } else {
      rowThreads_ = blockSize(groups * 32, 32);
      rowBlocks_ = (groups * 32 + rowThreads_ - 1) / rowThreads_;
    }
  }

  void configureAny(std::string_view name, CUfunction function) {
    function_ = function;
    parts_ = nullptr;
    const int64_t groups = parameters_.groups.count;
    threads_ = kNormalizationThreads;
    blocks_ = groups;
    if (name == kSplit) {
      parts_ = module_.function(partsOf(name));
      blocks_ = groups * parameters_.parts;
    } else if (name == "warp") {
      blocks_ = (groups + 7) / 8;
    } else {
      const int64_t most = groups < fewBlocks() ? 1024 : 256;
      threads_ = static_cast<unsigned>(std::clamp<int64_t>((parameters_.members + 3) / 4, 128, most) + 31) / 32 * 32;
    }
  }

  bool packs(const runtime::LaunchArguments& arguments) const {
    constexpr size_t kBytes = 32;  // a pack of parameters of four bytes beside elements of two
    const auto fits = [](const void* address) { return isAligned(address, kBytes); };
    return std::all_of(arguments.inputs, arguments.inputs + (op_.skip ? 4 : 3), fits) &&
           std::all_of(arguments.outputs, arguments.outputs + (op_.keepSum ? 2 : 1), fits);
  }

  const ops::Normalization& op_;
  const Module& module_;
  CUfunction rows_ = nullptr;
  CUfunction rowParts_ = nullptr;  // in front of it, where blocks share statistics
  int64_t rowBlocks_ = 0;
  unsigned rowThreads_ = 256;
  CUfunction function_ = nullptr;
  CUfunction parts_ = nullptr;  // likewise
  int64_t count_ = 0;
  int64_t blocks_ = 0;
  unsigned threads_ = 256;
  NormalizationParameters parameters_;
};

// Types as for other kernels, behind the names of kernels where it is known which ones its shapes take.
Code codeOf(const ops::Normalization& op, const plan::KernelRecord& record) {
  const NamedKernels named(record);
  Code code{"normalization.cu",
            {typeDefine("X", named.types.inputs.at(0)), typeDefine("S", named.types.inputs.at(1)),
             fmt::format("CENTERED={}", op.centered ? 1 : 0), fmt::format("SKIP={}", op.skip ? 1 : 0),
             fmt::format("KEEP_SUM={}", op.keepSum ? 1 : 0)},
            {}};
  named.addTo(code);
  return code;
}

class NormalizationKernel final : public runtime::Kernel {
 public:
  explicit NormalizationKernel(const runtime::KernelLoad& load)
      : op_(descriptionOf<ops::Normalization>(load)), module_(load.nativeCode, codeOf(op_, load.record)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<NormalizationInstance>(op_, module_);
  }

 private:
  const ops::Normalization op_;
  Module module_;
};

}  // namespace

KernelRow kernelRow_normalization() {
  return {"normalization", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<NormalizationKernel>(load);
          },
          [](const plan::KernelRecord& record) { return codeOf(descriptionOf<ops::Normalization>(record), record); }};
}

}  // namespace tenon::backends::cuda
