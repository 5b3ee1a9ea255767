// Equal problems are looked at once; which kernels run between is measured at three places on the way to the opt
// shapes.
#include "compile/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "compile/schedule/kernel_needs.h"
#include "compile/tune/policy.h"
#include "core/environment.h"
#include "core/error.h"
#include "graph/phases.h"
#include "ops/op/plugin.h"
#include "ops/op/reformat.h"
#include "ops/within.h"
#include "plan/range_kernels.h"
#include "runtime/keeper.h"
#include "runtime/packer.h"

namespace tenon::compile {
namespace {

constexpr double kGain = 0.9;        // of the choice's time: what another kernel may take at most
constexpr double kAlike = 0.95;      // of a kernel's time: it stays where another one does not take less
constexpr double kPaysMemory = 0.5;  // the same where it has the weights on the device a second time
constexpr double kShare = 0.015;     // of the time of all: who takes less is not looked at
constexpr int64_t kFar = 2;          // times as many elements, or as few
constexpr size_t kOfTactic = 5;      // candidates that are measured at the end of the way
constexpr size_t kBetween = 2;       // and in its middle
constexpr size_t kFinalists = 2;     // of each of both, that are tried at all places
constexpr size_t kRivals = 1;        // and as many of those that were hardly slower than the choice at the opt shapes
constexpr size_t kPlaces = 4;        // of the way: its ends are the opt shapes and the others

using Way = std::array<SymbolValues, kPlaces + 1>;

struct Group {
  std::vector<graph::NodeId> nodes;
  Option* taken = nullptr;
  Problem problem;  // at the end of the way
  Problem middle;
  double seconds = 0;
};

// Extents on the way, each at the same part of the ratio of the ends.
int64_t between(int64_t from, int64_t to, double part) {
  if (from <= 0 || to <= 0) return from + std::llround(static_cast<double>(to - from) * part);
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  return std::llround(static_cast<double>(from) * std::pow(ratio, part));
}

class Ranger {
 public:
  Ranger(const graph::Graph& graph, Assignment& assignment, const Placement& placement, const ProfileSymbols& symbols,
         const std::map<std::string, plan::InputRange>& profile, OptionSource& source, const BuildOptions& options)
      : graph_(graph),
        assignment_(assignment),
        placement_(placement),
        symbols_(symbols),
        profile_(profile),
        source_(source),
        options_(options) {}

  void run() {
    if (symbols_.min != symbols_.opt)
      look("min", symbols_.min, [](const plan::InputRange& range) { return Ends{&range.min, &range.minValues}; });
    if (symbols_.max != symbols_.opt)
      look("max", symbols_.max, [](const plan::InputRange& range) { return Ends{&range.max, &range.maxValues}; });
  }

 private:
  struct Ends {
    const Dims* dims;
    const std::vector<int64_t>* values;
  };

  template <typename EndOf>
  void look(std::string_view name, const SymbolValues& end, EndOf endOf) {
    const auto& order = graph_.order();
    if (std::none_of(order.begin(), order.end(), [&](graph::NodeId id) { return isWanted(id, end); })) return;
    const Way way = wayTo(end, endOf);
    auto groups = gather(way);
    double total = 0;
    for (auto& group : groups) {
      group.seconds = source_.secondsAt(group.problem, std::array{group.taken})[0];
      if (std::isfinite(group.seconds)) total += group.seconds * static_cast<double>(group.nodes.size());
    }
    std::vector<const Group*> dear;
    std::vector<Elsewhere> asked;
    for (const auto& group : groups) {
      const double all = group.seconds * static_cast<double>(group.nodes.size());
      if (!std::isfinite(all) || all < kShare * total) continue;
      dear.push_back(&group);
      asked.push_back({&graph_.node(group.nodes[0]), &group.problem, group.taken, kOfTactic});
      asked.push_back({&graph_.node(group.nodes[0]), &group.middle, group.taken, kBetween});
    }
    auto found = source_.replacements(asked);
    size_t changed = 0;
    double saved = 0;
    for (size_t i = 0; i < dear.size(); ++i) {
      const auto& group = *dear[i];
      const auto finalists = finalistsOf(group, found[2 * i], found[2 * i + 1]);
      if (finalists.empty() || !takeAlong(name, group, finalists, way)) continue;
      ++changed;
      saved += (group.seconds - finalists[0].seconds) * static_cast<double>(group.nodes.size());
    }
    options_.log->info(
        "Tactic ranges: {} of {} problems have another kernel towards the {} shapes, where all take {:.4f} "
        "ms in place of {:.4f}.",
        changed, groups.size(), name, (total - saved) * 1e3, total * 1e3);
  }

