// Whether channel-blocked layouts are worth measuring.
#include <algorithm>
#include <limits>
#include <map>

#include "compile/assignment.h"
#include "core/storage.h"

namespace tenon::compile {
namespace {

constexpr size_t kTrials = 4;         // problems
constexpr double kMoved = 16;         // multiply-adds in the time of an element that is read or written
constexpr double kWorthwhile = 0.05;  // part of their time

struct Trial {
  const Asked* asked = nullptr;
  double work = 0;  // multiply-adds and what takes as long
  int count = 0;
};

double fastest(const std::vector<Option>& options, bool blocks) {
  double result = std::numeric_limits<double>::infinity();
  for (const auto& option : options) {
    if (blocks || !hasBlocks(option.candidate)) result = std::min(result, option.seconds);
  }
  return result;
}

// Contractions of images with constant weights, those with the most work first.
std::vector<Trial> trialsOf(std::span<const Asked> asked) {
  std::map<std::string, Trial> trials;
  for (const auto& one : asked) {
    const auto& problem = *one.problem;
    constexpr int kImageRank = 4;
    if (!problem.op.facts().contraction || problem.inputs.size() < 2) continue;
    if (problem.outputs[0].dims.rank != kImageRank) continue;
    const auto& weights = problem.inputs[1];
    if (weights.constant == nullptr || weights.dims.rank != kImageRank) continue;
    auto& trial = trials[problem.text()];
    trial.asked = &one;
    const auto in = static_cast<double>(problem.inputs[0].dims.count());
    const auto out = static_cast<double>(problem.outputs[0].dims.count());
    trial.work += kMoved * (in + out) + out * static_cast<double>(weights.dims.count(1, kImageRank));
    ++trial.count;
  }
  std::vector<Trial> result;
  for (const auto& [text, trial] : trials) result.push_back(trial);
  std::stable_sort(result.begin(), result.end(), [](const Trial& a, const Trial& b) { return a.work > b.work; });
  result.resize(std::min(result.size(), kTrials));
  return result;
}

}  // namespace

bool hasBlocks(const Candidate& candidate) {
  const auto isBlocked = [](Layout format) { return channelBlock(format) > 1; };
  return std::any_of(candidate.inputs.begin(), candidate.inputs.end(), isBlocked) ||
         std::any_of(candidate.outputs.begin(), candidate.outputs.end(), isBlocked);
}

bool mayGainByBlocks(std::span<const Asked> asked, OptionSource& source, Log& log) {
  if (!source.triesBlocks()) return false;
  const auto trials = trialsOf(asked);
  // What other programs do to the machine would often pass for a gain: it must be there a second time.
  for (const bool again : {false, true}) {
    double without = 0;
    double with = 0;
    for (const auto& trial : trials) {
      if (again) source.measureAgain(*trial.asked->node, *trial.asked->problem, true);
      const auto& options = source.options(*trial.asked->node, *trial.asked->problem, true);
      without += trial.count * fastest(options, false);
      with += trial.count * fastest(options, true);
    }
    if (!(with < without * (1 - kWorthwhile))) return false;
    const double percent = 100 * (1 - with / without);
    log.verbose("channel-blocked layouts would save {:.1f} % of the time of the largest contractions", percent);
  }
  return true;
}

}  // namespace tenon::compile
