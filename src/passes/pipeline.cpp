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
#include "pass_functions.h"
#include "passes/composites.h"
#include "passes/run_first.h"

namespace tenon::passes {
namespace {

// clang-format off: a table, with the reason for the place beside each row
#define PASS(file) #file, &pass_##file
constexpr Pass kPipeline[] = {
    {PASS(dead_code), When::kAlways, On::kAll},           // nothing that nobody needs is looked at by the others
    {PASS(quantized_windows), When::kAlways, On::kCpu},   // while weights are bytes
    {PASS(quantized_scalars), When::kAlways, On::kCpu},   // what then stands between bytes
    {PASS(fold_constants), When::kAlways, On::kAll},      // shape arithmetic and weights' preparation become constants
    {PASS(remove_noops), When::kAlways, On::kAll},        // identities hide neighbours from each other
    {PASS(hoist_loops), When::kAlways, On::kAll},         // what leaves a loop is seen by all that follows
    {PASS(unroll_loops), When::kAlways, On::kAll},        // once products of whole sequences have left
    {PASS(simplify_gathers), When::kAlways, On::kAll},    // what is picked by known indices is movement
    {PASS(scatter_rows), When::kAlways, On::kGpu},        // before equal indices are narrow in several ways
    {PASS(merge_equal), When::kAlways, On::kAll},         // so that what reads one tensor in one way is seen as such
    {PASS(merge_movement), When::kAlways, On::kAll},      // chains of transposes and reshapes become one or none
    {PASS(patchify_to_matmul), When::kAlways, On::kGpu},  // whose pixels are made rows as the network writes it
    {PASS(points_to_matmul), When::kAlways, On::kGpu},    // likewise
    {PASS(place_to_matmul), When::kAlways, On::kGpu},     // likewise
    {PASS(find_experts), When::kAlways, On::kGpu},        // while products have their gathers as operands
    {PASS(cells_to_convolution), When::kAlways, On::kGpu},  // while pixels are as the network has them
    {PASS(merge_slices), When::kAlways, On::kAll},          // and those of slices and concatenations
    {PASS(rotate_by_swap), When::kAlways, On::kGpu},        // while sums and products stand alone ...
    {PASS(fold_constants), When::kAlways, On::kGpu},        // ... and what it makes of angles is a constant
    {PASS(scatter_boxes), When::kAlways, On::kAll},         // while sums of slices stand alone
    {PASS(fold_shuffle), When::kAlways, On::kAll},      // needs the reshapes around a transpose as the network has them
    {PASS(merge_reductions), When::kAlways, On::kAll},  // one form of global pooling
    {PASS(simulate_quantization), When::kAlways, On::kAll},  // scales are operands, which may be numbers
    {PASS(widen_halves), When::kAlways, On::kCpu},           // before others join what they would round
    {PASS(widen_byte_windows), When::kAlways, On::kGpu},     // likewise
    {PASS(sign_bytes), When::kAlways, On::kGpu},             // likewise
    {PASS(widen_bytes), When::kAlways, On::kGpu},            // likewise, of what these make products of
    {PASS(inline_scalars), When::kAlways, On::kAll},         // expressions show their numbers to the equations ...
    {PASS(rewrite), When::kAlways, On::kAll},                // ... of rules/: canonical forms for what follows
    {PASS(merge_constants), When::kAlways, On::kAll},        // while sums are single nodes
    {PASS(find_normalizations), When::kAlways, On::kAll},    // while their parts are single nodes
    {PASS(find_log_softmax), When::kAlways, On::kCpu},       // likewise; GPUs compute the steps
    {PASS(find_rotation), When::kAlways, On::kCpu},          // likewise
    {PASS(find_attention), When::kAlways, On::kAll},         // before its transposes move into the products
    {PASS(group_queries), When::kAlways, On::kAll},          // while what repeats keys is as it is written
    {PASS(attention_heads), When::kAlways, On::kAll},        // and with what splits heads as it is written
    {PASS(find_causal), When::kAlways, On::kAll},            // masks are single constants by now
    {PASS(sink_rows), When::kAlways, On::kAll},              // what moves whole rows goes behind the products of rows
    {PASS(hoist_slices), When::kAlways, On::kAll},           // rows that nobody reads
    {PASS(fuse_add_norm), When::kAlways,
     On::kGpu},  // residual sums, before products take them; those of a CPU are faster in the products
    {PASS(hoist_pointwise), When::kAlways, On::kAll},      // scalar work comes to stand behind the contractions ...
    {PASS(sink_unit_axes), When::kAlways, On::kAll},       // ... as pictures, where these are lines ...
    {PASS(sink_windows), When::kAlways, On::kAll},         // ... or in front of what would only repeat it
    {PASS(share_transposes), When::kAlways, On::kGpu},     // heads of what is no attention, ...
    {PASS(sink_parts), When::kAlways, On::kGpu},           // ... of which only a part is turned, ...
    {PASS(sink_transposes), When::kAlways, On::kAll},      // ... and transposes meet each other
    {PASS(hoist_transposes), When::kAlways, On::kGpu},     // ... or go where they are less work
    {PASS(turn_deconvolutions), When::kAlways, On::kCpu},  // before what is done with convolutions
    {PASS(detect_dilation), When::kAlways,
     On::kCpu},  // while weights are those of the network; worth it where taps are computed one by one
    {PASS(fold_padding), When::kAlways, On::kAll},    // padding slices go into the windows behind them
    {PASS(crop_windows), When::kAlways, On::kAll},    // and what slices behind them leave out
    {PASS(fold_affine), When::kAlways, On::kAll},     // scales and shifts go into the weights before them ...
    {PASS(merge_affine), When::kAlways, On::kAll},    // ... and into those of the products behind them ...
    {PASS(fuse_pointwise), When::kAlways, On::kAll},  // ... so that only what cannot be folded is computed; in one node
    {PASS(merge_affine), When::kAlways, On::kAll},    // scales and shifts that met
    {PASS(rewrite), When::kAlways, On::kAll},         // activations that were written out are whole now
    {PASS(fuse_epilogue), When::kAlways, On::kAll},   // what is left behind a contraction becomes its epilogue
    {PASS(take_input), When::kAlways, On::kCpu},      // with its bias
    {PASS(narrow_masks), When::kAlways, On::kAll},    // when the mask is one node
    {PASS(pack_attention), When::kAlways, On::kAll},  // products with their biases, which must be alike
    {PASS(merge_products), When::kAlways, On::kAll},  // those that are not attention's
    {PASS(align_products), When::kAlways, On::kGpu},  // weights are as they stay
    {PASS(fold_constants), When::kAlways, On::kAll},  // what the folds left behind
    {PASS(optimize_regions), When::kLast, On::kAll},  // once what they read is as it stays
    {PASS(image_rows), When::kLast, On::kGpu},        // once no pass looks for rows in the form that networks have
    {PASS(fuse_prologue), When::kLast, On::kAll},     // hides what it joins from the others, as does ...
    {PASS(fuse_gather), When::kLast, On::kGpu},       // ... what is picked of several tensors, ...
    {PASS(pad_channels), When::kLast, On::kGpu},      // ... channels that it gives and reads anyway, ...
    {PASS(fuse_concat), When::kLast, On::kGpu},       // ... what copies parts anyway, ...
    {PASS(fuse_swap), When::kLast, On::kGpu},         // ... what is read in another order, ...
    {PASS(move_channels), When::kLast, On::kGpu},     // ... pictures in the order of rows, ...
    {PASS(gather_rows), When::kLast, On::kGpu},   // ... tables in place of movement that others see through, and ...
    {PASS(fuse_outputs), When::kLast, On::kAll},  // ... this, which leaves a tensor to be written
    {PASS(fuse_slices), When::kLast, On::kGpu},   // what then still reads slices
};
#undef PASS
// clang-format on

constexpr bool isInPipeline(std::string_view file) {
  return std::any_of(std::begin(kPipeline), std::end(kPipeline), [&](const Pass& pass) { return pass.name == file; });
}
static_assert(std::all_of(std::begin(kPassFiles), std::end(kPassFiles), isInPipeline), "a pass has no row above");

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

// A stage of the build that isDisabled() is asked for beside the passes and the joins.
constexpr std::string_view kSharing = "share_memory";

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
  auto known = joinNames();
  known.push_back(kSharing);
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

bool isFor(const Pass& pass, std::string_view device) {
  if (pass.on == On::kAll) return true;
  return factsOf(device).kind == (pass.on == On::kGpu ? DeviceKind::kGpu : DeviceKind::kCpu);
}

int runPass(const Pass& pass, graph::Graph& graph, const Options& options) {
  return isFor(pass, options.device) ? runOn(pass, graph, graph::Graph(graph), options) : 0;
}

namespace {

// Of what is run.
enum class Part : uint8_t { kFirst, kWhole, kRegion };

void runUntilDone(graph::Graph& graph, const Options& options, Part part) {
  const bool isWhole = part != Part::kFirst;  // the last passes as well
  const long limit = numberSetting("TENON_STOP_AFTER").value_or(INT64_MAX);
  graph::verify(graph);
  int done = 0;
  const auto note = [&](std::string_view pass) {
    if (part != Part::kRegion) dump(graph, fmt::format("{:03}_{}", done, pass));
  };
  note("network");
  graph::Graph before = graph;              // copied again only after edits: most passes have nothing to do
  std::map<decltype(Pass::run), int> idle;  // by pass: how many had made edits when it found nothing
  for (int round = 0; round < kRounds; ++round) {
    int changes = 0;
    for (const auto& pass : kPipeline) {
      if (done >= limit) return;
      if (isDisabled(pass.name) || !isFor(pass, options.device)) continue;
      if (pass.when == When::kLast && (changes > 0 || !isWhole)) continue;
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

void run(graph::Graph& graph, const Options& options) { runUntilDone(graph, options, Part::kWhole); }
void runFirst(graph::Graph& graph, const Options& options) { runUntilDone(graph, options, Part::kFirst); }
void runWithin(graph::Graph& graph, const Options& options) { runUntilDone(graph, options, Part::kRegion); }

}  // namespace tenon::passes
