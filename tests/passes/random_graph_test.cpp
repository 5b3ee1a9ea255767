// Random graphs through the passes and through whole builds, against the reference evaluation of the original.
#include "check_pass.h"

#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::ValueId;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), graph_("random") {}

  Graph make() {
    const bool dynamic = pick(3) == 0;
    const Extent batch = dynamic ? Extent::symbol("N") : Extent(1 + pick(3));
    if (dynamic) graph_.addSymbol("N", {graph::SymbolSource::Kind::kInputExtent, "x", 0});
    pool_.push_back(graph_.addInput("x", {DataType::kF32, {batch, 1 + pick(5), 3 + pick(5), 3 + pick(5)}, std::nullopt}));
    const int64_t nodes = 3 + pick(10);
    for (int64_t i = 0; i < nodes; ++i) step(pool_[pool_.size() - 1 - static_cast<size_t>(pick(std::min<int64_t>(3, static_cast<int64_t>(pool_.size()))))]);
    graph_.addOutput(pool_.back());
    for (size_t i = 1; i + 1 < pool_.size(); ++i) {
      if (pick(6) == 0 && !graph_.isOutput(pool_[i])) graph_.addOutput(pool_[i]);
    }
    return std::move(graph_);
  }

 private:
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

  void put(ops::Operator op, std::vector<ValueId> inputs) {
    const auto name = fmt::format("{}{}", op.name(), pool_.size());
    pool_.push_back(graph_.add(std::move(op), name, std::move(inputs), {name}));
  }

  ValueId weights(const Dims& dims) { return graph_.addConstant(graph::Constant::own(test::randomTensor(DataType::kF32, dims, random_()))); }

  void step(ValueId x) {
    switch (pick(10)) {
      case 0: case 1: return unary(x);
      case 2: return perChannel(x);
      case 3: return residual(x);
      case 4: case 5: return convolution(x);
      case 6: return pick(2) == 0 ? pooling(x) : movement(x);
      case 7: return matmul(x);
      case 8: return rowwise(x);
      default: return movement(x);
    }
  }

  void unary(ValueId x) {
    constexpr const char* kExprs[] = {"relu(x0)", "sigmoid(x0)", "tanh(x0)", "neg(x0)", "mul(x0,0.5)", "add(x0,0.25);relu(t0)",
                                      "neg(x0);neg(t0)", "identity(x0)", "sigmoid(x0);mul(x0,t0)", "sub(1,x0)", "clip(x0,-0.5,0.75)"};
    put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x});
  }

  void perChannel(ValueId x) {
    constexpr const char* kExprs[] = {"mul(x0,x1)", "add(x0,x1)", "sub(x1,x0)", "mul(x0,x1);add(t0,x1)", "fma(x0,x1,1)"};
    const auto& in = shape(x);
    if (in.size() < 2 || !in[1].isConstant()) return unary(x);
    Dims dims;
    dims.rank = static_cast<int>(in.size());
    for (int i = 0; i < dims.rank; ++i) dims[i] = i == 1 ? in[1].constant() : 1;
    put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, weights(dims)});
  }

  void residual(ValueId x) {
    for (const ValueId other : pool_) {
      if (other == x || shape(other) != shape(x)) continue;
      constexpr const char* kExprs[] = {"add(x0,x1)", "add(x0,x1);relu(t0)", "mul(x0,x1)", "max(x0,x1)", "neg(x1);add(x0,t0)"};
      return put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, other});
    }
    unary(x);
  }

  bool isImage(ValueId x, int64_t smallest) const {
    const auto& in = shape(x);
    return in.size() == 4 && in[1].isConstant() && in[2].isConstant() && in[3].isConstant() && in[2].constant() >= smallest && in[3].constant() >= smallest;
  }

  void convolution(ValueId x) {
    if (!isImage(x, 1)) return unary(x);
    const int64_t channels = shape(x)[1].constant();
    const int64_t pad = pick(2);
    const int64_t limit = std::min(shape(x)[2].constant(), shape(x)[3].constant()) + 2 * pad;
    const int64_t kernel = 1 + pick(std::min<int64_t>(3, limit));
    ops::Convolution op;
    op.prePadding = op.postPadding = {pad, pad};
    op.strides = {1 + pick(2), 1 + pick(2)};
    op.groups = channels > 1 && pick(4) == 0 ? channels : 1;
    op.hasBias = pick(2) == 0;
    const int64_t out = pick(2) == 0 ? channels : op.groups * (1 + pick(4));
    std::vector<ValueId> inputs{x, weights({out, channels / op.groups, kernel, kernel})};
    if (op.hasBias) inputs.push_back(weights({out}));
    put(std::move(op), std::move(inputs));
  }

  void pooling(ValueId x) {
    if (!isImage(x, 2)) return unary(x);
    put(ops::Operator::parse(fmt::format("pooling{{type={} window=[2,2] strides=[{},{}]}}", pick(2) == 0 ? "max" : "average", 1 + pick(2), 1 + pick(2))), {x});
  }

  void matmul(ValueId x) {
    const auto& in = shape(x);
    if (in.size() < 2 || !in.back().isConstant()) return unary(x);
    put(ops::MatMul{}, {x, weights({in.back().constant(), 1 + pick(6)})});
  }

  void rowwise(ValueId x) {
    const auto rank = static_cast<int64_t>(shape(x).size());
    if (rank == 0) return unary(x);
    if (pick(2) == 0) return put(ops::Softmax{pick(rank)}, {x});
    constexpr ops::ReduceOp kOps[] = {ops::ReduceOp::kSum, ops::ReduceOp::kMax, ops::ReduceOp::kAvg};
    put(ops::Reduce{kOps[pick(3)], {rank - 1}, rank < 3 || pick(2) == 0}, {x});
  }

  void movement(ValueId x) {
    const Shape in = shape(x);
    const size_t rank = in.size();
    if (rank < 2) return unary(x);
    switch (pick(4)) {
      case 0: {
        ops::Transpose op;
        for (size_t i = 0; i < rank; ++i) op.permutation.push_back(static_cast<int64_t>(i));
        std::swap(op.permutation[1 + static_cast<size_t>(pick(static_cast<int64_t>(rank) - 1))], op.permutation.back());
        return put(std::move(op), {x});
      }
      case 1: {
        Shape flat{in[0], 1};
        for (size_t i = 1; i < rank; ++i) flat[1] = flat[1] * in[i];
        return put(ops::Reshape{flat}, {x});
      }
      case 2: return slice(x);
      default: return put(ops::Concat{static_cast<int64_t>(rank) - 1}, {x, x});
    }
  }

  // Crops or pads the last axes; half of them are padding in front of a convolution.
  void slice(ValueId x) {
    ops::Slice op;
    op.size = shape(x);
    op.start.assign(op.size.size(), 0);
    const bool pads = pick(2) == 0;
    for (size_t i = op.size.size() == 4 ? 2 : op.size.size() - 1; i < op.size.size(); ++i) {
      if (pads) {
        const int64_t before = pick(3);
        op.start[i] = -before;
        op.size[i] = op.size[i] + before + pick(3);
      } else if (op.size[i].isConstant() && op.size[i].constant() > 2) {
        op.start[i] = 1;
        op.size[i] = op.size[i] - 1;
      }
    }
    if (pads) op.mode = ops::SliceMode::kFill;
    put(std::move(op), {x});
    if (pads) convolution(pool_.back());
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> pool_;
};

