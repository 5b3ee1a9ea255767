// The choice of one candidate per node: measured, and minimal over the whole graph with reformats counted.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/builder.h"
#include "compile/profiles.h"
#include "compile/tune/profiler.h"
#include "graph/graph.h"
#include "runtime/device.h"

namespace tenon::compile {

// One usable candidate of a node.
struct Option {
  Candidate candidate;
  plan::KernelRecord record;
  std::vector<std::byte> nativeCode;
  double seconds = 0;
  uint64_t workspaceBytes = 0;  // at opt shapes
  int rank = 0;
  bool ready = false;         // the machine code, where it has any, is there
  std::vector<Option> spare;  // at most one: in the same formats, slower, with operands that may be pitched
  std::vector<Option> own;    // at most one, of a library's: in the same formats, slower, a kernel of our own
  std::vector<Option>
      rivals;  // the next ones, best first, that can stand in its place: kMostRivals at most, hardly slower
};
constexpr size_t kMostRivals = 4;

// What a node takes at other extents than its choice was measured for, in the same formats.
struct RangeOption {
  Option option;
  Interval elements;  // plan::openElements()
};

// Choices by node id and formats by value id; nodes that are views have no option.
struct Assignment {
  std::vector<Option> choice;
  std::map<graph::NodeId, std::vector<RangeOption>> others;  // in the order of their ranges
  std::vector<Layout> formats;
  std::vector<bool> isView;
};

// The problem of a node at the given symbols.
Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols);
// Adds what the build allows and asks for.
void allow(Problem& problem, const BuildOptions& options);
// With that.
Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols,
                    const BuildOptions& options);

// Whether the node's output is its input's memory under another shape (no kernel needed in linear format).
bool isView(const graph::Node& node);

// A node and its problem.
struct Asked {
  const graph::Node* node;
  const Problem* problem;
};

// A node's choice at other extents than those that it was measured for.
struct Elsewhere {
  const graph::Node* node;
  const Problem* problem;
  const Option* taken;
  size_t most;  // options of each tactic
};

class Phase;
class Preparation;
struct Announced;
struct Proposal;
struct Proposals;
class Selections;

// Supplies the options of problems: asks the device's tactics, measures through cache and profiler.
class OptionSource {
 public:
  OptionSource(runtime::Device& device, const BuildOptions& options, TimingCache& cache, Stages& stages);
  ~OptionSource();
  // Tells of problems whose options are asked for next, so that the machine code of all is made at once, by other
  // threads while the first are measured: nodes and problems stay until their options are known, or to abandon().
  // Returns how many of them were looked at, from the first; at least one.
  size_t announce(std::span<const Asked> asked);
  // No thread reads what was announced any more.
  void abandon() noexcept;
  // The best of each combination of formats. Throws Unsupported listing each tactic's reason when there is none.
  // Formats in blocks of channels only with `blocks`, or where a filter or selector chooses.
  const std::vector<Option>& options(const graph::Node& node, const Problem& problem, bool blocks = false);
  // The one option that an editable timing cache selects for a node; none where it says nothing.
  std::vector<Option> selected(const graph::Node& node, const Problem& problem);
  // The graph whose nodes the build's selector is asked about from now on, and the profile; null: it is not asked.
  void askSelector(const graph::Graph* graph, const ProfileSymbols* symbols) noexcept {
    graph_ = graph;
    symbols_ = symbols;
  }
  // Writes what a node takes into the log and an editable timing cache.
  void report(const graph::Node& node, const Problem& problem, const Option& choice);
  // Whether problems with a single candidate are timed as well: there is nothing to choose among its kernels, but its
  // time counts beside that of another problem.
  void timeSingleCandidates(bool wanted) noexcept { timesSingles_ = wanted; }
  // Whether it makes sense to ask for blocks: kernels are measured, all of them, on a device that has some.
  bool triesBlocks() const;
  // Measures what this build measured for a problem once more; the smaller time counts.
  void measureAgain(const graph::Node& node, const Problem& problem, bool blocks);
  // Leaves a candidate out from now on, for a reason that the refusals then list. False when that changes nothing: it
  // was left out already, or nothing could stand in for it.
  bool exclude(const graph::Node& node, const Problem& problem, const Candidate& candidate, const std::string& reason);
  // Fastest way to change a tensor's format; seconds are infinite when there is none.
  const Option& reformat(DataType dtype, const Dims& dims, Layout from, Layout to);
  // Seconds of each option at the extents of a problem; infinite where it does not run there.
  std::vector<double> secondsAt(const Problem& problem, std::span<const Option* const> options);
  // For each, the measured options that may stand in the place of what was taken: in its formats, none of a vendor's
  // library that it does not call itself. Their machine code is made at once.
  std::vector<std::vector<Option>> replacements(std::span<const Elsewhere> asked);
  // Makes the machine code of what was chosen, at once.
  void finish(std::span<const std::pair<Problem, Option*>> chosen);
  // The phase of the build in which options are asked for; null: none. Each problem that is timed is a phase in it.
  void watch(const Phase* phase) noexcept { phase_ = phase; }
  // A step of that phase is done. Throws Cancelled when the user wants the build to stop.
  void step(int index) const;
  int measured() const noexcept { return measured_; }
  int cached() const noexcept { return cached_; }
  Stages& stages() noexcept { return stages_; }

