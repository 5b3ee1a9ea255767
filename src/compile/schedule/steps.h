// From a graph with chosen tactics to a program: storage of every tensor, memory, steps.
#pragma once

#include "compile/assignment.h"
#include "compile/profiles.h"
#include "compile/schedule/kernel_needs.h"
#include "compile/schedule/placement.h"
#include "plan/program.h"

namespace tenon::compile {

// Collects constants by content, so that programs of several profiles share them.
class ConstantPool {
 public:
  explicit ConstantPool(plan::Plan& plan) : plan_(plan) {}
  int32_t add(const graph::ConstantPtr& constant);  // index in Plan::constants

 private:
  plan::Plan& plan_;
  std::multimap<uint64_t, int32_t> byHash_;
};

// Collects native code, equal pieces once.
class NativeCodePool {
 public:
  explicit NativeCodePool(plan::Plan& plan) : plan_(plan) {}
  int32_t add(const std::vector<std::byte>& code);  // index in Plan::nativeCode

 private:
  plan::Plan& plan_;
};

// `plan.io` and `plan.symbols` stand already; `needs` are by node. Independent steps get up to `mostStreams` streams
// beside the caller's. `stepOf`, if any, becomes the step of each node, -1 where it has none of its own.
plan::Program makeProgram(const graph::Graph& graph, const Assignment& assignment, const Placement& placement,
                          std::span<const KernelNeeds> needs, const ProfileSymbols& symbols, const plan::Plan& plan,
                          ConstantPool& constants, NativeCodePool& native, int32_t mostStreams, Log& log,
                          std::vector<int32_t>* stepOf = nullptr);

}  // namespace tenon::compile
