// Equal problems are grouped, the most expensive first; a runner-up must win twice.
#include "compile/refine.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "compile/schedule/kernel_needs.h"
#include "compile/schedule/steps.h"
#include "compile/tune/whole.h"
#include "core/error.h"
#include "core/fields.h"
#include "runtime/recording.h"

namespace tenon::compile {
namespace {

constexpr double kGain = 0.997;   // of the time as it is: what must be reached twice
constexpr double kHidden = 3e-6;  // seconds that neighbours may hide of one launch; who is slower by more stays slower

// Equal problems with equal choices.
struct Group {
  std::string problem;
  std::vector<graph::NodeId> nodes;
  double seconds = 0;  // of all together
};

struct Effort {
  size_t problems = 0;
  size_t rivals = 0;   // of each
  double seconds = 0;  // after which nothing more is tried
};

Effort effortOf(const runtime::Device& device, const BuildOptions& options) {
  if (options.optimizationLevel == 0 || options.choosesElsewhere() || options.wholeTrials == 0) return {};
  if (options.wholeTrials > 0) return {static_cast<size_t>(options.wholeTrials), kMostRivals, 60};
  // Where executions are not replayed, what others do to the machine hides what a kernel does to its neighbours.
  if (dynamic_cast<const runtime::Recorder*>(&device) == nullptr || options.optimizationLevel < 3) return {};
  if (options.optimizationLevel == 3) return {10, kMostRivals, 3};
  return options.optimizationLevel == 4 ? Effort{20, kMostRivals, 5} : Effort{40, kMostRivals, 12};
}

class Refiner {
 public:
  Refiner(const graph::Graph& graph, Assignment& assignment, const Placement& placement, const ProfileSymbols& symbols,
          const plan::Plan& facts, size_t profile, runtime::Device& device, OptionSource& source, TimingCache& cache,
          const BuildOptions& options)
      : graph_(graph),
        assignment_(assignment),
        placement_(placement),
        symbols_(symbols),
        facts_(facts),
        profile_(profile),
        device_(device),
        source_(source),
        cache_(cache),
        options_(options),
        effort_(effortOf(device, options)) {}

  void run() {
    if (effort_.problems == 0) return;
    gather();
    if (groups_.empty() || recall()) return;
    // Nothing decides that the cache does not hold.
    if (options_.errorOnTimingCacheMiss) return;
    try {
      measure();
    } catch (const Error& error) {
      options_.log->verbose("the whole engine was not measured: {}", error.what());
    }
  }

 private:
  void gather() {
    std::map<std::string, Group> groups;
    for (const auto id : graph_.order()) {
      if (assignment_.isView[id] || placement_.shared.contains(id)) continue;
      const auto& choice = assignment_.choice[id];
      const auto problem = problemOf(id).text();
      identity_ += fmt::format("{} v{} | {}\n", choice.candidate.text(), choice.record.version, problem);
      for (const auto& rival : rivalsOf(choice))
        identity_ += fmt::format("  {} v{}\n", rival.candidate.text(), rival.record.version);
      if (choice.rivals.empty()) continue;
      auto& group = groups[choice.candidate.text() + problem];
      group.problem = problem;
      group.nodes.push_back(id);
      group.seconds += choice.seconds;
    }
    for (auto& [text, group] : groups) groups_.push_back(std::move(group));
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const Group& a, const Group& b) { return a.seconds > b.seconds; });
    groups_.resize(std::min(groups_.size(), effort_.problems));
    identity_ = fmt::format("{} | whole {:016x} | ", device_.name(), hashBytes(identity_));
  }

  Problem problemOf(graph::NodeId id) const { return makeProblem(graph_, graph_.node(id), symbols_.opt, options_); }
  std::span<const Option> rivalsOf(const Option& choice) const {
    return std::span(choice.rivals).first(std::min(choice.rivals.size(), effort_.rivals));
  }
  std::string keyOf(const Group& group, const Option& option) const {
    return fmt::format("{}{} | {}", identity_, option.candidate.text(), group.problem);
  }

  void take(const Group& group, size_t rival) {
    for (const auto id : group.nodes) {
      auto option = assignment_.choice[id].rivals[rival];
      assignment_.choice[id] = std::move(option);
    }
  }

  // What the cache holds for every group; nothing changes where one is missing.
  bool recall() {
    std::vector<std::pair<const Group*, size_t>> exchanges;
    for (const auto& group : groups_) {
      const auto& choice = assignment_.choice[group.nodes[0]];
      if (cache_.find(keyOf(group, choice))) continue;
      const auto rivals = rivalsOf(choice);
      const auto found = std::find_if(rivals.begin(), rivals.end(), [&](const Option& rival) {
        return cache_.find(keyOf(group, rival)).has_value();
      });
      if (found == rivals.end()) return false;
      exchanges.emplace_back(&group, static_cast<size_t>(found - rivals.begin()));
    }
    for (const auto& [group, rival] : exchanges) take(*group, rival);
    makeReady(exchanges.size());
    options_.log->info(
        "Whole engine: {} of {} problems use another kernel than the one that is fastest by itself (from the timing "
        "cache).",
        exchanges.size(), groups_.size());
    return true;
  }

