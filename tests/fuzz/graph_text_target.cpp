// Text of graphs: what parses is printed and parsed again without a change, and the passes leave it sound.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "core/error.h"
#include "graph/graph.h"
#include "passes/pipeline.h"
#include "support.h"

namespace {

constexpr int kMaxDigits = 3;  // larger extents only make the same work long

bool hasLargeNumber(std::string_view text) {
  int digits = 0;
  for (const char c : text) {
    digits = std::isdigit(static_cast<unsigned char>(c)) != 0 ? digits + 1 : 0;
    if (digits > kMaxDigits) return true;
  }
  return false;
}

int64_t largestValue(const tenon::graph::Graph& graph) {
  int64_t most = 0;
  for (const auto id : graph.order()) {
    for (const auto output : graph.node(id).outputs) {
      const auto& shape = graph.value(output).type.shape;
      if (isConstant(shape)) most = std::max(most, evaluate(shape, {}).count());
    }
  }
  return most;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (hasLargeNumber(source)) return 0;
  try {
    auto graph = graph::parse(source);
    const auto shown = graph::text(graph);
    try {
      const auto again = graph::parse(shown);
      fuzz::require(graph::text(again) == shown, "a graph that was printed is printed the same again", shown);
    } catch (const Error& error) {
      fuzz::require(false, "a graph that was printed can be parsed", std::string(error.what()) + "\n" + shown);
    }
    if (graph.order().size() > 64 || largestValue(graph) > 100000) return 0;
    try {
      passes::run(graph, {});
    } catch (const InternalError& error) {
      fuzz::require(false, "the passes leave a graph sound", std::string(error.what()) + "\n" + shown);
    }
  } catch (const InternalError& error) {
    fuzz::require(false, "a text breaks an invariant", error.what());
  } catch (const Error&) {
  }
  return 0;
}
