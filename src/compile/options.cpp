// Candidates of a problem with their times: from the cache where it knows them, else measured.
#include <algorithm>
#include <limits>
#include <optional>

#include "compile/announced.h"
#include "compile/assignment.h"
#include "compile/phase.h"
#include "compile/proposals.h"
#include "compile/refine.h"
#include "compile/tune/selections.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"
#include "ops/op/plugin.h"
#include "ops/op/reformat.h"
#include "ops/op/scatter.h"
#include "ops/within.h"
#include "runtime/configure.h"

namespace tenon::compile {
namespace {

constexpr double kUntried = 1e6;  // seconds of what is not measured
constexpr double kNever = 1e9;    // of what cannot be used: computes something else, or is refused

// Whether there is anything to compute.
bool runs(const Problem& problem) {
  return std::any_of(problem.outputs.begin(), problem.outputs.end(),
                     [](const auto& output) { return output.dims.count() != 0; });
}

// What a candidate asks for at the problem's shapes, whether it was measured or not.
uint64_t workspaceOf(const Problem& problem, const Option& option, Log& log) {
  std::vector<TensorView> constants;
  std::vector<runtime::TensorShape> inputs, outputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const auto& in = problem.inputs[i];
    constants.push_back(in.constant != nullptr ? in.constant->view() : TensorView{});
    inputs.push_back({in.dtype, in.dims, option.candidate.inputs[i]});
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    outputs.push_back({problem.outputs[i].dtype, problem.outputs[i].dims, option.candidate.outputs[i]});
  }
  try {
    const auto kernel =
        runtime::backend(option.record.backend).load({option.record, constants, option.nativeCode, log, true});
    return runtime::configure(*kernel->instantiate(), {inputs, outputs, &problem.symbols});
  } catch (const Error&) {
    return option.workspaceBytes;  // who chooses it will hear the reason
  }
}

}  // namespace

OptionSource::OptionSource(runtime::Device& device, const BuildOptions& options, TimingCache& cache, Stages& stages)
    : device_(device), options_(options), cache_(cache), stages_(stages) {
  profiler_ = makeDeviceProfiler(device, options.averageTimingIterations, stages, *options.log);
  selections_ = std::make_unique<Selections>(device.name(), options, cache);
  preparation_ = std::make_unique<Preparation>();
}

OptionSource::~OptionSource() = default;

// Data of measurements would decide how often a loop runs, say, or how much a branch finds: it may not end, or not fit.
bool OptionSource::measures(const Problem& problem, const Proposals& proposals) const {
  return options_.optimizationLevel > 0 && runs(problem) && !ops::hasRegions(problem.op) &&
         (proposals.list.size() > 1 || (timesSingles_ && !proposals.list.empty()));
}

bool OptionSource::triesBlocks() const {
  return device_.isHost() && options_.optimizationLevel > 0 && options_.maxTactics < 0 && !options_.choosesElsewhere();
}

const std::vector<Option>& OptionSource::options(const graph::Node& node, const Problem& problem, bool blocks) {
  const auto key = keyOf(node, problem) + (blocks ? "|blocks" : "");
  const auto found = known_.find(key);
  if (found != known_.end() && !options_.choosesElsewhere()) return found->second;
  return known_.insert_or_assign(key, collect(node, problem, blocks || options_.choosesElsewhere())).first->second;
}

void OptionSource::measureAgain(const graph::Node& node, const Problem& problem, bool blocks) {
  again_ = true;
  known_.insert_or_assign(keyOf(node, problem) + (blocks ? "|blocks" : ""), collect(node, problem, blocks));
  again_ = false;
}

std::vector<Option> OptionSource::collect(const graph::Node& node, const Problem& problem, bool blocks) {
  Proposals proposals;
  if (const auto found = announced_.find(keyOf(node, problem)); found != announced_.end()) {
    {
      const auto running = stages_.run("tactics: machine code and library plans");
      for (const auto& ticket : found->second->made) preparation_->wait(ticket);
    }
    proposals = std::move(found->second->proposals);
    announced_.erase(found);
  } else {
    const auto running = stages_.run("tactics: candidates");
    proposals = propose(node, problem, device_, options_);
  }
  const auto& excluded = excluded_[keyOf(node, problem)];
  const auto& leftOut = leftOut_[keyOf(node, problem)];
  std::erase_if(proposals.list, [&](const Proposal& proposal) {
    const auto text = proposal.option.candidate.text();
    return excluded.contains(text) || leftOut.contains(text);
  });
  for (const auto& [candidate, reason] : excluded) proposals.refusals += fmt::format("\n  {}: {}", candidate, reason);
  const bool isPlugin = problem.op.as<ops::Plugin>() != nullptr;  // which may take nothing but blocks
  if (!blocks && !isPlugin)
    std::erase_if(proposals.list, [](const Proposal& proposal) { return hasBlocks(proposal.option.candidate); });
  if (measures(problem, proposals)) {
    time(problem, proposals);
    selections_->note(problem, proposals.list);
  }
  return usableOf(node, problem, proposals);
}

