// If: types by both branches, values by one.
#include "ops/op/if.h"

#include <algorithm>

#include "core/error.h"
#include "core/lazy_text.h"

namespace tenon::ops {

Facts If::facts() const {
  Facts facts = then.facts();
  const Facts other = otherwise.facts();
  facts.deterministic = facts.deterministic && other.deterministic;
  facts.sideEffects = facts.sideEffects || other.sideEffects;
  return facts;
}

void If::checkChosen(size_t branch) const {
  checkUser(!isRefused(branch), "if: the branch for {} is chosen, which is impossible at these shapes: {}",
            branch == 0 ? "true" : "false", branch < refusals.size() ? refusals[branch] : "");
}

// A region that is impossible at these shapes has the types of the other one.
std::pair<std::vector<TensorType>, std::vector<TensorType>> If::typesOf(std::span<const TensorType> inputs) const {
  then.check(inputs.size());
  otherwise.check(inputs.size());
  const bool isKnown = std::all_of(inputs.begin(), inputs.end(), [](const auto& x) { return isConstant(x.shape); });
  if (!isKnown) return {then.infer(inputs), otherwise.infer(inputs)};
  std::optional<std::vector<TensorType>> values, others;
  try {
    values = then.infer(inputs);
  } catch (const BadRegion&) {
    throw;
  } catch (const UserError&) {
    others = otherwise.infer(inputs);
  }
  try {
    if (!others) others = otherwise.infer(inputs);
  } catch (const BadRegion&) {
    throw;
  } catch (const UserError&) {
  }
  const auto as = [](const std::vector<TensorType>& types, const Region& from, const Region& to) {
    std::vector<TensorType> result(static_cast<size_t>(to->inputs));
    for (const auto& node : to->nodes) result.resize(result.size() + static_cast<size_t>(node.outputs));
    for (size_t i = 0; i < to->outputs.size() && i < from->outputs.size(); ++i)
      result.at(static_cast<size_t>(to->outputs[i])) = types.at(static_cast<size_t>(from->outputs[i]));
    return result;
  };
  if (!values) values = as(*others, otherwise, then);
  if (!others) others = as(*values, then, otherwise);
  return {std::move(*values), std::move(*others)};
}

void If::infer(InferContext& context) const {
  const auto& condition = context.input(0);
  context.check(condition.dtype == DataType::kBool, "the condition is {}, expected bool", name(condition.dtype));
  const bool isScalar =
      std::all_of(condition.shape.begin(), condition.shape.end(), [](const Extent& e) { return e.isConstant(1); });
  context.check(isScalar, "the condition has shape {}, expected one element", tenon::text(condition.shape));
  std::vector<TensorType> inputs;
  for (size_t i = 1; i < context.inputCount(); ++i) inputs.push_back(context.input(i));
  const auto isOwn = [](const Extent& extent, const Region& region) {
    const auto own = region.ownSymbols();
    std::set<std::string> names;
    extent.collectSymbols(names);
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return own.contains(name); });
  };
  context.check(then->outputs.size() == otherwise->outputs.size(), "the branches have {} and {} results",
                then->outputs.size(), otherwise->outputs.size());
  context.check(results.empty() || results.size() == then->outputs.size(), "extents of {} results, expected {}",
                results.size(), then->outputs.size());
  const auto [values, others] = typesOf(inputs);
  for (size_t i = 0; i < then->outputs.size(); ++i) {
    const auto& a = values[static_cast<size_t>(then->outputs[i])];
    const auto& b = others[static_cast<size_t>(otherwise->outputs[i])];
    context.check(a.dtype == b.dtype && a.rank() == b.rank(),
                  "result {} is {} {} in one branch and {} {} in the other; expected the same type and number of "
                  "dimensions",
                  i, name(a.dtype), tenon::text(a.shape), name(b.dtype), tenon::text(b.shape));
    if (mayDiffer(i)) {
      context.check(results[i].extents.size() == a.shape.size(), "result {} is said to be {}, a branch gives {}", i,
                    tenon::text(results[i].extents), tenon::text(a.shape));
      context.output(a.dtype, results[i].extents);
      continue;
    }
    Shape shape;
    for (size_t axis = 0; axis < a.shape.size(); ++axis) {
      const auto& x = a.shape[axis];
      const auto& y = b.shape[axis];
      context.check(x == y || !x.isConstant() || !y.isConstant(),
                    "result {} is {} in one branch and {} in the other; a shape that depends on the condition is not "
                    "supported: pad both to one size, or choose the sizes by shape tensors",
                    i, tenon::text(a.shape), tenon::text(b.shape));
      // What one branch computes is held against the other when it runs.
      shape.push_back(isOwn(x, then) ? y : isOwn(y, otherwise) ? x : context.merge(x, y, "the two branches"));
    }
    context.output(a.dtype, std::move(shape));
  }
}

void If::evaluate(const EvalContext& context) const {
  const bool holds = context.inputs[0].loadInt(0) != 0;
  checkChosen(holds ? 0 : 1);
  const auto inputs = context.inputs.subspan(1);
  RegionRunner runner(holds ? then : otherwise, inputs, context.symbols);
  const auto results = runner.run(inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    checkUser(results[i].dims == context.outputs[i].dims, "if: result {} is {}, expected {}", i,
              textOf(results[i].dims), textOf(context.outputs[i].dims));
    std::copy_n(static_cast<const char*>(results[i].data), results[i].bytes(),
                static_cast<char*>(context.outputs[i].data));
  }
}

OperatorInfo operatorInfo_if() { return describe<If>(); }

}  // namespace tenon::ops