  int64_t elementsOf(graph::NodeId id, const SymbolValues& values) const {
    const auto& node = graph_.node(id);
    std::vector<const Shape*> shapes;
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const auto value : *ids) shapes.push_back(&graph_.value(value).type.shape);
    }
    return plan::openElements(shapes, values);
  }

  // Whether other extents are far away, and there is something to choose.
  bool isWanted(graph::NodeId id, const SymbolValues& end) const {
    if (assignment_.isView[id] || placement_.shared.contains(id)) return false;
    const auto& op = graph_.node(id).op;
    if (!op.facts().deterministic || op.facts().sideEffects || op.as<ops::Reformat>() != nullptr) return false;
    if (op.as<ops::Plugin>() != nullptr || ops::holds<ops::Plugin>(op) || ops::hasRegions(op)) return false;
    const int64_t here = elementsOf(id, symbols_.opt);
    const int64_t there = elementsOf(id, end);
    return here > 0 && there > 0 && std::max(here, there) / kFar >= std::min(here, there);
  }

  std::vector<Group> gather(const Way& way) {
    const auto& end = way.back();
    const auto& middle = way[kPlaces / 2].empty() ? end : way[kPlaces / 2];
    std::map<std::string, size_t> known;
    std::vector<Group> groups;
    for (const auto id : graph_.order()) {
      if (!isWanted(id, end)) continue;
      const auto& node = graph_.node(id);
      auto& taken = assignment_.choice[id];
      auto there = makeProblem(graph_, node, end, options_);
      auto between = makeProblem(graph_, node, middle, options_);
      there.more = between.more = 0;
      const auto here = makeProblem(graph_, node, symbols_.opt, options_).text();
      const auto key = fmt::format("{}|{}|{}|{}", taken.candidate.text(), node.device, here, there.text());
      const auto [at, isNew] = known.try_emplace(key, groups.size());
      if (isNew) groups.push_back({{}, &taken, std::move(there), std::move(between), 0});
      groups[at->second].nodes.push_back(id);
    }
    return groups;
  }

  // What may run instead of the choice: first what does at the end of the way, if it is clearly faster, then what may
  // be the fastest between, with constants as one of both reads them.
  std::vector<Option> finalistsOf(const Group& group, std::vector<Option>& atEnd, std::vector<Option>& between) const {
    std::vector<Option> result;
    const auto isFaster = [&](const Option& option) { return option.seconds <= kGain * group.seconds; };
    if (std::none_of(atEnd.begin(), atEnd.end(), isFaster)) return result;
    const auto own = formsOf(group, *group.taken);
    auto other = own;
    const auto add = [&](Option option, bool decides) {
      const auto isSame = [&](const Option& known) { return known.candidate.text() == option.candidate.text(); };
      if (std::any_of(result.begin(), result.end(), isSame)) return;
      finish(group, option);
      const auto forms = formsOf(group, option);
      if (decides && (forms == own || option.seconds <= kPaysMemory * group.seconds)) other = forms;
      if (forms == own || forms == other) result.push_back(std::move(option));
    };
    sortBest(atEnd);
    for (const auto& option : atEnd) {
      if (result.size() < kFinalists && (!result.empty() || isFaster(option))) add(option, result.empty());
    }
    if (result.empty()) return result;
    sortBest(between);
    for (const auto* more : {&between, &group.taken->rivals}) {
      for (size_t i = 0; i < std::min(more->size(), more == &between ? kFinalists : kRivals); ++i)
        add((*more)[i], false);
    }
    return result;
  }