std::vector<Option> OptionSource::selected(const graph::Node& node, const Problem& problem) {
  const auto selection = selections_->find(node, problem);
  if (!selection) return {};
  auto proposals = propose(node, problem, device_, options_);
  selections_->keepOnly(*selection, node, problem, proposals);
  return usableOf(node, problem, proposals);
}

void OptionSource::report(const graph::Node& node, const Problem& problem, const Option& choice) {
  selections_->report(node, problem, choice);
}

// Without those that need too much workspace or failed; of each combination of formats the best.
std::vector<Option> OptionSource::usableOf(const graph::Node& node, const Problem& problem, Proposals& proposals) {
  auto& refusals = proposals.refusals;
  if (runs(problem) && device_.isHost() && (options_.workspaceLimit != UINT64_MAX || asksSelector(node))) {
    for (auto& proposal : proposals.list) {
      auto& option = proposal.option;
      if (!proposal.knowsWorkspace) option.workspaceBytes = workspaceOf(problem, option, *options_.log);
    }
  }
  std::vector<const Option*> usable;
  for (const auto& proposal : proposals.list) {
    const auto& option = proposal.option;
    if (option.workspaceBytes > options_.workspaceLimit) {
      refusals += fmt::format("\n  {}: needs {} bytes of workspace, the limit is {}", option.candidate.text(),
                              option.workspaceBytes, options_.workspaceLimit);
    } else if (!(option.seconds < kNever)) {
      refusals += fmt::format("\n  {}: failed when it was measured{}{}", option.candidate.text(),
                              proposal.complaint.empty() ? "" : ": ", proposal.complaint);
    } else {
      usable.push_back(&option);
    }
  }
  if (usable.empty()) {
    throw Unsupported("could not find any implementation for node '{}' ({}). Candidates:{}", node.name, problem.text(),
                      refusals.empty() ? "\n  none: the device has no tactics" : refusals);
  }
  if (asksSelector(node)) usable = selectedOf(node, problem, usable, measures(problem, proposals));
  const bool measured = measures(problem, proposals);
  const auto taken = [&](size_t i) {
    Option option = *usable[i];
    if (const size_t other = pitchedWinner(usable, i); other < usable.size()) option.spare.push_back(*usable[other]);
    if (!measured || !finishesWithWhole(device_, options_)) return option;
    for (const size_t other : rivalsOf(usable, i)) option.rivals.push_back(*usable[other]);
    return option;
  };
  std::vector<Option> result;
  for (const size_t i : winners(usable)) {
    result.push_back(taken(i));
    if (!measured || !finishesWithWhole(device_, options_)) continue;
    if (const size_t other = ownWinner(usable, i); other < usable.size()) result.back().own.push_back(taken(other));
  }
  return result;
}

// Reformats go with the choices around them.
bool OptionSource::asksSelector(const graph::Node& node) const {
  return options_.selector != nullptr && graph_ != nullptr && node.op.as<ops::Reformat>() == nullptr;
}

std::vector<const Option*> OptionSource::selectedOf(const graph::Node& node, const Problem& problem,
                                                    const std::vector<const Option*>& usable, bool measured) const {
  std::vector<Choice> choices;
  for (const auto* option : usable)
    choices.push_back(
        {option->candidate, measured && option->seconds < kUntried ? option->seconds : 0, option->workspaceBytes});
  const NodeQuestion question{node, makeProblem(*graph_, node, symbols_->min, options_), problem,
                              makeProblem(*graph_, node, symbols_->max, options_)};
  std::vector<const Option*> result;
  for (const size_t i : options_.selector->select(question, choices)) result.push_back(usable.at(i));
  checkInternal(!result.empty(), "a selector left no candidate of node '{}'", node.name);
  return result;
}

bool OptionSource::exclude(const graph::Node& node, const Problem& problem, const Candidate& candidate,
                           const std::string& reason) {
  const auto key = keyOf(node, problem);
  const bool isNew = node.op.as<ops::Reformat>() == nullptr && excluded_[key].emplace(candidate.text(), reason).second;
  if (!isNew) return false;  // a reformat, which has one candidate; or a node like one that was told so already
  options_.log->verbose("node '{}': {} {}; another candidate is chosen", node.name, candidate.text(), reason);
  known_.erase(key);
  known_.erase(key + "|blocks");
  leftOut_.erase(key);  // one of them may be what takes all shapes
  return true;
}

