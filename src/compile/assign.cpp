// Formats and tactics of minimal total time.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "compile/assignment.h"
#include "compile/libraries.h"
#include "core/error.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "ops/op/reformat.h"
#include "ops/op/transpose.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int kSweeps = 20;
constexpr double kLess = 0.001;  // part of the time that a start must save to win over those before it
// The same with blocks of channels: they bring more reformats, whose times here are those of warm caches.
constexpr double kMuchLess = 0.05;

// Iterated choice: from a start in which every node prefers one format, nodes change their option while the total time
// (own time plus the reformats towards producers and consumers) falls. The best of the starts wins.
class Assigner {
 public:
  Assigner(Graph& graph, const SymbolValues& symbols, OptionSource& source, const BuildOptions& options)
      : graph_(graph), symbols_(symbols), source_(source), options_(options), wanted_(graph.valueCount()) {}

  Assignment run() {
    collect();
    std::vector<size_t> best;
    double bestCost = std::numeric_limits<double>::infinity();
    for (const Layout preferred : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16}) {
      mayBlock_ = channelBlock(preferred) > 1;
      if (mayBlock_ && !offersBlocks()) continue;
      start(preferred);
      improve();
      const double cost = total();
      if (cost < bestCost * (1 - (mayBlock_ ? kMuchLess : kLess))) {
        bestCost = cost;
        best = chosen_;
      }
    }
    checkInternal(!best.empty() || graph_.order().empty(), "no assignment of layouts has a finite time");
    chosen_ = best;
    constexpr int kUsualLevel = 3;  // above, everything counts
    if (options_.optimizationLevel <= kUsualLevel) {
      std::vector<Option*> chosen;
      for (size_t n = 0; n < perNode_.size(); ++n) chosen.push_back(&perNode_[n][chosen_[n]]);
      leaveLibraries(chosen, bestCost, *options_.log);
    }
    return finish();
  }

 private:
  void collect() {
    const auto& order = graph_.order();
    perNode_.resize(order.size());
    position_.clear();
    problems_.reserve(order.size());
    std::vector<Asked> asked;
    std::vector<size_t> positions;
    for (size_t n = 0; n < order.size(); ++n) {
      const auto& node = graph_.node(order[n]);
      position_[order[n]] = n;
      if (isView(node)) {
        perNode_[n] = {viewOption(node.inputs.size(), node.outputs.size())};
        continue;
      }
      auto& problem = problems_.emplace_back(makeProblem(graph_, node, symbols_, options_));
      asked.push_back({&node, &problem});
      positions.push_back(n);
    }
    const bool blocks = mayGainByBlocks(asked, source_, *options_.log);
    constexpr size_t kAhead = 24;  // problems whose kernels are made while others are measured
    const Announcing announcing(source_);
    size_t announced = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      source_.step(static_cast<int>(positions[i]));
      while (announced < std::min(asked.size(), i + kAhead))
        announced += source_.announce(std::span(asked).subspan(announced));
      const auto& [node, problem] = asked[i];
      auto& options = perNode_[positions[i]];
      options = source_.selected(*node, *problem);
      const bool isSelected = !options.empty();
      if (!isSelected) options = source_.options(*node, *problem, blocks);
      std::erase_if(options, [&, node = node](const Option& option) { return !staysWhole(*node, option.candidate); });
      if (const auto view = transposedView(*node); view && !isSelected) options.push_back(*view);
      if (options.empty()) {
        throw Unsupported(
            "node '{}': every remaining candidate needs a channel-blocked layout, but the channel count is dynamic",
            node->name);
      }
    }
  }

  // Candidates with blocks of channels were proposed for the opt shapes; the blocks must be whole at every shape.
  bool staysWhole(const graph::Node& node, const Candidate& candidate) const {
    const auto whole = [&](const std::vector<ValueId>& values, const std::vector<Layout>& formats) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (channelBlock(formats[i]) > 1 && !graph_.value(values[i]).type.shape[1].isConstant()) return false;
      }
      return true;
    };
    return whole(node.inputs, candidate.inputs) && whole(node.outputs, candidate.outputs);
  }

  static Option viewOption(size_t inputs, size_t outputs) {
    Option view;
    view.candidate.tactic = "view";
    view.candidate.inputs.assign(inputs, Layout::kLinear);
    view.candidate.outputs.assign(outputs, Layout::kLinear);
    return view;
  }

  // A transpose that moves the channels behind the pixels, or back, leaves every byte in place where one side is
  // channels-last. Constants are row-major whatever format is asked for, so those are copied, and so is what a debug
  // listener wants to see.
  std::optional<Option> transposedView(const graph::Node& node) const {
    const auto* transpose = node.op.as<ops::Transpose>();
    if (transpose == nullptr || options_.choosesElsewhere() || graph_.value(node.inputs[0]).constant != nullptr)
      return std::nullopt;
    const auto& output = graph_.value(node.outputs[0]);
    const size_t axes = output.type.shape.size();
    if (axes < 4 || axes > 5 || bits(output.type.dtype) < 8 || output.constraints.debug) return std::nullopt;
    std::vector<int64_t> toFront(axes);
    std::iota(toFront.begin(), toFront.end(), 0);
    auto toBack = toFront;
    std::rotate(toFront.begin() + 1, toFront.end() - 1, toFront.end());
    std::rotate(toBack.begin() + 1, toBack.begin() + 2, toBack.end());
    auto view = viewOption(1, 1);
    if (transpose->permutation == toFront) {
      view.candidate.outputs[0] = Layout::kChannelsLast;
    } else if (transpose->permutation == toBack) {
      view.candidate.inputs[0] = Layout::kChannelsLast;
    } else {
      return std::nullopt;
    }
    return view;
  }

  bool isAllowed(const Option& option) const { return mayBlock_ || !hasBlocks(option.candidate); }
  bool offersBlocks() const {
    const auto offers = [](const auto& options) {
      return std::any_of(options.begin(), options.end(), [](const Option& o) { return hasBlocks(o.candidate); });
    };
    return std::any_of(perNode_.begin(), perNode_.end(), offers);
  }

  void start(Layout preferred) {
    chosen_.assign(perNode_.size(), 0);
    wanted_.assign(graph_.valueCount(), {});
    for (size_t n = 0; n < perNode_.size(); ++n) {
      const auto score = [&](const Option& o) {
        const auto& outs = o.candidate.outputs;
        return std::tuple(!isAllowed(o), outs.empty() || outs[0] != preferred, o.seconds);
      };
      for (size_t k = 1; k < perNode_[n].size(); ++k) {
        if (score(perNode_[n][k]) < score(perNode_[n][chosen_[n]])) chosen_[n] = k;
      }
      want(n, 1);
    }
  }

  // Counts what a node's option wants of its operands, or takes it back.
  void want(size_t n, int change) {
    const auto& inputs = graph_.node(graph_.order()[n]).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto& formats = wanted_[inputs[i]];
      if ((formats[option(n).candidate.inputs[i]] += change) == 0) formats.erase(option(n).candidate.inputs[i]);
    }
  }

  void choose(size_t n, size_t k) {
    if (chosen_[n] == k) return;
    want(n, -1);
    chosen_[n] = k;
    want(n, 1);
  }

  const Option& option(size_t n) const { return perNode_[n][chosen_[n]]; }

  Layout formatOf(ValueId id) const {
    const auto& value = graph_.value(id);
    if (value.producer == graph::kNone) return value.isInput ? value.constraints.layout() : Layout::kLinear;
    return option(position_.at(value.producer)).candidate.outputs[static_cast<size_t>(value.producerOutput)];
  }

  double reformatSeconds(ValueId id, Layout from, Layout to) {
    if (from == to || graph_.value(id).constant != nullptr) return 0;
    const auto [known, isNew] = reformats_.try_emplace({id, from, to}, 0.0);
    if (!isNew) return known->second;
    const auto& type = graph_.value(id).type;
    if (!coincide(type.shape, from, to))
      known->second = source_.reformat(type.dtype, evaluate(type.shape, symbols_), from, to).seconds;
    return known->second;
  }

  // Whether a tensor lies in memory alike in both layouts, whatever its extents turn out to be.
  static bool coincide(const Shape& shape, Layout from, Layout to) {
    const auto isOne = [](const Extent& extent) { return extent.isConstant(1); };
    const auto a = withoutPadding(shape, from);
    const auto b = withoutPadding(shape, to);
    if (a == b) return true;
    // One pixel in whole blocks of channels.
    const int64_t block = std::max(channelBlock(a), channelBlock(b));
    const auto hasChannelsOnly = [](Layout layout) {
      return layout.multiple == 1 && layout.rowMultiple == 1 && std::abs(layout.innermost) == 1 &&
             std::abs(layout.blockedAxis) == 1;
    };
    return block > 1 && hasChannelsOnly(a) && hasChannelsOnly(b) && shape.size() == 4 && shape[1].isConstant() &&
           shape[1].constant() % block == 0 && isOne(shape[2]) && isOne(shape[3]);
  }

  // Reformats of one value towards all its consumers, each format once.
  double consumersCost(ValueId id) {
    const Layout have = formatOf(id);
    const auto costOf = [&](const std::map<Layout, int>& wanted) {
      double cost = 0;
      for (const auto& [to, count] : wanted) cost += reformatSeconds(id, have, to);
      return cost;
    };
    if (!graph_.isOutput(id)) return costOf(wanted_[id]);
    auto wanted = wanted_[id];
    ++wanted[graph_.value(id).constraints.layout()];
    return costOf(wanted);
  }

  double localCost(size_t n) {
    const auto& node = graph_.node(graph_.order()[n]);
    double cost = option(n).seconds;
    const std::set<ValueId> inputs(node.inputs.begin(), node.inputs.end());
    for (const ValueId id : inputs) cost += consumersCost(id);
    for (const ValueId id : node.outputs) cost += consumersCost(id);
    return cost;
  }

  void improve() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (size_t n = 0; n < perNode_.size(); ++n) {
        size_t best = chosen_[n];
        double bestCost = localCost(n);
        const size_t before = best;
        for (size_t k = 0; k < perNode_[n].size(); ++k) {
          if (k == before || !isAllowed(perNode_[n][k])) continue;
          choose(n, k);
          const double cost = localCost(n);
          if (cost < bestCost) {
            bestCost = cost;
            best = k;
          }
        }
        choose(n, best);
        changed = changed || best != before;
      }
      if (!changed) return;
    }
  }

  double total() {
    double cost = 0;
    for (size_t n = 0; n < perNode_.size(); ++n) {
      cost += option(n).seconds;
      for (const ValueId id : graph_.node(graph_.order()[n]).outputs) cost += consumersCost(id);
    }
    for (const ValueId id : graph_.inputs()) cost += consumersCost(id);
    return cost;
  }

  // Writes the choices down and inserts the reformats.
  Assignment finish() {
    Assignment result;
    const auto order = graph_.order();
    const auto formats = [&] {
      std::vector<Layout> f(graph_.valueCount(), Layout::kLinear);
      for (ValueId id = 0; id < graph_.valueCount(); ++id) {
        const auto& value = graph_.value(id);
        if (value.producer == graph::kNone || position_.contains(value.producer)) f[id] = formatOf(id);
      }
      return f;
    }();
    result.formats = formats;
    std::map<NodeId, Option> choices;
    for (size_t n = 0; n < order.size(); ++n) choices[order[n]] = option(n);
    std::map<std::pair<ValueId, Layout>, ValueId> reformatted;
    std::string borders;  // inputs and outputs that are reformatted
    const auto inFormat = [&](ValueId id, Layout to) {
      const Layout from = formats[id];
      if (from == to || graph_.value(id).constant != nullptr) return id;
      if (const auto found = reformatted.find({id, to}); found != reformatted.end()) return found->second;
      const auto& type = graph_.value(id).type;
      auto choice = viewOption(1, 1);
      if (!coincide(type.shape, from, to)) {
        choice = source_.reformat(type.dtype, evaluate(type.shape, symbols_), from, to);
        if (choice.seconds == std::numeric_limits<double>::infinity()) {
          throw Unsupported("tensor '{}' {} of {}: no kernel takes it from layout {} to {}", graph_.value(id).name,
                            text(type.shape), tenon::name(type.dtype), tenon::name(from), tenon::name(to));
        }
        if (graph_.value(id).isInput)
          borders += fmt::format("\n  input '{}' ({} in place of {})", graph_.value(id).name, tenon::name(from),
                                 tenon::name(to));
      }
      graph::Patch patch(graph_);
      const NodeId producer = graph_.value(id).producer;
      const std::vector<NodeId> origin =
          producer == graph::kNone ? std::vector<NodeId>{} : std::vector<NodeId>{producer};
      const auto name = fmt::format("Reformatting CopyNode for {} to {}", graph_.value(id).name, tenon::name(to));
      const NodeId node = patch.addNode(ops::Reformat{from, to}, name, {id}, origin);
      choices[node] = std::move(choice);
      const ValueId output = graph_.node(node).outputs[0];
      result.formats.resize(graph_.valueCount(), Layout::kLinear);
      result.formats[output] = to;
      reformatted[{id, to}] = output;
      return output;
    };
    for (size_t n = 0; n < order.size(); ++n) {
      const auto inputs = graph_.node(order[n]).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ValueId wanted = inFormat(inputs[i], option(n).candidate.inputs[i]);
        if (wanted == inputs[i]) continue;
        graph::Patch patch(graph_);
        patch.replaceUse({order[n], static_cast<int>(i)}, wanted);
        patch.commit();
      }
    }
    const auto outputs = graph_.outputs();
    for (const ValueId id : outputs) {
      const ValueId wanted = inFormat(id, graph_.value(id).constraints.layout());
      if (wanted != id) {
        const auto* const copy =
            choices.contains(graph_.value(wanted).producer) ? &choices.at(graph_.value(wanted).producer) : nullptr;
        if (copy != nullptr && copy->candidate.tactic != "view")
          borders += fmt::format("\n  output '{}' ({} in place of {})", graph_.value(id).name,
                                 tenon::name(graph_.value(id).constraints.layout()), tenon::name(formats[id]));
        graph_.replaceOutput(id, wanted);
        result.formats[wanted] = graph_.value(wanted).constraints.layout();
      }
    }
    if (options_.directIo && !borders.empty()) {
      throw Unsupported(
          "builder flag kDIRECT_IO forbids reformatting of inputs and outputs, and kernels want other layouts of:{}\n"
          "Allow those tensors kLINEAR or kHWC (setAllowedFormats), or clear the flag",
          borders);
    }
    result.choice.resize(graph_.nodeCount());
    result.isView.resize(graph_.nodeCount(), false);
    std::vector<std::pair<Problem, Option*>> chosen;
    for (auto& [id, choice] : choices) {
      if (choice.candidate.tactic == "view") continue;
      chosen.emplace_back(makeProblem(graph_, graph_.node(id), symbols_, options_), &choice);
    }
    source_.finish(chosen);
    for (auto& [id, choice] : choices) {
      result.isView[id] = choice.candidate.tactic == "view";
      result.choice[id] = std::move(choice);
    }
    return result;
  }

  Graph& graph_;
  const SymbolValues& symbols_;
  OptionSource& source_;
  const BuildOptions& options_;
  std::vector<std::map<Layout, int>> wanted_;  // by value: how many nodes want it in which format, as chosen now
  std::vector<std::vector<Option>> perNode_;
  std::vector<Problem> problems_;
  std::map<NodeId, size_t> position_;
  std::map<std::tuple<ValueId, Layout, Layout>, double> reformats_;
  std::vector<size_t> chosen_;
  bool mayBlock_ = false;  // in the present start
};

}  // namespace

bool isView(const graph::Node& node) {
  const auto facts = node.op.facts();
  return std::any_of(facts.aliases.begin(), facts.aliases.end(), [](const ops::Alias& alias) { return alias.view; });
}

Assignment assign(Graph& graph, const SymbolValues& symbols, OptionSource& source, const BuildOptions& options) {
  return Assigner(graph, symbols, source, options).run();
}

}  // namespace tenon::compile
