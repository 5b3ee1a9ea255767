// Writes what the fuzz targets begin with into the folders plan, timing_cache, graph_text, onnx and build of a given
// folder; plans and timing caches are those of graphs in another folder.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>

#include "compile/builder.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"
#include "graph/graph.h"
#include "passes/common/scalar_rules.h"
#include "plan/file.h"
#include "runtime/engine.h"
#include "seed_models.h"
#include "support.h"
#include "support/hand_plan.h"
#include "support/random_regions.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void save(const fs::path& path, std::span<const std::byte> bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  tenon::fuzz::require(file.good(), "a seed can be written", path.string());
}

void saveText(const fs::path& path, const std::string& text) { save(path, std::as_bytes(std::span(text))); }

// Each kernel once more, for few elements.
tenon::plan::Plan withRanges(tenon::plan::Plan plan) {
  using namespace tenon;
  for (auto& program : plan.programs) {
    for (auto& step : program.steps) {
      if (step.kind == plan::StepKind::kLaunch)
        step.others.push_back({{0, 12}, step.kernel, step.tactic, step.tacticValue});
    }
  }
  return plan;
}

void saveGraph(const fs::path& folder, const std::string& name, const std::string& source) {
  using namespace tenon;
  saveText(folder / "graph_text" / name, source);
  try {
    compile::TimingCache cache;
    NullLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.timingCache = &cache;
    options.editableTimingCache = true;  // both kinds of lines
    options.profilingVerbosity = 2;      // so that the inspector has something to show
    options.optimizationLevel = 3;
    const auto graph = graph::parse(source);
    std::map<std::string, plan::InputRange> profile;
    for (const auto input : graph.inputs()) {
      const auto& value = graph.value(input);
      const auto at = [&](int64_t n) { return evaluate(value.type.shape, {{"N", n}}); };
      if (!isConstant(value.type.shape)) profile[value.name] = {at(1), at(2), at(3), {}, {}, {}};
    }
    if (!profile.empty()) options.profiles.push_back(profile);
    auto plan = compile::build(graph, options);
    save(folder / "plan" / ("built" + name), plan::write(plan));
    if (!profile.empty()) save(folder / "plan" / ("ranges" + name), plan::write(withRanges(std::move(plan))));
    const auto bytes = cache.serialize();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    saveText(folder / "timing_cache" / ("file" + name), "1" + text);
    saveText(folder / "timing_cache" / ("body" + name), "0" + text.substr(text.find('\n') + 1));
  } catch (const Error& error) {
    std::fprintf(stderr, "graph %s makes no plan: %s\n", name.c_str(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tenon;
  fuzz::require(argc == 3, "two arguments: the folder of the seeds, and one of graphs as text");
  const fs::path folder = argv[1];
  save(folder / "plan" / "fixed", plan::write(test::smallPlan(false)));
  save(folder / "plan" / "dynamic", plan::write(test::smallPlan(true)));
  for (const auto& file : fs::directory_iterator(argv[2]))
    saveGraph(folder, file.path().stem().string(), read(file.path()));
  int number = 0;
  // Loops and conditionals within one another.
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const auto graph = test::RandomRegions(seed, seed % 2 == 0).make();
    if (!graph.outputs().empty()) saveGraph(folder, fmt::format("regions{}", seed), graph::text(graph, 1 << 20));
  }
  // The optimizer's equations, each as a graph of its own: all scalar operators occur in them.
  for (const auto& rule : passes::pointwiseRules()) {
    const auto source = fmt::format(
        "graph \"rule\" {{ input %a : f32[4] input %b : f32[4] input %c : f32[4] input %k : f32[4]\n"
        "%y : f32[4] = pointwise{{expr=\"{}\"}}(%a, %b, %c, %k) \"y\" output %y }}",
        ops::text(rule.left));
    saveText(folder / "graph_text" / ("rule" + std::to_string(number++)), source);
  }
  number = 0;
  for (const auto& model : fuzz::seedModels()) saveText(folder / "onnx" / std::to_string(number++), model);
  // Networks made from bytes: any bytes are one.
  std::mt19937_64 random(1);
  for (number = 0; number < 64; ++number) {
    std::string bytes(16 + random() % 150, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    saveText(folder / "build" / std::to_string(number), bytes);
  }
  return 0;
}
