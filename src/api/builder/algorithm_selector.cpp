// Candidates in the words of IAlgorithm: objects that live for one call.
#include "api/builder/algorithm_selector.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>

#include "api/common/convert.h"
#include "api/common/tensor_formats.h"
#include "core/error.h"
#include "core/fields.h"

namespace tenon::api {
namespace {

using compile::Choice;
using compile::NodeQuestion;
using compile::Problem;
using compile::TensorDesc;

constexpr double kMilliseconds = 1e3;

// Of any layout that kernels use, whether TensorFormat has a name for it or not.
class IoInfo final : public nv::IAlgorithmIOInfo, public nv::apiv::VAlgorithmIOInfo {
 public:
  IoInfo(const TensorDesc& tensor, Layout layout)
      : type_(toApi(tensor.dtype)), strides_(stridesOf(tensor.dims, layout)), layout_(layout) {
    mImpl = this;
  }
  nv::DataType getDataType() const noexcept override { return type_; }
  nv::Dims getStrides() const noexcept override { return strides_; }
  int64_t getVectorizedDim() const noexcept override {
    if (layout_.block > 1) return layout_.blockedAxis;
    return layout_.multiple > 1 ? layout_.innermost : -1;
  }
  int64_t getComponentsPerElement() const noexcept override { return std::max(layout_.block, layout_.multiple); }

 private:
  nv::DataType type_;
  nv::Dims strides_;
  Layout layout_;
};

// The tactic, and the candidate among all of it: its variant and the layouts of its operands.
class Variant final : public nv::IAlgorithmVariant, public nv::apiv::VAlgorithmVariant {
 public:
  explicit Variant(const compile::Candidate& candidate)
      : implementation_(static_cast<int64_t>(hashBytes(candidate.tactic))),
        tactic_(static_cast<int64_t>(candidate.hash())) {
    mImpl = this;
  }
  int64_t getImplementation() const noexcept override { return implementation_; }
  int64_t getTactic() const noexcept override { return tactic_; }

 private:
  int64_t implementation_;
  int64_t tactic_;
};

class Algorithm final : public nv::IAlgorithm, public nv::apiv::VAlgorithm {
 public:
  Algorithm(const Problem& problem, const Choice& choice)
      : variant_(choice.candidate),
        milliseconds_(static_cast<float>(choice.seconds * kMilliseconds)),
        workspace_(choice.workspaceBytes) {
    mImpl = this;
    const auto add = [&](const std::vector<TensorDesc>& tensors, const std::vector<Layout>& layouts) {
      for (size_t i = 0; i < tensors.size(); ++i) infos_.push_back(std::make_unique<IoInfo>(tensors[i], layouts[i]));
    };
    add(problem.inputs, choice.candidate.inputs);
    add(problem.outputs, choice.candidate.outputs);
  }
  const nv::IAlgorithmVariant& getAlgorithmVariant() const noexcept override { return variant_; }
  float getTimingMSec() const noexcept override { return milliseconds_; }
  std::size_t getWorkspaceSize() const noexcept override { return workspace_; }
  const nv::IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept override {
    return index >= 0 && static_cast<size_t>(index) < infos_.size() ? infos_[static_cast<size_t>(index)].get()
                                                                    : nullptr;
  }

 private:
  Variant variant_;
  float milliseconds_;
  std::size_t workspace_;
  std::vector<std::unique_ptr<IoInfo>> infos_;
};

class Context final : public nv::IAlgorithmContext, public nv::apiv::VAlgorithmContext {
 public:
  explicit Context(const NodeQuestion& question) : question_(question) { mImpl = this; }
  const char* getName() const noexcept override { return question_.node.name.c_str(); }
  nv::Dims getDimensions(int32_t index, nv::OptProfileSelector select) const noexcept override {
    const std::array<const Problem*, 3> shapes{&question_.min, &question_.opt, &question_.max};
    const auto which = static_cast<size_t>(select);
    if (index < 0 || index >= getNbInputs() + getNbOutputs() || which >= shapes.size()) return invalidDims();
    const auto& problem = *shapes[which];
    const auto at = static_cast<size_t>(index);
    const size_t inputs = problem.inputs.size();
    return toApi((at < inputs ? problem.inputs[at] : problem.outputs[at - inputs]).dims);
  }
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(question_.opt.inputs.size()); }
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(question_.opt.outputs.size()); }

 private:
  const NodeQuestion& question_;
};

// What the public interface takes a list of.
template <typename Interface, typename T>
std::vector<const Interface*> pointersTo(const std::vector<std::unique_ptr<T>>& objects) {
  std::vector<const Interface*> result;
  for (const auto& object : objects) result.push_back(object.get());
  return result;
}

}  // namespace

std::vector<size_t> AlgorithmSelector::select(const NodeQuestion& question, std::span<const Choice> choices) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  for (const auto& choice : choices) algorithms.push_back(std::make_unique<Algorithm>(question.opt, choice));
  const auto offered = pointersTo<nv::IAlgorithm>(algorithms);
  std::vector<int32_t> selection(offered.size(), -1);
  const auto count = static_cast<int32_t>(offered.size());
  const int32_t selected = user_.selectAlgorithms(Context(question), offered.data(), count, selection.data());
  const auto& name = question.node.name;
  checkUser(selected >= 0 && selected <= count,
            "IAlgorithmSelector::selectAlgorithms returned {} for layer '{}'; expected 0 to {}, the number of choices",
            selected, name, count);
  if (selected == 0) {
    checkUser(!rejectsEmpty_,
              "the algorithm selector selected none of the {} algorithms of layer '{}', and "
              "BuilderFlag::kREJECT_EMPTY_ALGORITHMS is set; select one, or clear the flag",
              count, name);
    std::vector<size_t> all(choices.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  std::set<size_t> result;
  for (int32_t i = 0; i < selected; ++i) {
    const int32_t index = selection[static_cast<size_t>(i)];
    checkUser(index >= 0 && index < count,
              "IAlgorithmSelector::selectAlgorithms selected index {} for layer '{}'; expected 0 to {}", index, name,
              count - 1);
    result.insert(static_cast<size_t>(index));
  }
  return {result.begin(), result.end()};
}

void AlgorithmSelector::report(std::span<const compile::Taken> taken) {
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  for (const auto& [question, choice] : taken) {
    contexts.push_back(std::make_unique<Context>(question));
    algorithms.push_back(std::make_unique<Algorithm>(question.opt, choice));
  }
  user_.reportAlgorithms(pointersTo<nv::IAlgorithmContext>(contexts).data(),
                         pointersTo<nv::IAlgorithm>(algorithms).data(), static_cast<int32_t>(taken.size()));
}

}  // namespace tenon::api
