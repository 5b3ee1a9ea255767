// Networks with broken sizes and profiles: what is built is written, loaded, and run at shapes within its profiles and
// at others; all that may come is an error that says why. TENON_FUZZ_SHOW=1 prints each network and what became of it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "compile/builder.h"
#include "core/error.h"
#include "core/platform/memory.h"
#include "core/storage.h"
#include "random_network.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "support.h"

namespace {

using namespace tenon;

// Between what is quick and what is refused at once lies what only takes long.
constexpr uint64_t kQuick = uint64_t{1} << 20;
const uint64_t kRefused = std::max(uint64_t{1} << 37, 4 * std::min(platform::memoryBytes(), kMostBytes));

bool takesLong(const fuzz::Network& network, const std::map<std::string, Dims>& shapes) {
  SymbolValues symbols;
  const auto& graph = network.graph;
  for (const auto id : graph.inputs()) {
    const auto& value = graph.value(id);
    for (size_t axis = 0; axis < value.type.shape.size(); ++axis) {
      if (!value.type.shape[axis].isConstant())
        symbols.emplace(value.type.shape[axis].text(), shapes.at(value.name)[static_cast<int>(axis)]);
    }
  }
  for (graph::ValueId id = 0; id < graph.valueCount(); ++id) {
    try {
      const uint64_t bytes =
          storageBytes(DataType::kI8, evaluate(graph.value(id).type.shape, symbols), Layout::kLinear);
      if (bytes > kQuick && bytes < kRefused) return true;
    } catch (const Error&) {
      // The build will say so.
    }
  }
  return false;
}

void run(const std::shared_ptr<const runtime::Engine>& engine, const fuzz::Network& network, Log& log) {
  runtime::Context context(engine, {}, log);
  const auto& io = engine->io();
  for (const auto& shapes : network.shapes) {
    if (takesLong(network, shapes)) continue;
    try {
      std::vector<std::vector<char>> memory;
      uint64_t most = 0;
      for (int i = 0; i < static_cast<int>(io.size()); ++i) {
        const auto& x = io[static_cast<size_t>(i)];
        if (x.isInput && !isConstant(x.shape)) context.setInputShape(i, shapes.at(x.name));
      }
      if (!context.allShapesGiven()) continue;
      for (int i = 0; i < static_cast<int>(io.size()); ++i) most = std::max(most, context.tensorBytes(i));
      if (most >= kRefused) continue;
      for (int i = 0; i < static_cast<int>(io.size()); ++i) {
        memory.emplace_back(context.tensorBytes(i) + 64);
        context.setAddress(i, memory.back().data());
      }
      context.enqueue(nullptr);
      engine->device().synchronize(nullptr);
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      // Shapes that the engine was not built for.
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  fuzz::Bytes bytes({data, size});
  compile::BuildOptions options;
  NullLog log;
  options.device = "cpu";
  options.log = &log;
  const uint8_t kind = bytes.next();
  options.optimizationLevel = kind % 4 == 0 ? 1 + kind / 4 % 5 : 0;  // measurements take long
  options.averageTimingIterations = 1;
  std::string shown;
  const bool isShown = std::getenv("TENON_FUZZ_SHOW") != nullptr;
  try {
    const auto network = fuzz::makeNetwork(bytes);
    for (const auto& shapes : network.shapes) {
      if (takesLong(network, shapes)) return 0;
    }
    shown = graph::text(network.graph);
    if (isShown) std::fprintf(stderr, "level %d\n%s\n", options.optimizationLevel, shown.c_str());
    options.profiles = network.profiles;
    const auto made = runtime::Engine::make(compile::build(network.graph, options), {}, log);
    run(runtime::Engine::load(made->serialize(), {}, log), network, log);
    if (isShown) std::fprintf(stderr, "built\n");
  } catch (const InternalError& error) {
    fuzz::require(false, "a network breaks an invariant", std::string(error.what()) + "\n" + shown);
  } catch (const Error& error) {
    if (isShown) std::fprintf(stderr, "refused: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    fuzz::require(false, "memory that is not there is asked for without a check", shown);
  }
  return 0;
}
