// Joins on small networks, beside what they were.
#pragma once

#include "check_pass.h"
#include "passes/composites.h"

namespace tenon::passes {

inline bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

// The joins on a body of statements, without the pass `disabled`; the operators that are left.
inline std::string joinedWithout(const char* disabled, const std::string& body, const Pays& pays,
                                 graph::Graph* result) {
  const ScopedVariable disable("TENON_DISABLE", disabled);
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  Options options;
  options.device = "cuda";
  runJoins(after, options, pays);
  expectSameValues(before, after);
  const auto text = graph::text(after, INT64_MAX);
  EXPECT_EQ(graph::text(graph::parse(text), INT64_MAX), text);
  if (result != nullptr) *result = after;
  return operators(after);
}

}  // namespace tenon::passes
