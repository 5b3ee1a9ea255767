// Which implementation of oneDNN computes a problem: the requested one, else the fastest kind that is available.
//
// oneDNN lists what takes a description. The list depends on the extents, the strides even of axes of extent 1, the
// post-operations and the vectors of the processor, so the same operator at another batch, or in
// another process, may find another one at its head: plain code, too, where a second way to describe the same operands
// would have found a fast one. Hence all ways to describe a problem are looked through, and what was found when the
// engine was built is looked for by its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/cpu/kernels/dnnl/dnnl_version.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "core/error.h"
#include "ops/operator.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Slowest first.
enum class Speed : uint8_t { kPlain, kProduct, kOwn };

inline Speed speedOf(std::string_view implementation) {
  // "conv:any+ref:any" is a deconvolution by the plain convolution.
  if (implementation.starts_with("ref") || implementation.find("+ref") != std::string_view::npos) return Speed::kPlain;
  return implementation.find("gemm") != std::string_view::npos ? Speed::kProduct : Speed::kOwn;
}

template <typename Primitive>
struct Choice {
  Primitive primitive;
  size_t way = 0;  // of describing the problem
  std::string name() const { return primitive.impl_info_str(); }
};

// Ways to describe one problem. `show(way, see)` describes it in one of them and calls see(primitive) for each
// implementation in the library's order until that says that it has seen enough; it throws dnnl::error where there is
// none.
template <typename Primitive, typename Show>
class Ways {
 public:
  Ways(size_t count, Show show) : count_(count), show_(std::move(show)) {}

  // The first for which accept(name) holds.
  template <typename Accept>
  std::optional<Choice<Primitive>> find(Accept accept) {
    std::optional<Choice<Primitive>> found;
    for (size_t way = 0; way < count_ && !found; ++way) {
      each(way, [&](const Primitive& primitive) {
        if (accept(std::string_view(primitive.impl_info_str()))) found = {primitive, way};
        return found.has_value();
      });
    }
    return found;
  }

  // By the whole name, else by a part of it.
  std::optional<Choice<Primitive>> findNamed(std::string_view wanted) {
    auto found = find([&](std::string_view name) { return name == wanted; });
    return found ? found : find([&](std::string_view name) { return name.find(wanted) != std::string_view::npos; });
  }

  // The first of the fastest kind.
  std::optional<Choice<Primitive>> findFastest() {
    std::optional<Choice<Primitive>> best;
    for (size_t way = 0; way < count_; ++way) {
      each(way, [&](const Primitive& primitive) {
        const auto speed = speedOf(primitive.impl_info_str());
        if (!best || speed > speedOf(best->primitive.impl_info_str())) best = {primitive, way};
        return speed == Speed::kOwn;
      });
      if (best && speedOf(best->primitive.impl_info_str()) == Speed::kOwn) break;
    }
    return best;
  }

  // Why there was none.
  const std::string& refusal() const { return refusal_; }

 private:
  template <typename See>
  void each(size_t way, See see) {
    try {
      show_(way, see);
    } catch (const dnnl::error& error) {
      refusal_ = error.what();
    }
  }

  size_t count_;
  Show show_;
  std::string refusal_;
};

struct DnnlDemand {
  std::string wanted;  // a name, or a part of one; empty: none
  bool trial = false;  // nothing else will do
};

// What runs, each call on one thread: plans do not depend on the number of threads. Where nothing is wanted, the
// fastest kind.
template <typename Primitive, typename Show>
std::optional<Choice<Primitive>> choose(Ways<Primitive, Show>& ways, const DnnlDemand& demand) {
  const DnnlScope scope;
  if (!demand.wanted.empty()) {
    if (auto found = ways.findNamed(demand.wanted)) return found;
    if (demand.trial) return std::nullopt;
  }
  return ways.findFastest();
}

// A kernel that has nothing to keep between contexts but its operator and what is demanded: Instance(const T&, const
// DnnlDemand&), made per context.
template <typename T, typename Instance>
class DemandingKernel final : public runtime::Kernel {
 public:
  DemandingKernel(const T& description, DnnlDemand demand) : description_(description), demand_(std::move(demand)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<Instance>(description_, demand_);
  }

 private:
  T description_;
  DnnlDemand demand_;
};

template <typename T, typename Instance>
std::unique_ptr<runtime::Kernel> loadDemanding(const runtime::KernelLoad& load) {
  const auto op = ops::Operator::parse(load.record.op);
  const auto* description = op.as<T>();
  if (description == nullptr)
    throw Unsupported("cpu.{}: it computes {}, the plan asks for {}", load.record.name, T::kName, op.name());
  return std::make_unique<DemandingKernel<T, Instance>>(*description, DnnlDemand{load.record.params, load.trial});
}

}  // namespace tenon::backends::cpu
