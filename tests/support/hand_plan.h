// Plans put together by hand, for tests of the plan file and the runtime that need no builder: steps of the ref
// backend, lifetimes, sizes and offsets worked out from the steps.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/storage.h"
#include "memory/layout.h"
#include "ops/op/pointwise.h"
#include "ops/operator.h"
#include "plan/program.h"

namespace tenon::test {

inline Shape shapeOf(const std::vector<std::string>& extents) {
  Shape shape;
  for (const auto& extent : extents) shape.push_back(Extent::parse(extent));
  return shape;
}

inline std::string pointwise(const std::string& expression) {
  return ops::Operator(ops::Pointwise{ops::parseScalarExpr(expression)}).text();
}

// Inputs and outputs, then steps in order; finish() makes one program per profile (one, when there are none).
class HandPlan {
 public:
  HandPlan() {
    plan_.name = "by hand";
    plan_.tenonVersion = 100;
    plan_.apiVersion = 101600;
    plan_.target = {"cpu", "any processor", {}};
  }

  // Symbols that are whole extents get their source.
  int32_t input(const std::string& name, DataType dtype, const std::vector<std::string>& extents,
                bool shapeTensor = false) {
    const Shape shape = shapeOf(extents);
    const auto io = static_cast<int32_t>(plan_.io.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      std::set<std::string> symbols;
      shape[i].collectSymbols(symbols);
      if (symbols.size() == 1 && shape[i] == Extent::symbol(*symbols.begin()))
        plan_.symbols.push_back({*symbols.begin(), false, io, static_cast<int32_t>(i)});
    }
    plan_.io.push_back({name, true, dtype, shape, {}, Layout::kLinear, shapeTensor});
    return addIoTensor();
  }
  int32_t output(const std::string& name, DataType dtype, const std::vector<std::string>& extents) {
    plan_.io.push_back({name, false, dtype, shapeOf(extents), {}, Layout::kLinear, false});
    return addIoTensor();
  }
  void valueSymbol(const std::string& name, int32_t io, int32_t index) {
    plan_.symbols.push_back({name, true, io, index});
  }

  template <typename T>
  int32_t constant(DataType dtype, const Dims& dims, const std::vector<T>& values) {
    std::shared_ptr<void> data(std::aligned_alloc(64, (values.size() * sizeof(T) / 64 + 1) * 64), std::free);
    std::memcpy(data.get(), values.data(), values.size() * sizeof(T));
    plan_.constants.push_back({dtype, dims, 0, "", data, values.size() * sizeof(T)});
    program_.tensors.push_back({"constant" + std::to_string(plan_.constants.size()), dtype, toShape(dims),
                                Layout::kLinear, plan::Storage::kConstant,
                                static_cast<int32_t>(plan_.constants.size()) - 1});
    return last();
  }
  int32_t tensor(const std::string& name, DataType dtype, const std::vector<std::string>& extents) {
    program_.tensors.push_back({name, dtype, shapeOf(extents), Layout::kLinear, plan::Storage::kArena});
    return last();
  }
  int32_t view(const std::string& name, int32_t of, const std::vector<std::string>& extents) {
    program_.tensors.push_back({name, program_.tensors[static_cast<size_t>(of)].dtype, shapeOf(extents),
                                Layout::kLinear, plan::Storage::kView, of});
    return last();
  }
  void step(const std::string& name, const std::string& op, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
            uint64_t workspace = 0, const std::string& backend = "ref", const std::string& kernel = "evaluate") {
    plan::Step step;
    step.kernel = {backend, kernel, 1, op, "", -1};
    step.name = name;
    step.origins = {name};
    step.layerType = op.substr(0, op.find('{'));
    step.tactic = backend + "." + kernel;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.workspaceBytes = workspace;
    program_.steps.push_back(std::move(step));
  }
  void copy(const std::string& name, int32_t from, int32_t to) {
    plan::Step step;
    step.kind = plan::StepKind::kCopy;
    step.name = name;
    step.inputs = {from};
    step.outputs = {to};
    program_.steps.push_back(std::move(step));
  }
  void sharedStep(const std::string& name, std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
    plan::Step step;
    step.kind = plan::StepKind::kView;
    step.name = name;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    program_.steps.push_back(std::move(step));
  }
  // Sizes that are computed, and what each of them may be.
  void shapes(ShapeProgram program, std::vector<Interval> bounds) {
    plan_.shapes = std::move(program);
    program_.shapeBounds = std::move(bounds);
  }
  // A symbol that the program computes in a tensor; cut(): what comes from here on may need it.
  void size(const std::string& name, const std::string& layer, Extent opt, Extent upper, int32_t tensor) {
    plan_.sizes.push_back({name, layer, std::move(opt), std::move(upper)});
    program_.sizeTensors.push_back(tensor);
  }
  void cut() { program_.cuts.push_back(static_cast<int32_t>(program_.steps.size())); }
  void profile(std::map<std::string, plan::InputRange> ranges) { plan_.profiles.push_back(std::move(ranges)); }

