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

constexpr double kMostElements = 20000;  // more only makes the same work long

// Whether the numbers between some brackets, taken as a shape, or a number alone, are that many.
bool isLarge(std::string_view text) {
  double number = 0;
  double product = 1;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number = number * 10 + (c - '0');
      continue;
    }
    if (number > kMostElements) return true;
    product = c == '[' ? 1 : product * std::max(number, 1.0);
    if (c == ']' && product > kMostElements) return true;
    number = 0;
  }
  return number > kMostElements;
}

double largestValue(const tenon::graph::Graph& graph) {
  double most = 0;
  for (const auto id : graph.order()) {
    for (const auto output : graph.node(id).outputs) {
      const auto& shape = graph.value(output).type.shape;
      if (isConstant(shape)) most = std::max(most, static_cast<double>(evaluate(shape, {}).count()));
    }
  }
  return most;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (isLarge(source)) return 0;
  try {
    auto graph = graph::parse(source);
    const auto shown = graph::text(graph, INT64_MAX);
    try {
      const auto again = graph::parse(shown);
      fuzz::require(graph::text(again, INT64_MAX) == shown, "a graph that was printed is printed the same again",
                    shown);
    } catch (const Error& error) {
      fuzz::require(false, "a graph that was printed can be parsed", std::string(error.what()) + "\n" + shown);
    }
    if (graph.order().size() > 64 || largestValue(graph) > 10 * kMostElements) return 0;
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
