// Asks cuDNN's heuristics format by format.
#include "backends/cuda/tactics/cudnn_window_tactic.h"

#include <algorithm>
#include <map>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/tactics/direct_tactic.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::Problem;
using dnn::Fusion;

constexpr size_t kMostFused = 8;  // engines to try per format
constexpr size_t kMostCompiled =
    5;  // where the epilogue is none that ready-made engines know: each is compiled for a second
constexpr size_t kMostBesideOwn = 2;  // of these, where kernels of our own have any epilogue
constexpr size_t kMostFlat = 2;       // of few images of one element per channel, for which our own kernels are better
constexpr size_t kMostDepthwise = 4;  // behind them engines that take a group after the other
constexpr size_t kReadyMade = 3;      // operations of bias, residual and activation
constexpr size_t kMostBare = 3;       // where the fused ones stand as well
constexpr size_t kMostLinear = 2;     // in rows, which the tensor cores do not read as they are

Candidate formatsOf(std::string_view tactic, const Problem& problem, Layout format) {
  Candidate candidate{std::string(tactic), "", {}, {format}};
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const auto& input = problem.inputs[i];
    candidate.inputs.push_back(i == 1 || input.constant != nullptr || input.dims.rank < 4 ? Layout::kLinear : format);
  }
  return candidate;
}

int64_t multiplyAdds(const dnn::WindowOp& op, const Problem& problem) {
  const auto& w = problem.inputs[1].dims;
  return problem.outputs[0].dims.count() * (w.count() / std::max<int64_t>(w[op.transposed ? 1 : 0], 1));
}

bool isDepthwise(const dnn::WindowOp& op, const Problem& problem) {
  return op.groups > 1 && op.groups == problem.inputs[0].dims[1];
}

// Whether our product by warpgroups takes it, where not everything is tried. Of windows with few channels more than
// half of its stages are zeros: engines are tried beside it.
bool isOwnProduct(const Problem& problem) {
  constexpr int64_t kFewChannels = 32;
  const auto& w = problem.inputs[1].dims;
  if (w.count(2, w.rank) > 1 && w[1] < kFewChannels) return false;
  return hasOwnProducts(problem) && problem.more == 0 && mayUseTensorCores(problem) &&
         isTakenBy("cuda.mma90_convolution", problem);
}

// Whether our own kernels are faster than any engine, of which each takes cuDNN as long as a kernel takes NVRTC, or a
// second where it compiles, and which a plan with one of them opens cuDNN for: a tenth of a second. On an H200: of 113
// measurements of products at batch 1 the first engine was 1.35 times as slow as our best kernel, and more. Of 55
// convolutions of points of resnet50 (batch 32 and 128), mobilenet_v3_large (128) and deeplabv3_resnet50 (8) one engine
// gained 2 % of one, those behind residual sums lost 16 % at least; of 26 with larger windows four gained 1 to 8 %. Of
// depthwise ones the best engine took 1.24 to 2.5 times as long, of four first convolutions 1.6 to 3.2.
bool isForOwnKernels(const dnn::WindowOp& op, const Problem& problem) {
  constexpr int64_t kFewOfWindows = int64_t{1} << 28;  // multiply-adds
  constexpr int64_t kFew = int64_t{1} << 34;           // likewise
  constexpr int64_t kFewDepthwise = int64_t{1} << 31;  // likewise
  if (!hasOwnProducts(problem) || problem.more != 0 || !mayUseTensorCores(problem)) return false;
  const int64_t work = multiplyAdds(op, problem);
  if (isDepthwise(op, problem)) return work < kFewDepthwise && isTakenBy("cuda.depthwise_convolution", problem);
  if (isTakenBy("cuda.image_convolution", problem)) return true;
  const auto& w = problem.inputs[1].dims;
  const bool isReadyMade = op.wholeEpilogue().instructions.size() <= kReadyMade && problem.inputs.size() <= 3;
  const bool isWindow = w.count(2, w.rank) > 1 && isReadyMade;
  return work < (isWindow ? kFewOfWindows : kFew) && isOwnProduct(problem);
}