 private:
  std::string keyOf(const graph::Node& node, const Problem& problem) const {
    return node.device + "|" + problem.text();
  }
  bool measures(const Problem& problem, const Proposals& proposals) const;
  std::vector<Option> collect(const graph::Node& node, const Problem& problem, bool blocks);
  std::vector<Option> usableOf(const graph::Node& node, const Problem& problem, Proposals& proposals);
  bool asksSelector(const graph::Node& node) const;
  std::vector<const Option*> selectedOf(const graph::Node& node, const Problem& problem,
                                        const std::vector<const Option*>& usable, bool measured) const;
  void leaveOut(std::span<const std::pair<const Asked*, Announced*>> fresh);
  void trust(const Problem& problem, Proposals& proposals);
  void time(const Problem& problem, Proposals& proposals);
  std::set<std::string> glance(const Problem& problem, Proposals& proposals);
  void measure(const Problem& problem, Proposal& proposal, double best);
  bool remember(Proposal& proposal, const Measurement& measurement);

  runtime::Device& device_;
  const BuildOptions& options_;
  TimingCache& cache_;
  Stages& stages_;
  std::unique_ptr<Profiler> profiler_;
  const Phase* phase_ = nullptr;
  const graph::Graph* graph_ = nullptr;  // of which the selector is asked
  const ProfileSymbols* symbols_ = nullptr;
  std::unique_ptr<Selections> selections_;
  std::map<std::string, std::unique_ptr<Announced>> announced_;
  std::map<std::string, std::vector<Option>> known_;
  std::map<std::string, Option> reformats_;
  std::map<std::string, std::map<std::string, std::string>> excluded_;  // by problem: candidates with the reason
  std::map<std::string, std::set<std::string>> leftOut_;                // the same: candidates that no build measures
  std::set<uint64_t> sharedCode_;                                       // that problems announced so far need
  std::set<std::string> fresh_;                                         // keys of candidates that this build measured
  bool again_ = false;
  bool timesSingles_ = false;
  std::string trusted_;  // key of the candidate whose results others are compared with, while one problem is timed
  std::string_view trustedTactic_;
  double trustedSeconds_ = 0;  // of its first run
  int measured_ = 0;
  int cached_ = 0;
  std::unique_ptr<Preparation> preparation_;  // the last: its threads use the rest
};

// At its end nothing that was announced is read by other threads, whatever was thrown.
class Announcing {
 public:
  explicit Announcing(OptionSource& source) : source_(source) {}
  ~Announcing() { source_.abandon(); }
  Announcing(const Announcing&) = delete;
  Announcing& operator=(const Announcing&) = delete;

 private:
  OptionSource& source_;
};

// Whether an operand or a result is in blocks of channels.
bool hasBlocks(const Candidate& candidate);

// Blocks of channels pay only where many neighbours agree, and measuring them for all takes long. They are measured for
// the contractions with the most work; true when a good part of the time of those would be saved.
bool mayGainByBlocks(std::span<const Asked> asked, OptionSource& source, Log& log);

// Chooses candidates and inserts reformat nodes where neighbours disagree.
Assignment assign(graph::Graph& graph, const SymbolValues& symbols, OptionSource& source, const BuildOptions& options);

}  // namespace tenon::compile
