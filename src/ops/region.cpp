// Regions: types, text, and runs by references.
#include "ops/region.h"

#include <algorithm>

#include "core/error.h"
#include "ops/check.h"
#include "ops/op/size.h"

namespace tenon::ops {
namespace {

void checkPlace(int32_t value, size_t known, std::string_view node) {
  if (value < 0 || static_cast<size_t>(value) >= known)
    throw BadRegion("{} reads value {} of its region, which has {} before it", node, value, known);
}

// Extents that were computed from symbols are numbers here.
TensorType typeOf(const TensorView& view) { return {view.dtype, toShape(view.dims), std::nullopt}; }

}  // namespace

void Region::check(size_t inputs) const {
  if (inputs != static_cast<size_t>(body_->inputs))
    throw BadRegion("a region with {} inputs is given {}", body_->inputs, inputs);
  size_t known = inputs;
  for (const auto& node : body_->nodes) {
    for (const auto input : node.inputs) checkPlace(input, known, node.name);
    if (node.outputs < 0) throw BadRegion("{}: {} results", node.name, node.outputs);
    known += static_cast<size_t>(node.outputs);
  }
  for (const auto output : body_->outputs) checkPlace(output, known, "an output");
}

std::vector<TensorType> Region::infer(std::span<const TensorType> inputs) const {
  check(inputs.size());
  std::vector<TensorType> values(inputs.begin(), inputs.end());
  for (const auto& node : body_->nodes) {
    std::vector<TensorType> operands;
    for (const auto input : node.inputs) operands.push_back(values[static_cast<size_t>(input)]);
    auto results = node.op.infer(node.name, operands);
    if (results.size() != static_cast<size_t>(node.outputs))
      throw BadRegion("{}: {} has {} results, its region says {}", node.name, node.op.name(), results.size(),
                      node.outputs);
    for (auto& result : results) values.push_back(std::move(result));
  }
  return values;
}

Facts Region::facts() const {
  Facts facts;
  for (const auto& node : body_->nodes) {
    if (node.op.as<Size>() != nullptr) continue;  // it concerns the region alone
    const auto own = node.op.facts();
    facts.deterministic = facts.deterministic && own.deterministic;
    facts.sideEffects = facts.sideEffects || own.sideEffects;
  }
  return facts;
}

std::set<std::string> Region::ownSymbols() const {
  std::set<std::string> names;
  for (const auto& node : body_->nodes) {
    if (const auto* size = node.op.as<Size>()) names.insert(size->symbol);
  }
  return names;
}

bool needsAny(const Operator& op, const std::set<std::string>& symbols) {
  if (symbols.empty()) return false;
  std::set<std::string> names;
  op.collectSymbols(names);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return symbols.contains(name); });
}

void bindField(Region& region, const SymbolValues& symbols) {
  const auto own = region.ownSymbols();
  RegionBody bound = region.body();
  for (auto& node : bound.nodes) {
    if (!needsAny(node.op, own)) node.op = node.op.bind(symbols);
  }
  region = Region(std::move(bound));
}

void fieldSymbols(const Region& region, std::set<std::string>& names) {
  std::set<std::string> inner;
  for (const auto& node : region->nodes) node.op.collectSymbols(inner);
  for (const auto& name : region.ownSymbols()) inner.erase(name);
  names.merge(inner);
}

void bindSize(const Size& size, const TensorView& number, std::string_view node, SymbolValues& symbols) {
  const int64_t value = number.loadInt(0);
  Size::check(value, size.symbol, size.upper, symbols, node);
  symbols.insert_or_assign(size.symbol, value);
}

RegionRunner::RegionRunner(const Region& region, std::span<const TensorView> inputs, const SymbolValues* symbols)
    : region_(region), symbols_(symbols), computesSizes_(!region.ownSymbols().empty()) {
  if (computesSizes_) return;
  if (symbols != nullptr) bindField(region_, *symbols);
  std::vector<TensorType> types;
  for (const auto& input : inputs) types.push_back(typeOf(input));
  types = region_.infer(types);
  views_.assign(inputs.begin(), inputs.end());
  memory_.reserve(types.size() - inputs.size());
  for (size_t i = inputs.size(); i < types.size(); ++i) {
    memory_.emplace_back(types[i].dtype, tenon::evaluate(types[i].shape, SymbolValues{}));
    views_.push_back(memory_.back().view());
  }
}