  // As the policy would choose one after the other.
  static void sortBest(std::vector<Option>& options) {
    for (size_t i = 0; i < options.size(); ++i) {
      std::vector<Scored> scored;
      for (size_t k = i; k < options.size(); ++k)
        scored.push_back({options[k].seconds, options[k].rank, options[k].candidate.text()});
      std::swap(options[i], options[i + choose(scored)]);
    }
  }

  void finish(const Group& group, Option& option) const {
    const std::pair<Problem, Option*> chosen(group.problem, &option);
    source_.finish({&chosen, 1});
  }

  // What a kernel reads its constants as; "held" where it has them itself.
  std::string formsOf(const Group& group, const Option& option) const {
    std::vector<TensorView> constants;
    bool hasConstants = false;
    for (const auto& input : group.problem.inputs) {
      constants.push_back(input.constant != nullptr ? input.constant->view() : TensorView{});
      hasConstants |= input.constant != nullptr;
    }
    if (!hasConstants) return {};
    const auto kernel = runtime::backend(option.record.backend)
                            .load({option.record, constants, option.nativeCode, *options_.log, true});
    if (dynamic_cast<const runtime::Keeper*>(kernel.get()) != nullptr) return "held by " + option.candidate.text();
    std::string result;
    for (const auto& form : runtime::packedForms(*kernel, constants, option.candidate.outputs[0]))
      result += fmt::format("{} {};", fmt::join(form.inputs, ","), form.recipe);
    return result;
  }

  template <typename EndOf>
  Way wayTo(const SymbolValues& end, EndOf endOf) const {
    Way way;
    way.front() = symbols_.opt;
    way.back() = end;
    for (size_t i = 1; i < kPlaces; ++i) {
      const double part = static_cast<double>(i) / kPlaces;
      auto profile = profile_;
      for (auto& [input, range] : profile) {
        const Ends ends = endOf(profile_.at(input));
        for (int axis = 0; axis < range.opt.rank; ++axis)
          range.opt[axis] = between(range.opt[axis], (*ends.dims)[axis], part);
        for (size_t k = 0; k < range.optValues.size(); ++k)
          range.optValues[k] = between(range.optValues[k], (*ends.values)[k], part);
      }
      try {
        way[i] = bindProfile(graph_, profile).opt;
      } catch (const UserError&) {  // extents that do not fit together: this place is left out
      }
    }
    return way;
  }

  // The fastest at a place of the way; null: the choice. What is hardly slower stays: the choice, or what runs at the
  // next place.
  const Option* fastestAt(const Group& group, std::span<const Option> finalists, const SymbolValues& values,
                          const Option* next) const {
    std::vector<const Option*> options{group.taken};
    for (const auto& option : finalists) options.push_back(&option);
    const auto problem = makeProblem(graph_, graph_.node(group.nodes[0]), values, options_);
    const auto seconds = source_.secondsAt(problem, options);
    const auto best = std::min_element(seconds.begin(), seconds.end());
    if (!std::isfinite(*best) || *best >= kGain * seconds[0]) return nullptr;
    const auto there = std::find(options.begin(), options.end(), next);
    if (*best >= kAlike * seconds[static_cast<size_t>(there - options.begin())]) return next;
    return options[static_cast<size_t>(best - seconds.begin())];
  }

  // Elements where the kernels of a place and of the one before it change.
  int64_t border(const Group& group, const Way& way, size_t place) const {
    const auto id = group.nodes[0];
    size_t before = place - 1;
    while (before > 0 && way[before].empty()) --before;
    return between(elementsOf(id, way[before]), elementsOf(id, way[place]), 0.5);
  }

