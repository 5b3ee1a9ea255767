// When products with constant weights can be computed by warpgroups, and in which tiles.
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/environment.h"

namespace tenon::backends::cuda {
namespace {

// Of all products by warpgroups.
compile::Support anySupport(const compile::Problem& problem) {
  if (!switchedOn("TENON_CUDA_WARPGROUPS", true)) return compile::no("TENON_CUDA_WARPGROUPS is 0");
  if (problem.inputs[1].constant == nullptr) return compile::no("the weights are not constant");
  return {mma90Missing()};
}

}  // namespace

bool hasOwnProducts(const compile::Problem& problem) { return static_cast<bool>(anySupport(problem)); }

// Of five products of up to 128 rows at batch 1 (H200) the best of 44 algorithms took 1.22 to 1.76 times as long, with
// an epilogue that cuBLASLt does not have the best of eight of cuDNN's engines 1.37 times.
bool isForOwnProducts(const compile::Problem& problem, bool isEpilogueOfBlas) {
  constexpr size_t kUsual = 32;  // others rank candidates, or try all
  constexpr int64_t kFewRows = 128;
  constexpr int64_t kFewMultiplyAdds = int64_t{1} << 29;
  if (problem.more != kUsual || bits(problem.inputs[0].dtype) != 16 || !hasOwnProducts(problem)) return false;
  const auto& y = problem.outputs[0].dims;
  const auto& w = problem.inputs[1].dims;
  const int64_t rows = y.count() / std::max<int64_t>(y[y.rank - 1], 1);
  const bool isFew = rows <= kFewRows && rows * w.count() < kFewMultiplyAdds;
  return (isFew || !isEpilogueOfBlas) && isTakenBy("cuda.mma90_matmul", problem);
}

compile::Support mma90Support(const ops::MatMul& op, const runtime::Shapes& shapes, const compile::Problem& problem) {
  if (auto support = anySupport(problem); !support) return support;
  if (const auto refusal = mma90Refusal(op, shapes); !refusal.empty()) return compile::no("{}", refusal);
  if (shapes.inputs[0].dtype == DataType::kF32 && !problem.tf32 && !switchedOn("TENON_CUDA_EXACT_PRODUCTS", true))
    return compile::no("f32 may not be rounded to TF32, and TENON_CUDA_EXACT_PRODUCTS is 0");
  const auto& y = shapes.outputs[0].dims;
  if (y.count() == 0) return compile::no("the result is empty");
  // With another number of rows an operand may be another kind.
  const bool isOneRow = y.count() == y[y.rank - 1];
  for (size_t i = 2; i < problem.inputs.size(); ++i) {
    if (isOneRow && !problem.symbols.empty() && problem.inputs[i].constant == nullptr)
      return compile::no("an epilogue operand of {} beside one row", problem.inputs[i].dims.text());
  }
  std::vector<DataType> types;
  for (const auto& input : shapes.inputs) types.push_back(input.dtype);
  return {directUnsupported(op.epilogue, types, 2)};
}

std::vector<Mma90Shape> mma90Candidates(const runtime::Shapes& shapes, const Mma90Weights& weights,
                                        const compile::Problem& problem, bool keeps) {
  constexpr size_t kMostSmall = 2, kMost = 8, kMostMore = 16;
  constexpr int64_t kSmall = int64_t{1} << 22;  // multiply-adds: the start of the kernel is most of its time
  const int64_t rows = shapes.outputs[0].dims.count() / weights.columns;
  const size_t most = rows * weights.count() < kSmall ? kMostSmall : problem.more == 0 ? kMost : kMostMore;
  return mma90Shapes(rows, weights, most, keeps);
}

std::vector<Mma90Shape> mma90AllCandidates(const runtime::Shapes& shapes, Mma90Weights weights,
                                           const compile::Problem& problem, bool keeps) {
  constexpr size_t kMost = 5, kMostMore = 7;
  weights.isExact = weights.bytes == 4 && !problem.tf32;
  auto result = mma90Candidates(shapes, weights, problem, keeps);
  if (!switchedOn("TENON_CUDA_PERSISTENT_PRODUCTS", true)) return result;
  const int64_t rows = shapes.outputs[0].dims.count() / weights.columns;
  const auto persistent = mma90PersistentShapes(rows, weights, problem.more == 0 ? kMost : kMostMore, keeps);
  // Of 76 products that have these, four of the others missed no faster one (H200; resnet50 and mobilenet_v3_large at
  // batch 128, swin_t at 32: 0.02 % in the mean, as with 16 of them); of 17 that have none the eighth and later ones
  // won five.
  constexpr size_t kMany = 4, kMostBeside = 4, kMoreThanUsual = 32;
  if (persistent.size() >= kMany && result.size() > kMostBeside && problem.more <= kMoreThanUsual)
    result.resize(kMostBeside);
  // Those that differ in more than their stages and steps in front of their likes: the first few are always measured.
  std::vector<Mma90Shape> likes;
  std::erase_if(result, [&, kept = std::vector<Mma90Shape>()](const Mma90Shape& shape) mutable {
    const bool isLike = std::any_of(kept.begin(), kept.end(), [&](const Mma90Shape& other) {
      return other.rows == shape.rows && other.columnGroups == shape.columnGroups &&
             other.innerGroups == shape.innerGroups && other.parts == shape.parts;
    });
    (isLike ? likes : kept).push_back(shape);
    return isLike;
  });
  result.insert(result.end(), likes.begin(), likes.end());
  // First: who looks at few takes them from all over the list, and the first always.
  result.insert(result.begin(), persistent.begin(), persistent.end());
  return result;
}

std::vector<compile::Candidate> mma90Variants(const compile::Candidate& candidate, std::span<const Mma90Shape> shapes) {
  std::vector<compile::Candidate> result(shapes.size(), candidate);
  for (size_t i = 0; i < shapes.size(); ++i) result[i].variant = shapes[i].text();
  return result;
}

namespace {

class Mma90Tactic final : public OwnTacticOf<ops::MatMul> {
 public:
  Mma90Tactic() : OwnTacticOf("cuda.mma90_matmul", Formats::kLinear, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const LinearOperands operands(problem);
    return mma90Variants(compile::rowMajor(name(), problem),
                         mma90AllCandidates(operands.shapes, Mma90Weights::of(operands.shapes, 0, 1, false), problem));
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const LinearOperands operands(problem);
    auto record = OwnTactic::build(problem, candidate);
    record.params = Mma90Record::params(operands.shapes, Mma90Weights::of(operands.shapes, 0, 1, false),
                                        Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::MatMul& op, const compile::Problem& problem) const override {
    const LinearOperands operands(problem);
    return mma90Support(op, operands.shapes, problem);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_matmul() {
  static const Mma90Tactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
