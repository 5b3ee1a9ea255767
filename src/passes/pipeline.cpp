// The passes in order, with the reason for the order; the driver that runs, verifies, dumps and bisects.
#include "passes/pipeline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/environment.h"
#include "core/error.h"
#include "graph/bad_constant.h"
#include "passes/align_products.h"
#include "passes/attention_heads.h"
#include "passes/find_attention.h"
#include "passes/find_normalizations.h"
#include "passes/fold_affine.h"
#include "passes/fold_constants.h"
#include "passes/fold_padding.h"
#include "passes/fold_shuffle.h"
#include "passes/fuse_concat.h"
#include "passes/fuse_epilogue.h"
#include "passes/fuse_outputs.h"
#include "passes/fuse_pointwise.h"
#include "passes/fuse_prologue.h"
#include "passes/gather_rows.h"
#include "passes/group_queries.h"
#include "passes/hoist_pointwise.h"
#include "passes/hoist_slices.h"
#include "passes/join_skip.h"
#include "passes/literals.h"
#include "passes/merge_affine.h"
#include "passes/merge_constants.h"
#include "passes/merge_equal.h"
#include "passes/merge_movement.h"
#include "passes/merge_products.h"
#include "passes/merge_reductions.h"
#include "passes/merge_slices.h"
#include "passes/narrow_masks.h"
#include "passes/pack_attention.h"
#include "passes/patch_products.h"
#include "passes/remove_noops.h"
#include "passes/rewrite.h"
#include "passes/run_first.h"
#include "passes/simplify_gathers.h"
#include "passes/simulate_quantization.h"
#include "passes/sink_rows.h"
#include "passes/sink_transposes.h"
#include "passes/sink_windows.h"
#include "passes/thin_windows.h"

namespace tenon::passes {
namespace {

int deadCode(graph::Graph& graph, const Options&) { return graph::removeDeadNodes(graph); }

// A table, with the reason beside each row.
// clang-format off
constexpr Pass kPipeline[] = {
    {"dead_code", &deadCode},                // nothing that nobody needs is looked at by the others
    {"fold_constants", &foldConstants},      // shape arithmetic and weights' preparation become constants
    {"remove_noops", &removeNoops},          // identities hide neighbours from each other
    {"simplify_gathers", &simplifyGathers},  // what is picked by known indices is movement
    {"merge_equal", &mergeEqual},            // so that what reads one tensor in one way is seen as such
    {"merge_movement", &mergeMovement},      // chains of transposes and reshapes become one or none
    {"patch_products", &patchProducts},      // whose pixels are made rows as the network writes it
    {"merge_slices", &mergeSlices},          // and those of slices and concatenations
    {"fold_shuffle", &foldShuffle},          // needs the reshapes around a transpose as the network has them
    {"merge_reductions", &mergeReductions},  // one form of global pooling
    {"simulate_quantization", &simulateQuantization},  // scales are operands, which may be numbers
    {"literals", &literals},                 // expressions show their numbers to the equations ...
    {"rewrite", &rewrite},                   // ... of rules/: canonical forms for what follows
    {"merge_constants", &mergeConstants},          // while sums are single nodes
    {"find_normalizations", &findNormalizations},  // while their parts are single nodes
    {"find_attention", &findAttention},            // before its transposes move into the products
    {"group_queries", &groupQueries},              // while what repeats keys is as it is written
    {"attention_heads", &attentionHeads},          // and with what splits heads as it is written
    {"sink_rows", &sinkRows},                // what moves whole rows goes behind the products of rows
    {"hoist_slices", &hoistSlices},          // rows that nobody reads
    {"join_skip", &joinSkip},                // residual sums, before products take them
    {"hoist_pointwise", &hoistPointwise},    // scalar work comes to stand behind the contractions ...
    {"sink_windows", &sinkWindows},          // ... or in front of what would only repeat it
    {"sink_transposes", &sinkTransposes},    // ... and transposes meet each other
    {"thin_windows", &thinWindows},          // while weights are those of the network
    {"fold_padding", &foldPadding},          // padding slices go into the windows behind them
    {"fold_affine", &foldAffine},            // scales and shifts go into the weights before them ...
    {"merge_affine", &mergeAffine},          // ... and into those of the products behind them ...
    {"fuse_pointwise", &fusePointwise},      // ... so that only what cannot be folded is computed; in one node
    {"merge_affine", &mergeAffine},          // scales and shifts that met
    {"rewrite", &rewrite},                   // activations that were written out are whole now
    {"fuse_epilogue", &fuseEpilogue},        // what is left behind a contraction becomes its epilogue
    {"narrow_masks", &narrowMasks},          // when the mask is one node
    {"pack_attention", &packAttention},      // products with their biases, which must be alike
    {"merge_products", &mergeProducts},      // those that are not attention's
    {"align_products", &alignProducts},      // weights are as they stay
    {"fold_constants", &foldConstants},      // what the folds left behind
    {"fuse_prologue", &fusePrologue},        // hides what it joins from the others, as does ...
    {"fuse_concat", &fuseConcat},            // ... what copies parts anyway, ...
    {"gather_rows", &gatherRows},            // ... tables in place of movement that others see through, and ...
    {"fuse_outputs", &fuseOutputs},          // ... this, which leaves a tensor to be written
};
// clang-format on

constexpr size_t kLastPasses = 4;  // of the table, that run only when the others have nothing left to do

constexpr int kRounds = 8;  // the pipeline repeats until nothing changes; a pass may open the way for an earlier one

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool write(const std::filesystem::path& path, const std::string& content) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream out(path);
  out << content;
  out.close();
  return out.good();
}

// Stages of the build that isDisabled() is asked for beside the passes.
constexpr std::string_view kStages[] = {"join_branches", "join_cast", "share_memory"};

// `before` is a copy of the graph.
int runOn(const Pass& pass, graph::Graph& graph, const graph::Graph& before, const Options& options) {
  try {
    const int edits = pass.run(graph, options);
    if (edits > 0) graph::verify(graph);
    return edits;
  } catch (const graph::BadConstant&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    const char* folder = variable("TENON_DUMP");
    const auto path =
        std::filesystem::path(folder != nullptr ? folder : std::filesystem::temp_directory_path().c_str()) /
        fmt::format("tenon_failed_{}_{:016x}.graph", pass.name, graph::hash(before));
    write(path, graph::text(before, INT64_MAX));
    throw InternalError(
        "pass '{}' failed: {}. To repeat it: tenon_passes --pass {} '{}'. To build without this pass: set "
        "TENON_DISABLE={}",
        pass.name, error.what(), pass.name, path.string(), pass.name);
  }
}

}  // namespace

