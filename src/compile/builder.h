// graph -> plan: passes, choice of tactics, memory, steps. The one entry of the build stage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compile/candidate_selector.h"
#include "compile/tactics/tactic.h"
#include "compile/types/options.h"
#include "core/log.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace tenon::compile {

class TimingCache;

// Phases of a build, nested by parent name. step() returns false when the user wants the build to stop.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(const std::string& phase, const std::string& parent, int steps) = 0;
  virtual bool step(const std::string& phase, int step) = 0;
  virtual void end(const std::string& phase) = 0;
};

struct BuildOptions {
  std::string device;                    // "cpu" or "cuda": which device the engine is for
  int optimizationLevel = 3;             // 0: nothing is measured
  uint64_t workspaceLimit = UINT64_MAX;  // bytes per step
  int averageTimingIterations = 4;
  int maxTactics = -1;  // most candidates to time per node; -1: all
  int wholeTrials =
      -1;  // problems whose next best candidates are tried in the whole engine; -1: as level and device ask
  int auxStreams = -1;         // most streams beside the caller's for independent steps; -1: what pays, which is none
  int profilingVerbosity = 0;  // as plan::Plan::profilingVerbosity
  std::map<std::string, std::string> layerMetadata;  // for the inspector, by name of the network layer
  std::set<std::string> unfusedDebug;  // tensors of the network that are shown where fusion has left them; none: no
  bool refittable = false;
  bool tf32 = false;         // f32 operands of contractions may be rounded to TF32, on devices that have it
  bool coldWeights = false;  // kernels are measured with weights from memory; build() sets it
  bool errorOnTimingCacheMiss = false;
  bool directIo = false;                       // no input or output may be reformatted
  bool editableTimingCache = false;            // nodes' choices are logged, stand in the cache, and are taken from it
  bool monitorMemory = false;                  // the log says what memory the process has after each stage
  std::vector<std::string> excludedLibraries;  // "cudnn", "cublaslt": no tactic of theirs is asked
  TypeOptions types;                           // what of a weakly typed network is left to the builder
  std::vector<std::map<std::string, plan::InputRange>> profiles;  // by input; empty for static networks
  // Keeps only some candidates of a node, before any is measured; null keeps all.
  std::function<std::vector<Candidate>(const graph::Node& node, std::vector<Candidate> candidates)> filter;
  CandidateSelector* selector = nullptr;  // null: the fastest are taken
  TimingCache* timingCache = nullptr;     // read and added to; null: the build keeps its own
  Progress* progress = nullptr;
  Log* log = nullptr;  // required

  // Whether somebody else has a say in the choice of candidates: then nodes are not told apart by their problems alone,
  // and nothing is decided by measurements that they were not asked about.
  bool choosesElsewhere() const noexcept { return filter || selector != nullptr; }
};

// Builds a plan. The graph's outputs and inputs become Plan::io in order (inputs first). Throws UserError for profiles
// that do not fit, Unsupported with every candidate's reason when a node has no implementation, Cancelled when the
// progress monitor stops the build.
plan::Plan build(graph::Graph graph, const BuildOptions& options);

}  // namespace tenon::compile