std::vector<TensorView> RegionRunner::outputs() const {
  std::vector<TensorView> result;
  for (const auto output : region_->outputs) result.push_back(views_[static_cast<size_t>(output)]);
  return result;
}

// Node by node: types follow from what the nodes before have computed.
std::vector<TensorView> RegionRunner::runSized(std::span<const TensorView> inputs) {
  SymbolValues symbols = symbols_ != nullptr ? *symbols_ : SymbolValues{};
  views_.assign(inputs.begin(), inputs.end());
  size_t count = 0;
  for (const auto& node : region_->nodes) count += static_cast<size_t>(node.outputs);
  memory_.clear();
  memory_.reserve(count);
  for (const auto& node : region_->nodes) {
    std::vector<TensorView> operands, results;
    std::vector<TensorType> types;
    for (const auto input : node.inputs) {
      checkPlace(input, views_.size(), node.name);
      operands.push_back(views_[static_cast<size_t>(input)]);
      types.push_back(typeOf(operands.back()));
    }
    const auto op = node.op.bind(symbols);
    for (const auto& type : op.infer(node.name, types)) {
      memory_.emplace_back(type.dtype, tenon::evaluate(type.shape, symbols));
      results.push_back(memory_.back().view());
    }
    if (results.size() != static_cast<size_t>(node.outputs))
      throw BadRegion("{}: {} has {} results, its region says {}", node.name, node.op.name(), results.size(),
                      node.outputs);
    evaluateWhatIsThere(op, {operands, results, &symbols});
    if (const auto* size = op.as<Size>()) bindSize(*size, results[0], node.name, symbols);
    views_.insert(views_.end(), results.begin(), results.end());
  }
  return outputs();
}

std::vector<TensorView> RegionRunner::run(std::span<const TensorView> inputs) {
  if (computesSizes_) return runSized(inputs);
  std::copy(inputs.begin(), inputs.end(), views_.begin());
  size_t next = inputs.size();
  for (const auto& node : region_->nodes) {
    std::vector<TensorView> operands;
    for (const auto input : node.inputs) operands.push_back(views_[static_cast<size_t>(input)]);
    const std::span<const TensorView> results(views_.data() + next, static_cast<size_t>(node.outputs));
    evaluateWhatIsThere(node.op, {operands, results, symbols_});
    next += results.size();
  }
  return outputs();
}

}  // namespace tenon::ops

namespace tenon {

using Numbers = FieldText<std::vector<int32_t>>;

std::string FieldText<ops::RegionNode>::write(const ops::RegionNode& value) {
  return fmt::format("{{{} {} {} {}}}", value.op.text(), Numbers::write(value.inputs), value.outputs,
                     quote(value.name));
}

ops::RegionNode FieldText<ops::RegionNode>::read(TextReader& in) {
  constexpr int64_t kMostOutputs = 256;
  in.expect("{");
  ops::RegionNode node{ops::Operator::parse(in), {}, 1, {}};
  node.inputs = Numbers::read(in);
  const int64_t outputs = in.integer();
  if (outputs < 0 || outputs > kMostOutputs) in.fail(fmt::format("{} results of a node", outputs));
  node.outputs = static_cast<int32_t>(outputs);
  node.name = in.quoted();
  in.expect("}");
  return node;
}

std::string FieldText<ops::Region>::write(const ops::Region& value) {
  return fmt::format("{{{} {} {}}}", value->inputs, FieldText<std::vector<ops::RegionNode>>::write(value->nodes),
                     Numbers::write(value->outputs));
}

namespace {

// Regions within regions: hostile text must not fill the machine's stack.
class Depth {
 public:
  explicit Depth(TextReader& in) {
    constexpr int kMost = 16;
    if (depth_ == kMost) in.fail(fmt::format("regions are nested more than {} deep", kMost));
    ++depth_;
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  static thread_local int depth_;
};

thread_local int Depth::depth_ = 0;

}  // namespace

ops::Region FieldText<ops::Region>::read(TextReader& in) {
  const Depth depth(in);
  ops::RegionBody body;
  in.expect("{");
  body.inputs = FieldText<int32_t>::read(in);
  body.nodes = FieldText<std::vector<ops::RegionNode>>::read(in);
  body.outputs = Numbers::read(in);
  in.expect("}");
  return ops::Region(std::move(body));
}

}  // namespace tenon
