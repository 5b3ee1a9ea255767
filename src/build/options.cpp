// Candidates of a problem with their times: from the cache where it knows them, else measured.
#include <algorithm>
#include <limits>

#include "build/assignment.h"
#include "build/tune/timing_cache.h"
#include "core/error.h"
#include "ops/op/reformat.h"
#include "runtime/kernel.h"

namespace tenon::build {
namespace {

constexpr double kUnmeasured = 1e-6;  // seconds per rank point where nothing is measured
constexpr double kPlace = 0.05;       // more for each candidate that a tactic names before; above the noise window

std::string formatList(const std::vector<Format>& formats) {
  std::string result;
  for (const Format format : formats) result += fmt::format("{}{}", result.empty() ? "" : ",", name(format));
  return "(" + result + ")";
}

bool symbolic(const ops::Operator& op, const SymbolValues& symbols) {
  if (symbols.empty()) return false;
  const auto text = op.text();
  return std::any_of(symbols.begin(), symbols.end(), [&](const auto& s) { return text.find(s.first) != std::string::npos; });
}

}  // namespace

std::string Candidate::text() const {
  return fmt::format("{}{}{}{}->{}", tactic, variant.empty() ? "" : "/", variant, formatList(inputs), formatList(outputs));
}

std::string Problem::text() const {
  std::string result = op.text();
  for (const auto& in : inputs) {
    result += fmt::format(" {}{}[{}]", in.constant != nullptr ? "const:" : "", name(in.dtype), in.dims.text());
  }
  result += " ->";
  for (const auto& out : outputs) result += fmt::format(" {}[{}]", name(out.dtype), out.dims.text());
  if (tf32 && op.facts().contraction && !inputs.empty() && inputs[0].dtype == DataType::kF32) result += " tf32";
  if (symbolic(op, symbols)) {
    for (const auto& [symbol, value] : symbols) result += fmt::format(" {}={}", symbol, value);
  }
  std::replace(result.begin(), result.end(), '\n', ' ');
  return result;
}

Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols) {
  Problem problem{node.op, {}, {}, symbols};
  const auto desc = [&](graph::ValueId id) {
    const auto& value = graph.value(id);
    return TensorDesc{value.type.dtype, evaluate(value.type.shape, symbols), value.constant};
  };
  for (const auto id : node.inputs) problem.inputs.push_back(desc(id));
  for (const auto id : node.outputs) problem.outputs.push_back(desc(id));
  return problem;
}

OptionSource::OptionSource(runtime::Device& device, const BuildOptions& options, TimingCache& cache)
    : device_(device), options_(options), cache_(cache) {
  profiler_ = makeDeviceProfiler(device, options.averageTimingIterations, *options.log);
}

OptionSource::~OptionSource() = default;

const std::vector<Option>& OptionSource::options(const graph::Node& node, const Problem& problem) {
  const auto key = node.device + "|" + problem.text();
  const auto found = known_.find(key);
  if (found != known_.end() && !options_.filter) return found->second;
  return known_.insert_or_assign(key, collect(node, problem)).first->second;
}

std::vector<Option> OptionSource::collect(const graph::Node& node, const Problem& problem) {
  std::string refusals;
  std::vector<Candidate> candidates;
  std::map<std::string, const Tactic*> tactics;
  for (const auto& source : tacticSources()) {
    auto& backend = runtime::backend(source.backend);
    if (backend.device().kind() != device_.kind()) continue;
    if (!node.device.empty() && node.device != source.backend) continue;
    for (const auto* tactic : source.tactics) {
      const auto support = tactic->supports(problem);
      if (!support) {
        refusals += fmt::format("\n  {}: {}", tactic->name(), support.reason);
        continue;
      }
      auto proposed = tactic->candidates(problem);
      if (proposed.empty()) refusals += fmt::format("\n  {}: the library behind it has nothing for these operands", tactic->name());
      for (auto& candidate : proposed) {
        tactics[candidate.tactic] = tactic;
        candidates.push_back(std::move(candidate));
      }
    }
  }
  if (options_.filter) {
    const size_t before = candidates.size();
    candidates = options_.filter(node, std::move(candidates));
    if (candidates.empty() && before > 0) refusals += fmt::format("\n  the selection filter left none of {} candidates", before);
  }
  std::vector<Option> result;
  std::vector<int> versions;
  std::map<std::string, int> places;  // within a tactic, which proposes the best first where it knows
  for (auto& candidate : candidates) {
    const auto* tactic = tactics.at(candidate.tactic);
    Option option;
    option.record = tactic->build(problem, candidate);
    option.nativeCode = tactic->nativeCode(problem, candidate, option.record);
    option.rank = tactic->rank(problem, candidate);
    option.seconds = kUnmeasured * (1 + option.rank) * (1 + kPlace * places[candidate.tactic]++);
    option.candidate = std::move(candidate);
    versions.push_back(tactic->version());
    result.push_back(std::move(option));
  }
  if (options_.optimizationLevel > 0 && result.size() > 1) {
    prepare(problem, result, versions, tactics);
    time(problem, result, versions);
  }
  for (auto it = result.begin(); it != result.end();) {
    if (it->workspaceBytes > options_.workspaceLimit) {
      refusals += fmt::format("\n  {}: needs {} bytes of workspace, the limit is {}", it->candidate.text(), it->workspaceBytes,
                              options_.workspaceLimit);
      it = result.erase(it);
    } else if (!(it->seconds < std::numeric_limits<double>::infinity())) {
      refusals += fmt::format("\n  {}: failed when it was tried", it->candidate.text());
      it = result.erase(it);
    } else {
      ++it;
    }
  }
  if (result.empty()) {
    throw Unsupported("could not find any implementation for node '{}' ({}). Candidates:{}", node.name, problem.text(),
                      refusals.empty() ? "\n  none: no tactic of the device was asked" : refusals);
  }
  return result;
}