// On devices whose kernels come from libraries, results are compared before a candidate may win; a time in the cache
// says that they were. The one of the highest rank is the plainest code, and trusted.
void OptionSource::trust(const Problem& problem, Proposals& proposals) {
  trusted_.clear();
  trustedTactic_ = {};
  if (device_.isHost() || !problem.op.facts().deterministic) return;
  // Which of several updates of an element is the last depends on the order of threads, and test data has such.
  if (problem.op.as<ops::Scatter>() != nullptr) return;
  Proposal* best = nullptr;
  int compared = 0;
  for (auto& proposal : proposals.list) {
    const auto& option = proposal.option;
    if (option.rank >= kLastResortRank) continue;
    if (!cache_.find(proposal.key)) ++compared;
    const auto linear = [](Layout format) { return format == Layout::kLinear; };
    if (!std::all_of(option.candidate.inputs.begin(), option.candidate.inputs.end(), linear)) continue;
    if (!std::all_of(option.candidate.outputs.begin(), option.candidate.outputs.end(), linear)) continue;
    if (best == nullptr || option.rank > best->option.rank) best = &proposal;
  }
  if (best == nullptr || compared == 0) return;
  makeReady(problem, *best);
  if (!best->failure.empty()) return;
  const auto& option = best->option;
  trustedSeconds_ = profiler_->trust(problem, option.candidate, option.record, option.nativeCode);
  trusted_ = best->key;
  trustedTactic_ = best->tactic->name();
}

void OptionSource::step(int index) const {
  if (phase_ != nullptr) phase_->step(index);
}

void OptionSource::time(const Problem& problem, Proposals& proposals) {
  auto& list = proposals.list;
  std::vector<size_t> order(list.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return list[a].option.rank < list[b].option.rank; });
  trust(problem, proposals);
  const auto glanced = glance(problem, proposals);
  double best = std::numeric_limits<double>::infinity();
  constexpr double kWorthAgain = 1.2;  // of the best so far: what is slower is not measured again
  double known = std::numeric_limits<double>::infinity();
  for (const auto& proposal : list) known = std::min(known, cache_.find(proposal.key).value_or(known));
  int timed = 0;
  std::optional<Phase> phase;  // only where something is measured
  for (const size_t i : order) {
    auto& proposal = list[i];
    auto& option = proposal.option;
    // The last resort is slow to time and needs it only when nothing else stands.
    if (option.rank >= kLastResortRank && best < kNever) {
      option.seconds = kUntried;
      continue;
    }
    const auto seconds = cache_.find(proposal.key);
    if (glanced.contains(proposal.key)) {
      // Its time is that of one run.
    } else if (seconds && !(again_ && fresh_.contains(proposal.key) && *seconds < kWorthAgain * known)) {
      option.seconds = *seconds;
      if (!fresh_.contains(proposal.key)) ++cached_;
    } else {
      checkUser(!options_.errorOnTimingCacheMiss || !proposal.remembered,
                "the timing cache has no entry for '{}', and BuilderFlag::kERROR_ON_TIMING_CACHE_MISS is set",
                proposal.key);
      if (options_.maxTactics >= 0 && timed >= std::max(1, options_.maxTactics)) {
        option.seconds = kUntried;
        continue;
      }
      if (!phase)
        phase.emplace(options_.progress, fmt::format("Timing {}", problem.op.name()), phase_,
                      static_cast<int>(order.size()));
      measure(problem, proposal, best);
      phase->step(timed++);
    }
    best = std::min(best, option.seconds);
  }
}

// Of the many candidates of a tactic, one run of each says which are worth a measurement; the time of that run is what
// the others have. Returns their keys.
std::set<std::string> OptionSource::glance(const Problem& problem, Proposals& proposals) {
  constexpr size_t kMany = 32;
  constexpr size_t kWorthwhile = 8;
  std::map<std::string_view, std::vector<Proposal*>> unknown;
  for (auto& proposal : proposals.list) {
    if (!cache_.find(proposal.key) && proposal.option.rank < kLastResortRank)
      unknown[proposal.tactic->name()].push_back(&proposal);
  }
  std::set<std::string> keys;
  for (auto& [tactic, several] : unknown) {
    if (several.size() < kMany || options_.errorOnTimingCacheMiss || options_.maxTactics >= 0) continue;
    std::map<const Proposal*, Measurement> seen;
    for (auto* proposal : several) {
      const auto& option = proposal->option;
      makeReady(problem, *proposal);
      seen[proposal] = proposal->failure.empty()
                           ? profiler_->glance(problem, option.candidate, option.record, option.nativeCode)
                           : Measurement{std::numeric_limits<double>::infinity(), 0, proposal->failure, true, true};
    }
    std::stable_sort(several.begin(), several.end(),
                     [&](const Proposal* a, const Proposal* b) { return seen[a].seconds < seen[b].seconds; });
    for (size_t i = kWorthwhile; i < several.size(); ++i) {
      remember(*several[i], seen[several[i]]);
      keys.insert(several[i]->key);
    }
  }
  return keys;
}