bool isDisabled(std::string_view pass) {
  const char* list = variable("TENON_DISABLE");
  if (list == nullptr) return false;
  const std::string padded = fmt::format(",{},", list);
  return padded.find(fmt::format(",{},", pass)) != std::string::npos;
}

void dump(const graph::Graph& graph, std::string_view label) {
  const char* folder = variable("TENON_DUMP");
  if (folder == nullptr) return;
  const auto path = std::filesystem::path(folder) / fmt::format("{}.graph", label);
  checkUser(write(path, graph::text(graph)), "TENON_DUMP is '{}': {} could not be written; expected a folder with room",
            folder, path.string());
}

void reportUnknownNames(Log& log) {
  const char* list = variable("TENON_DISABLE");
  if (list == nullptr) return;
  std::vector<std::string_view> known(std::begin(kStages), std::end(kStages));
  for (const auto& pass : kPipeline) {
    if (std::find(known.begin(), known.end(), pass.name) == known.end()) known.push_back(pass.name);
  }
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    log.warning(
        "TENON_DISABLE names '{}', which is not a pass and is ignored; expected names of {}, separated by commas", name,
        fmt::join(known, ", "));
  }
}

std::span<const Pass> pipeline() { return kPipeline; }

int runPass(const Pass& pass, graph::Graph& graph, const Options& options) {
  return runOn(pass, graph, graph::Graph(graph), options);
}

namespace {

// `isWhole`: the last passes as well.
void runUntilDone(graph::Graph& graph, const Options& options, bool isWhole) {
  const long limit = numberSetting("TENON_STOP_AFTER").value_or(INT64_MAX);
  graph::verify(graph);
  int done = 0;
  const auto note = [&](std::string_view pass) { dump(graph, fmt::format("{:03}_{}", done, pass)); };
  note("network");
  graph::Graph before = graph;              // copied again only after edits: most passes have nothing to do
  std::map<decltype(Pass::run), int> idle;  // by pass: how many had made edits when it found nothing
  for (int round = 0; round < kRounds; ++round) {
    int changes = 0;
    for (const auto& pass : kPipeline) {
      const bool isLast = &pass >= std::end(kPipeline) - kLastPasses;
      if (done >= limit) return;
      if (isDisabled(pass.name) || (isLast && (changes > 0 || !isWhole))) continue;
      int& idleAt = idle.try_emplace(pass.run, -1).first->second;
      if (idleAt == done) continue;  // it would find nothing again
      const int edits = runOn(pass, graph, before, options);
      if (edits == 0) {
        idleAt = done;
        continue;
      }
      changes += edits;
      ++done;
      before = graph;
      note(pass.name);
      if (options.log != nullptr)
        options.log->verbose("pass {} ({}): {} edits, {} nodes", done, pass.name, edits, graph.order().size());
    }
    if (changes == 0) return;
  }
}

}  // namespace

void run(graph::Graph& graph, const Options& options) { runUntilDone(graph, options, true); }
void runFirst(graph::Graph& graph, const Options& options) { runUntilDone(graph, options, false); }

}  // namespace tenon::passes