// Of the engines that are compiled. Of 29 convolutions of mobilenet_v3_large and efficientnet_b0 at batch 1 none was as
// fast as the best of the others, by 1.2 to 3.3.
size_t mostCompiled(const dnn::WindowOp& op, const Problem& problem) {
  constexpr int64_t kLarge = int64_t{1} << 30;  // multiply-adds
  if (!hasOwnProducts(problem) || problem.more != 0) return kMostCompiled;
  return isDepthwise(op, problem) || multiplyAdds(op, problem) < kLarge ? 0 : kMostBesideOwn;
}

bool hasFormat(const Problem& problem, Layout format) {
  if (format == Layout::kLinear) return true;
  const auto& w = problem.inputs[1];
  return problem.outputs[0].dims.rank >= 4 && (w.constant != nullptr || !dnn::needsPacking(w.dims));
}

std::vector<DataType> epilogueTypes(const ops::ScalarExpr& epilogue, DataType type) {
  return std::vector<DataType>(static_cast<size_t>(epilogue.inputCount()), type);
}

// Whether the generated epilogue can stand behind a bare product.
std::string bareRefusal(const ops::ScalarExpr& epilogue, DataType type) {
  if (epilogue.empty()) return {};
  if (!nvrtc().missing.empty()) return nvrtc().missing;
  return pointwiseUnsupported(epilogue, epilogueTypes(epilogue, type), type);
}

// Engines that cuDNN compiles read an operand of the epilogue that has a value for each image and channel at addresses
// that are not aligned as they expect, which ends all work of the process on the device.
std::string wholeRefusal(const ops::ScalarExpr& epilogue, const Problem& problem) {
  const Dims& y = problem.outputs[0].dims;
  for (size_t i = 2; i < problem.inputs.size(); ++i) {
    const Dims& extra = problem.inputs[i].dims;
    if (extra.rank == y.rank && extra != y && extra[0] != 1)
      return fmt::format("an operand of shape {} has values for each image that broadcast within it", extra.text());
  }
  return dnn::fusionRefusal(epilogue);
}

}  // namespace

compile::Support windowSupport(const dnn::WindowOp& op, const Problem& problem) {
  if (isForOwnKernels(op, problem)) return compile::no("kernels of our own are faster");
  if (!dnn::library().missing.empty()) return compile::no("{}", dnn::library().missing);
  std::vector<runtime::TensorShape> inputs;
  std::vector<runtime::TensorShape> outputs;
  for (const auto& input : problem.inputs) inputs.push_back({input.dtype, input.dims, Layout::kLinear});
  for (const auto& output : problem.outputs) outputs.push_back({output.dtype, output.dims, Layout::kLinear});
  const auto refusal = dnn::windowRefusal(op, {inputs, outputs, &problem.symbols});
  if (!refusal.empty()) return compile::no("{}", refusal);
  const auto epilogue = op.wholeEpilogue();
  const auto whole = wholeRefusal(epilogue, problem);
  const auto bare = bareRefusal(epilogue, problem.outputs[0].dtype);
  if (!whole.empty() && !bare.empty())
    return compile::no("cuDNN does not fuse the epilogue ({}), and no kernel for it can be generated ({})", whole,
                       bare);
  return compile::yes();
}