  // Walks from the end of the way to the opt shapes. False where nothing changes.
  bool takeAlong(std::string_view name, const Group& group, std::span<const Option> finalists, const Way& way) {
    const auto id = group.nodes[0];
    const bool isLarge = elementsOf(id, way[kPlaces]) > elementsOf(id, symbols_.opt);
    const Option* now = &finalists[0];
    size_t last = kPlaces;  // the farthest place at which it runs
    int64_t farthest = isLarge ? INT64_MAX : 0;
    bool isTaken = false;
    for (size_t place = kPlaces; now != nullptr && place > 0; --place) {
      const bool isLast = place == 1;
      if (!isLast && way[place - 1].empty()) continue;
      const auto* const next = isLast ? nullptr : fastestAt(group, finalists, way[place - 1], now);
      if (next == now) continue;
      int64_t nearest = border(group, way, place);
      if (!isLarge) nearest = std::min(nearest, elementsOf(id, symbols_.opt) - 1);
      const Interval elements = isLarge ? Interval{nearest + 1, farthest} : Interval{farthest, nearest};
      std::vector<NamedExtents> at;
      for (size_t i = place; i <= last; ++i) {
        if (!way[i].empty()) at.push_back({name, &way[i]});
      }
      isTaken |= take(group, *now, elements, at);
      farthest = isLarge ? nearest : nearest + 1;
      last = place - 1;
      now = next;
    }
    return isTaken;
  }

  // False where it does not take all extents that it would be for.
  bool take(const Group& group, Option option, const Interval& elements, std::span<const NamedExtents> at) {
    if (elements.low > elements.high) return false;
    const auto needs = askKernel(graph_, assignment_, group.nodes[0], option, at, *options_.log);
    if (!needs.refused.empty()) {
      options_.log->verbose("{} is not taken towards the {} shapes: {}", option.candidate.text(), needs.refused,
                            needs.refusal);
      return false;
    }
    option.workspaceBytes = needs.workspaceBytes;
    if (!needs.implementation.empty()) option.record.params = needs.implementation;
    options_.log->verbose("{} in place of {} from {} to {} elements, of {} nodes like {}", option.candidate.text(),
                          group.taken->candidate.text(), elements.low, elements.high, group.nodes.size(),
                          group.problem.text());
    for (const auto node : group.nodes) {
      auto& others = assignment_.others[node];
      const auto place = std::find_if(others.begin(), others.end(),
                                      [&](const RangeOption& other) { return other.elements.low > elements.high; });
      others.insert(place, {option, elements});
    }
    return true;
  }

  const graph::Graph& graph_;
  Assignment& assignment_;
  const Placement& placement_;
  const ProfileSymbols& symbols_;
  const std::map<std::string, plan::InputRange>& profile_;
  OptionSource& source_;
  const BuildOptions& options_;
};

// A choice that somebody else has made stands for all extents. On a host a measurement at large extents takes longer as
// they are larger, so that builds of the usual level would be many times as long.
bool isWanted(const graph::Graph& graph, const runtime::Device& device, const BuildOptions& options) {
  constexpr int kLevel = 3, kLevelOnHost = 4;
  return switchedOn("TENON_TACTIC_RANGES", true) &&
         options.optimizationLevel >= (device.isHost() ? kLevelOnHost : kLevel) && !options.choosesElsewhere() &&
         !options.editableTimingCache && graph::phasesOf(graph).count == 1;
}

}  // namespace

void chooseRanges(const graph::Graph& graph, Assignment& assignment, const Placement& placement,
                  const ProfileSymbols& symbols, const plan::Plan& facts, size_t profile, const runtime::Device& device,
                  OptionSource& source, const BuildOptions& options) {
  if (!isWanted(graph, device, options)) return;
  const auto running = source.stages().run("tactic ranges in total");
  Ranger(graph, assignment, placement, symbols, facts.profiles[profile], source, options).run();
}

}  // namespace tenon::compile