  // Machine code of what is chosen now.
  void makeReady(size_t exchanges) {
    if (exchanges == 0) return;
    std::vector<std::pair<Problem, Option*>> chosen;
    for (const auto& group : groups_) {
      for (const auto id : group.nodes) chosen.emplace_back(problemOf(id), &assignment_.choice[id]);
    }
    source_.finish(chosen);
  }

  void measure() {
    const auto running = source_.stages().run("tuning: the whole engine");
    const auto start = std::chrono::steady_clock::now();
    std::vector<int32_t> stepOf;
    Whole whole(scratchPlan(stepOf), symbols_.opt, *options_.log);
    double last = 0;
    double part = 1;  // of the time at first: clocks change, so only what raced side by side is compared
    size_t exchanged = 0;
    for (const auto& group : groups_) {
      std::vector<int32_t> steps;
      for (const auto id : group.nodes) steps.push_back(stepOf[id]);
      // Rivals of what stood there at first.
      const auto rivals = assignment_.choice[group.nodes[0]].rivals;
      const double own = assignment_.choice[group.nodes[0]].seconds;
      size_t best = rivals.size();
      for (size_t r = 0; r < std::min(rivals.size(), effort_.rivals); ++r) {
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > effort_.seconds) break;
        if (rivals[r].seconds > own + kHidden) break;  // and those behind it
        if (!offer(whole, group, steps, rivals[r])) continue;
        auto race = whole.race();
        last = race.present;
        const bool once = race.offered < race.present * kGain;
        if (once) race = whole.race();
        const bool wins = once && race.offered < race.present * kGain;
        options_.log->verbose("whole engine {:.3f} us; {:.3f} us with {} for {} of {}", race.present * 1e6,
                              race.offered * 1e6, rivals[r].candidate.text(), group.nodes.size(), group.problem);
        if (!wins) continue;
        whole.accept();
        last = race.offered;
        part *= race.offered / race.present;
        best = r;
      }
      if (best == rivals.size()) continue;
      take(group, best);
      ++exchanged;
    }
    for (const auto& group : groups_) cache_.insert(keyOf(group, assignment_.choice[group.nodes[0]]), last);
    makeReady(exchanged);
    options_.log->info(
        "Whole engine: {} of {} problems use another kernel than the one that is fastest by itself; {:.4f} ms, {:.1f} "
        "% less.",
        exchanged, groups_.size(), last * 1e3, 100 * (1 - part));
  }

  bool offer(Whole& whole, const Group& group, std::span<const int32_t> steps, Option rival) {
    try {
      const std::pair<Problem, Option*> chosen(problemOf(group.nodes[0]), &rival);
      source_.finish({&chosen, 1});
      whole.offer(steps, rival.record, rival.nativeCode);
      return true;
    } catch (const Error& error) {
      options_.log->verbose("{} is not measured in the whole engine: {}", rival.candidate.text(), error.what());
      return false;
    }
  }

  // The plan as it would be, with this profile alone.
  plan::Plan scratchPlan(std::vector<int32_t>& stepOf) {
    NullLog silent;
    plan::Plan plan;
    plan.name = facts_.name;
    plan.tenonVersion = facts_.tenonVersion;
    plan.target = facts_.target;
    plan.io = facts_.io;
    plan.symbols = facts_.symbols;
    plan.shapes = facts_.shapes;
    plan.profiles = {facts_.profiles[profile_]};
    ConstantPool constants(plan);
    NativeCodePool native(plan);
    const auto needs = askKernels(graph_, assignment_, placement_, symbols_, silent);
    plan.programs.push_back(
        makeProgram(graph_, assignment_, placement_, needs, symbols_, facts_, constants, native, 0, silent, &stepOf));
    const auto& tensors = plan.programs[0].tensors;
    const bool onHost = !device_.isHost() &&
                        std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.onHost; });
    if (onHost) throw Unsupported("the step has tensors on the host");
    return plan;
  }

  const graph::Graph& graph_;
  Assignment& assignment_;
  const Placement& placement_;
  const ProfileSymbols& symbols_;
  const plan::Plan& facts_;
  const size_t profile_;
  runtime::Device& device_;
  OptionSource& source_;
  TimingCache& cache_;
  const BuildOptions& options_;
  const Effort effort_;
  std::vector<Group> groups_;
  std::string identity_;  // of the choices, as the beginning of keys
};

}  // namespace

bool finishesWithWhole(const runtime::Device& device, const BuildOptions& options) {
  return effortOf(device, options).problems != 0;
}

void refine(const graph::Graph& graph, Assignment& assignment, const Placement& placement,
            const ProfileSymbols& symbols, const plan::Plan& facts, size_t profile, runtime::Device& device,
            OptionSource& source, TimingCache& cache, const BuildOptions& options) {
  Refiner(graph, assignment, placement, symbols, facts, profile, device, source, cache, options).run();
}

}  // namespace tenon::compile