void OptionSource::measure(const Problem& problem, Proposal& proposal, double best) {
  constexpr double kSlow = 1e-3;  // seconds of a first run whose set-up no longer counts
  constexpr double kHopeless = 3;
  constexpr double kHopelessToo = 10;  // of the same code for other formats
  auto& option = proposal.option;
  Measurement measurement;
  const bool isAlike = proposal.tactic->name() == trustedTactic_;
  const double hopeless = proposal.key == trusted_ ? kHopeless : kHopelessToo;
  if (isAlike && trustedSeconds_ > kSlow && trustedSeconds_ > hopeless * best) {
    measurement.seconds = trustedSeconds_;
  } else {
    makeReady(problem, proposal);
    measurement = proposal.failure.empty()
                      ? profiler_->measure(problem, option.candidate, option.record, option.nativeCode, best)
                      : Measurement{std::numeric_limits<double>::infinity(), 0, proposal.failure, true, true};
  }
  if (remember(proposal, measurement)) fresh_.insert(proposal.key);
}

// What was measured, for the log, the cache and the choice. Whether it is a time.
bool OptionSource::remember(Proposal& proposal, const Measurement& measurement) {
  auto& option = proposal.option;
  ++measured_;
  if (!measurement.failure.empty()) {
    proposal.complaint = measurement.failure;
    // A refusal is one candidate less; anything else is worth knowing.
    const auto message = fmt::format("tactic {}: {}", option.candidate.text(), measurement.failure);
    measurement.refused ? options_.log->verbose("{}", message) : options_.log->warning("{}", message);
  }
  option.workspaceBytes = measurement.workspaceBytes;
  proposal.knowsWorkspace = measurement.failure.empty();
  option.seconds = measurement.lasting ? kNever : measurement.seconds;
  const bool isTime = option.seconds < std::numeric_limits<double>::infinity();
  if (isTime && proposal.remembered) {
    cache_.insert(proposal.key, std::min(option.seconds, cache_.find(proposal.key).value_or(option.seconds)));
  }
  option.seconds = cache_.find(proposal.key).value_or(option.seconds);
  options_.log->verbose("timed {}: {:.3f} us", option.candidate.text(), option.seconds * 1e6);
  return isTime;
}

void OptionSource::finish(std::span<const std::pair<Problem, Option*>> chosen) {
  const auto running = stages_.run("chosen kernels: machine code and library plans");
  std::map<std::string, const Tactic*> tactics;
  for (const auto& source : tacticSources()) {
    for (const auto* tactic : source.tactics) tactics.emplace(tactic->name(), tactic);
  }
  std::map<std::string, std::vector<size_t>> alike;  // made once
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto& [problem, option] = chosen[i];
    if (!option->ready) alike[option->candidate.text() + problem.text()].push_back(i);
  }
  std::vector<const std::vector<size_t>*> groups;
  for (const auto& [text, group] : alike) groups.push_back(&group);
  const auto make = [&](size_t g) {
    const auto& [problem, option] = chosen[groups[g]->front()];
    Proposal proposal{*option, tactics.at(option->candidate.tactic), "", "", true};
    makeReady(problem, proposal);
    if (!proposal.failure.empty())
      throw Unsupported("{} was chosen, but cannot be prepared: {}", option->candidate.text(), proposal.failure);
    for (const size_t i : *groups[g]) *chosen[i].second = proposal.option;
  };
  if (!device_.isHost()) return inParallel(groups.size(), make);
  for (size_t g = 0; g < groups.size(); ++g) make(g);
}

const Option& OptionSource::reformat(DataType dtype, const Dims& dims, Layout from, Layout to) {
  const auto key = fmt::format("{} {} {} {}", name(dtype), dims.text(), name(from), name(to));
  const auto found = reformats_.find(key);
  if (found != reformats_.end()) return found->second;
  Option best;
  best.seconds = std::numeric_limits<double>::infinity();
  const ops::Operator op = ops::Reformat{from, to};
  const Problem problem{op, {{dtype, dims, nullptr}}, {{dtype, dims, nullptr}}, {}};
  const graph::Node node{op, "reformat", {}, {}, {}, {}};
  try {
    for (const auto& option : collect(node, problem, true)) {
      if (option.candidate.inputs[0] != from || option.candidate.outputs[0] != to) continue;
      if (option.seconds < best.seconds) best = option;
    }
  } catch (const Unsupported&) {
    // No tactic: the infinite time says so.
  }
  return reformats_.emplace(key, std::move(best)).first->second;
}

}  // namespace tenon::compile