  plan::Plan& plan() { return plan_; }
  plan::Program& program() { return program_; }

  plan::Plan finish() {
    lifetimes();
    plan_.programs.clear();
    if (plan_.profiles.empty()) plan_.programs.push_back(placed(SymbolIntervals{}));
    for (const auto& profile : plan_.profiles) plan_.programs.push_back(placed(intervals(profile)));
    return plan_;
  }

 private:
  int32_t last() const { return static_cast<int32_t>(program_.tensors.size()) - 1; }

  int32_t addIoTensor() {
    const auto& io = plan_.io.back();
    program_.tensors.push_back({io.name, io.dtype, io.shape, io.layout,
                                io.isInput ? plan::Storage::kInput : plan::Storage::kOutput,
                                static_cast<int32_t>(plan_.io.size()) - 1});
    program_.ioTensors.push_back(last());
    return last();
  }

  void lifetimes() {
    for (auto& t : program_.tensors) t.firstStep = t.lastStep = -1;
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const auto use = [&](int32_t index) {
        if (index < 0) return;
        auto& t = program_.tensors[static_cast<size_t>(index)];
        auto& owner = t.storage == plan::Storage::kView ? program_.tensors[static_cast<size_t>(t.index)] : t;
        if (owner.firstStep < 0) owner.firstStep = static_cast<int32_t>(s);
        owner.lastStep = static_cast<int32_t>(s);
      };
      for (const int32_t i : program_.steps[s].inputs) use(i);
      for (const int32_t i : program_.steps[s].outputs) use(i);
    }
    for (const int32_t i : program_.sizeTensors) {  // until they are read
      auto& t = program_.tensors[static_cast<size_t>(i)];
      for (const int32_t cut : program_.cuts) t.lastStep = std::max(t.lastStep, cut - 1);
    }
  }

  SymbolIntervals intervals(const std::map<std::string, plan::InputRange>& profile) const {
    SymbolIntervals result;
    for (size_t i = 0; i < program_.shapeBounds.size(); ++i)
      result[plan_.shapes.symbols[i].name] = program_.shapeBounds[i];
    for (const auto& symbol : plan_.symbols) {
      const auto found = profile.find(plan_.io[static_cast<size_t>(symbol.io)].name);
      if (found == profile.end()) continue;
      const auto& range = found->second;
      const auto i = static_cast<size_t>(symbol.index);
      result[symbol.name] = symbol.fromContents ? Interval{range.minValues[i], range.maxValues[i]}
                                                : Interval{range.min[symbol.index], range.max[symbol.index]};
    }
    for (const auto& size : plan_.sizes) result[size.name] = {0, size.upper.bounds(result).high};
    return result;
  }

  plan::Program placed(const SymbolIntervals& symbols) const {
    plan::Program program = program_;
    std::vector<memory::Block> blocks;
    for (auto& t : program.tensors) {
      Dims most;
      for (const auto& extent : t.shape) most.push(extent.bounds(symbols).high);
      t.bytes = storageBytes(t.dtype, most, t.layout);
      blocks.push_back({t.firstStep, t.lastStep, t.storage == plan::Storage::kArena ? t.bytes : 0, 256});
    }
    for (size_t s = 0; s < program.steps.size(); ++s) {
      blocks.push_back({static_cast<int32_t>(s), static_cast<int32_t>(s), program.steps[s].workspaceBytes, 256});
    }
    const auto layout = memory::layout(blocks, memory::Effort::kQuick);
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      if (program.tensors[i].storage == plan::Storage::kArena) program.tensors[i].offset = layout.offsets[i];
    }
    for (size_t s = 0; s < program.steps.size(); ++s)
      program.steps[s].workspaceOffset = layout.offsets[program.tensors.size() + s];
    program.arenaBytes = layout.bytes;
    return program;
  }

  plan::Plan plan_;
  plan::Program program_;
};

// y[N,3] = relu(x[N,3] + c) * 2 through the arena, with profiles for N.
inline plan::Plan smallPlan(bool dynamic) {
  HandPlan hand;
  const std::vector<std::string> shape{dynamic ? "N" : "2", "3"};
  const int32_t x = hand.input("x", DataType::kF32, shape);
  const int32_t y = hand.output("y", DataType::kF32, shape);
  const int32_t c = hand.constant<float>(DataType::kF32, {3}, {1, -2, 3});
  const int32_t t = hand.tensor("t", DataType::kF32, shape);
  const int32_t u = hand.tensor("u", DataType::kF32, shape);
  hand.step("add", pointwise("add(x0,x1)"), {x, c}, {t});
  hand.step("relu", pointwise("relu(x0)"), {t}, {u});
  hand.step("double", pointwise("mul(x0,2)"), {u}, {y});
  if (dynamic) {
    hand.profile({{"x", {{0, 3}, {2, 3}, {8, 3}, {}, {}, {}}}});
    hand.profile({{"x", {{9, 3}, {16, 3}, {64, 3}, {}, {}, {}}}});
  }
  return hand.finish();
}

}  // namespace tenon::test