std::string OptionSource::cacheKey(const Option& option, int version, const std::string& problem) const {
  return fmt::format("{} | {} v{} | {}", device_.name(), option.candidate.text(), version, problem);
}

// Tells the tactics which of their candidates will be measured.
void OptionSource::prepare(const Problem& problem, const std::vector<Option>& options, const std::vector<int>& versions,
                           const std::map<std::string, const Tactic*>& tactics) {
  const auto text = problem.text();
  std::map<std::string, std::vector<Candidate>> unknown;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!cache_.find(cacheKey(options[i], versions[i], text))) unknown[options[i].candidate.tactic].push_back(options[i].candidate);
  }
  for (const auto& [name, candidates] : unknown) {
    if (candidates.size() > 1) tactics.at(name)->prepare(problem, candidates);
  }
}

void OptionSource::time(const Problem& problem, std::vector<Option>& options, const std::vector<int>& versions) {
  std::vector<size_t> order(options.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return options[a].rank < options[b].rank; });
  double best = std::numeric_limits<double>::infinity();
  int timed = 0;
  const auto problemText = problem.text();
  for (const size_t i : order) {
    auto& option = options[i];
    // The last resort (rank 1000 and above) is slow to time and needs it only when nothing else stands.
    if (option.rank >= 1000 && best < std::numeric_limits<double>::infinity()) {
      option.seconds = 1e6;
      continue;
    }
    const auto key = cacheKey(option, versions[i], problemText);
    if (const auto seconds = cache_.find(key)) {
      option.seconds = *seconds;
      ++cached_;
    } else {
      checkUser(!options_.errorOnTimingCacheMiss, "the timing cache has no entry for '{}', and the build was told to stop then", key);
      if (options_.maxTactics >= 0 && timed >= std::max(1, options_.maxTactics)) {
        option.seconds = 1e6;
        continue;
      }
      const auto measurement = profiler_->measure(problem, option.candidate, option.record, option.nativeCode, best);
      ++measured_;
      ++timed;
      if (!measurement.failure.empty()) options_.log->warning("tactic {}: {}", option.candidate.text(), measurement.failure);
      option.workspaceBytes = measurement.workspaceBytes;
      option.seconds = measurement.seconds;
      if (option.seconds < std::numeric_limits<double>::infinity()) {
        cache_.insert(key, option.seconds);
        option.seconds = cache_.find(key).value_or(option.seconds);
      }
      options_.log->verbose("timed {}: {:.3f} us", option.candidate.text(), option.seconds * 1e6);
    }
    best = std::min(best, option.seconds);
  }
}

const Option& OptionSource::reformat(DataType dtype, const Dims& dims, Format from, Format to) {
  const auto key = fmt::format("{} {} {} {}", name(dtype), dims.text(), name(from), name(to));
  const auto found = reformats_.find(key);
  if (found != reformats_.end()) return found->second;
  Option best;
  best.seconds = std::numeric_limits<double>::infinity();
  const ops::Operator op = ops::Reformat{from, to};
  const Problem problem{op, {{dtype, dims, nullptr}}, {{dtype, dims, nullptr}}, {}};
  const graph::Node node{op, "reformat", {}, {}, {}, {}};
  try {
    for (const auto& option : collect(node, problem)) {
      if (option.candidate.inputs[0] != from || option.candidate.outputs[0] != to) continue;
      if (option.seconds < best.seconds) best = option;
    }
  } catch (const Unsupported&) {
    // No tactic: the infinite time says so.
  }
  return reformats_.emplace(key, std::move(best)).first->second;
}

}  // namespace tenon::build
