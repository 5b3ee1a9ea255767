// The ordered list of passes that turn a network's graph into an engine's graph.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/log.h"
#include "graph/graph.h"
#include "passes/device.h"

namespace tenon::passes {

struct Options {
  bool refittable = false;     // rewrites that depend on the values of weights are then off
  Log* log = nullptr;          // may be null
  std::string device = "cpu";  // kind of the device that the engine is for
  // Whether kernels of the device compute an operator on operands of these types; null: all do. Passes ask before they
  // make an operator of a kind that the network does not have there.
  std::function<bool(const ops::Operator& op, std::span<const ops::TensorType> inputs)> computes;
};

enum class When : uint8_t {
  kAlways,
  kLast,  // where the others, in a whole round, had nothing left to do: no other looks into what such a pass makes
};
enum class On : uint8_t { kAll, kGpu, kCpu };  // kinds of devices that gain by it

// A pass is deterministic and idempotent, changes the graph through patches only and returns the number of edits.
struct Pass {
  std::string_view name;  // its file's
  int (*run)(graph::Graph& graph, const Options& options);
  When when = When::kAlways;
  On on = On::kAll;
};

std::span<const Pass> pipeline();

// Whether a pass runs for a kind of device.
bool isFor(const Pass& pass, std::string_view device);

// Runs one pass where it is for the options' device, verifies and returns the number of edits. When the pass throws or
// breaks the graph, InternalError: the graph before it is then in a file (in TENON_DUMP or the folder for temporary
// files), and the error says how to repeat it.
int runPass(const Pass& pass, graph::Graph& graph, const Options& options);

// Whether TENON_DISABLE names the pass, or a stage of the build that may be left out like one.
bool isDisabled(std::string_view pass);

// A warning for each name in TENON_DISABLE that is none.
void reportUnknownNames(Log& log);

// Writes the graph as <label>.graph into the folder TENON_DUMP, where that is set; UserError where it cannot be
// written.
void dump(const graph::Graph& graph, std::string_view label);

// Runs the pipeline until nothing changes, verifying after each pass. TENON_DUMP=dir writes the graph after each pass
// that changed it, TENON_STOP_AFTER=n stops after n edits-making passes, TENON_DISABLE=a,b leaves passes out.
void run(graph::Graph& graph, const Options& options);
// The same for a graph that stands for a region of an operator: no files are written.
void runWithin(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