std::vector<Candidate> windowCandidates(std::string_view tactic, const dnn::WindowOp& op, const Problem& problem) {
  std::vector<Candidate> result;
  const auto chip = dnn::Chip::here();
  const auto type = problem.outputs[0].dtype;
  const auto epilogue = op.wholeEpilogue();
  const bool onTensorCores = type != DataType::kF32 || problem.tf32;
  const auto math = onTensorCores ? dnn::Math::kAny : dnn::Math::kNoTensorCores;
  const auto& x = problem.inputs[0].dims;
  const bool besideOwn = isOwnProduct(problem);
  const bool flat = dnn::isFlat(x, problem.inputs[1].dims, problem.outputs[0].dims);
  for (const Layout format : {Layout::kChannelsLast, Layout::kLinear}) {
    if (!hasFormat(problem, format) || (flat && format != Layout::kLinear)) continue;
    // Beside our products engines of rows were 2 to 8 times as slow, bare ones slower than fused ones.
    if (besideOwn && !flat && format == Layout::kLinear && hasFormat(problem, Layout::kChannelsLast)) continue;
    const auto formats = formatsOf(tactic, problem, format);
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, formats.inputs[i]});
    const std::vector<runtime::TensorShape> outputs{{type, problem.outputs[0].dims, format}};
    const runtime::Shapes shapes{inputs, outputs, &problem.symbols};
    size_t most = kMostFused;
    if (onTensorCores && !flat && format == Layout::kLinear && hasFormat(problem, Layout::kChannelsLast))
      most = kMostLinear;
    if (flat && x[0] <= kMostSkinnyRows) most = kMostFlat;
    if (isDepthwise(op, problem)) most = std::min(most, kMostDepthwise);
    const bool mustCompile = onTensorCores && epilogue.instructions.size() > kReadyMade;
    const size_t compiled = mustCompile ? mostCompiled(op, problem) : most;
    const auto ask = [&](Fusion fusion) {
      size_t found = 0;
      try {
        const auto graph = dnn::windowGraph(chip, op, shapes, fusion);
        if (fusion == Fusion::kWhole) most = std::min(most, compiled);
        auto engines = graph.graph.propose(dnn::HeuristicMode::kA, math, most);
        if (engines.empty()) engines = graph.graph.propose(dnn::HeuristicMode::kFallback, math, most);
        for (auto& engine : engines) {
          auto candidate = formats;
          candidate.variant = dnn::Choice{fusion, math, std::move(engine)}.text();
          result.push_back(std::move(candidate));
          ++found;
        }
      } catch (const Unsupported&) {
        // No engine takes this graph; the others remain.
      }
      return found;
    };
    const bool fused = compiled > 0 && wholeRefusal(epilogue, problem).empty() && ask(Fusion::kWhole) > 0;
    if (fused || compiled == 0) most = std::min(most, kMostBare);
    if (!epilogue.empty() && bareRefusal(epilogue, type).empty() && !(besideOwn && fused)) ask(Fusion::kBare);
  }
  return result;
}

namespace {

// Operands as a candidate has them.
struct FormattedShapes {
  FormattedShapes(const Problem& problem, Layout format) {
    const auto formats = formatsOf("", problem, format);
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, formats.inputs[i]});
    outputs.push_back({problem.outputs[0].dtype, problem.outputs[0].dims, format});
    shapes = {inputs, outputs, &problem.symbols};
  }
  std::vector<runtime::TensorShape> inputs;
  std::vector<runtime::TensorShape> outputs;
  runtime::Shapes shapes;
};

}  // namespace

// Engines that are compiled at run time take a good part of a second each.
void prepareWindow(const dnn::WindowOp& op, const Problem& problem, std::span<const Candidate> candidates) {
  const auto chip = dnn::Chip::here();
  std::map<std::pair<Layout, Fusion>, std::vector<dnn::EngineChoice>> wanted;
  for (const auto& candidate : candidates) {
    auto choice = dnn::Choice::parse(candidate.variant);
    wanted[{candidate.outputs[0], choice.fusion}].push_back(std::move(choice.engine));
  }
  for (const auto& [key, engines] : wanted) {
    const FormattedShapes formatted(problem, key.first);
    try {
      dnn::windowGraph(chip, op, formatted.shapes, key.second).graph.planAll(engines);
    } catch (const Unsupported&) {
      // The measurement of each will say so.
    }
  }
}

// Of the epilogue behind a bare product, or the plan of an engine that cuDNN compiles: who loads it need not.
std::vector<std::byte> windowCode(const dnn::WindowOp& op, const Problem& problem, const Candidate& candidate) {
  const auto choice = dnn::Choice::parse(candidate.variant);
  if (choice.fusion == Fusion::kWhole) {
    const FormattedShapes formatted(problem, candidate.outputs[0]);
    try {
      return dnn::windowGraph(dnn::Chip::here(), op, formatted.shapes, choice.fusion).graph.codeOf(choice.engine);
    } catch (const Unsupported&) {
      return {};  // the measurement will say so
    }
  }
  const auto epilogue = op.wholeEpilogue();
  if (epilogue.empty()) return {};
  const auto type = problem.outputs[0].dtype;
  return compile(pointwiseSource(epilogue, epilogueTypes(epilogue, type), type), computeCapability());
}

int windowRank(const Candidate& candidate) {
  const bool bare = candidate.variant.rfind("bare", 0) == 0;
  return (candidate.outputs[0] == Layout::kChannelsLast ? 10 : 14) + (bare ? 2 : 0);
}

}  // namespace tenon::backends::cuda