uint64_t graphCount() {
  const char* wanted = std::getenv("TENON_RANDOM_GRAPHS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
}

void checkPasses(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Graph before = Generator(seed).make();
  Graph after = before;
  try {
    run(after, {});
    expectSameValues(before, after, seed);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << graph::text(before);
  }
}

TEST(RandomGraphs, PassesKeepValues) {
  for (uint64_t seed = 1; seed <= graphCount() && !::testing::Test::HasFailure(); ++seed) checkPasses(seed);
}

TEST(RandomGraphs, TextKeepsValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph before = Generator(seed).make();
    expectSameValues(before, graph::parse(graph::text(before, 1 << 20)), seed);
  }
}

TEST(RandomGraphs, EachPassMayBeOff) {
  for (const auto& pass : pipeline()) {
    SCOPED_TRACE(fmt::format("without {}", pass.name));
    const ScopedVariable disable("TENON_DISABLE", std::string(pass.name));
    for (uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) checkPasses(seed);
  }
}

void checkBuilds(int level, uint64_t first, uint64_t last) {
  for (uint64_t seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = Generator(seed).make();
    build::BuildOptions options;
    options.optimizationLevel = level;
    const auto inputs = randomInputs(graph, 2, seed);
    if (!isConstant(graph.value(graph.inputs()[0]).type.shape)) {
      plan::InputRange range;
      range.min = range.opt = range.max = inputs[0].view().dims;
      range.min[0] = 1;
      range.max[0] = 4;
      options.profiles = {{{"x", range}}};
    }
    try {
      test::expectMatchesReference(graph, inputs, options);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << graph::text(graph);
    }
  }
}

TEST(RandomGraphs, BuildsAtLevelZeroMatch) { checkBuilds(0, 1, 30); }
TEST(RandomGraphs, BuildsAtLevelOneMatch) { checkBuilds(1, 31, 50); }

}  // namespace
}  // namespace tenon::passes
