// Indexes local functions and computes their sizes bottom-up, without recursion of its own.
#include "functions.h"

#include <algorithm>

#include "common/error.h"
#include "operator_table.h"

namespace tenon::parsers::onnx {
namespace {

std::string keyOf(const std::string& domain, const std::string& name, const std::string& overload) {
  return fmt::format("{}\n{}\n{}", isStandardDomain(domain) ? "" : domain, name, overload);
}

}  // namespace

FunctionTable::FunctionTable(const pb::ModelProto& model) : modelOpsets_(model.opset_import(), nullptr) {
  functions_.reserve(static_cast<size_t>(model.functions_size()));  // pointers into it are kept
  for (const pb::FunctionProto& function : model.functions()) {
    FunctionFacts& facts = functions_.emplace_back();
    facts.proto = &function;
    facts.opsets = Opsets(function.opset_import(), &modelOpsets_);
    byName_.emplace(keyOf(function.domain(), function.name(), function.overload()), &facts);
  }
  for (FunctionFacts& facts : functions_) {
    for (const pb::NodeProto& node : facts.proto->node()) {
      const FunctionFacts* called = isPlainOperator(node, facts.opsets.of(node.domain())) ? nullptr : find(node);
      if (called != nullptr) {
        facts.calls.push_back(called);
      }
    }
  }
  measureAll();
}

const FunctionFacts* FunctionTable::find(const pb::NodeProto& call) const {
  if (byName_.empty()) {
    return nullptr;
  }
  const auto found = byName_.find(keyOf(call.domain(), call.op_type(), call.overload()));
  return found == byName_.end() ? nullptr : found->second;
}

// Depth first with a stack of its own. A call of a function that is still open closes a circle.
void FunctionTable::measureAll() {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(functions_.size(), State::kNew);
  struct Entry {
    size_t function;
    size_t next;
  };
  for (size_t root = 0; root < functions_.size(); ++root) {
    std::vector<Entry> stack;
    if (states[root] == State::kNew) {
      stack.push_back({root, 0});
    }
    while (!stack.empty()) {
      Entry& top = stack.back();
      FunctionFacts& facts = functions_[top.function];
      states[top.function] = State::kOpen;
      if (top.next == facts.calls.size()) {
        measure(facts);
        states[top.function] = State::kDone;
        stack.pop_back();
        continue;
      }
      const auto called = static_cast<size_t>(facts.calls[top.next++] - functions_.data());
      if (states[called] == State::kOpen) {
        functions_[called].recursive = true;
        facts.recursive = true;
      } else if (states[called] == State::kNew) {
        stack.push_back({called, 0});
      }
    }
  }
}

void FunctionTable::measure(FunctionFacts& function) {
  function.nodes = function.proto->node_size();
  for (const FunctionFacts* called : function.calls) {
    if (__builtin_add_overflow(function.nodes, called->nodes, &function.nodes)) {
      function.nodes = INT64_MAX;
    }
    function.depth = std::max(function.depth, called->depth + 1);
    function.recursive = function.recursive || called->recursive;
  }
}

void FunctionTable::checkInlinable(const FunctionFacts& function) {
  if (function.recursive) {
    fail(FaultKind::kInvalidGraph,
         fmt::format("function '{}' is recursive: '{}' calls itself, directly or through others",
                     function.proto->name(), function.proto->name()));
  }
  if (function.depth > kMaxFunctionDepth) {
    fail(FaultKind::kUnsupportedGraph, fmt::format("the calls of function '{}' nest {} deep; expected {} at most. "
                                                   "Inline the functions before export",
                                                   function.proto->name(), function.depth, kMaxFunctionDepth));
  }
}

}  // namespace tenon::parsers::onnx
