// The local functions of a model: found by name, and measured before they are inlined.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "model.h"

namespace tenon::parsers::onnx {

constexpr int kMaxFunctionDepth = 32;
// Inlining copies a function at each call, so a few functions can stand for any number of nodes.
constexpr int64_t kMaxInlinedNodes = int64_t{1} << 18;

// What a function is after inlining, and the versions of operators that its nodes mean.
struct FunctionFacts {
  const pb::FunctionProto* proto = nullptr;
  Opsets opsets;
  int64_t nodes = 0;  // saturated
  int depth = 1;      // of calls, 1 without any
  bool recursive = false;
  std::vector<const FunctionFacts*> calls;  // one entry for each call
};

class FunctionTable {
 public:
  // Takes time linear in the size of the functions, however they call each other.
  explicit FunctionTable(const pb::ModelProto& model);
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  const Opsets& modelOpsets() const { return modelOpsets_; }
  // nullptr when the model has no function of that name. The first of several of one name counts.
  const FunctionFacts* find(const pb::NodeProto& call) const;
  // Fails with kINVALID_GRAPH or kUNSUPPORTED_GRAPH where calls cannot be inlined: recursion, depth.
  static void checkInlinable(const FunctionFacts& function);

 private:
  void measureAll();
  static void measure(FunctionFacts& function);

  Opsets modelOpsets_;
  std::vector<FunctionFacts> functions_;
  std::unordered_map<std::string, const FunctionFacts*> byName_;
};

}  // namespace tenon::parsers::onnx
