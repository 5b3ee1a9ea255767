// Regions as kernels: loading, memory of their values, runs.
#include "backends/cpu/kernels/common/region_steps.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/error.h"
#include "memory/layout.h"
#include "ops/check.h"

namespace tenon::backends::cpu {
namespace {

std::unique_ptr<runtime::Kernel> loadOne(const ops::RegionNode& node, const ops::RegionKernel& kernel,
                                         std::span<const TensorView> constants, Log& log) {
  for (const auto& row : kernelTable()) {
    if (row.name != kernel.name || row.version != kernel.version) continue;
    const plan::KernelRecord record{"cpu", kernel.name, kernel.version, node.op.text(), kernel.params, -1};
    return row.load({record, constants, {}, log});
  }
  throw Unsupported("cpu.regions: there is no kernel '{}' of version {} for layer '{}'", kernel.name, kernel.version,
                    node.name);
}

}  // namespace

RegionSteps::RegionSteps(const ops::Region& region, const std::vector<ops::RegionKernel>& kernels,
                         std::span<const TensorView> constants, Log& log)
    : region_(region), constants_(constants.begin(), constants.end()) {
  const auto& nodes = region_->nodes;
  if (kernels.size() != nodes.size() || constants.size() != static_cast<size_t>(region_->inputs))
    throw Unsupported("cpu.regions: {} kernels and {} operands for a region of {} operators and {} inputs",
                      kernels.size(), constants.size(), nodes.size(), region_->inputs);
  size_t value = constants.size();
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<TensorView> own;
    for (const auto input : nodes[i].inputs) {
      if (input < 0 || static_cast<size_t>(input) >= value)
        throw Unsupported("cpu.regions: layer '{}' reads value {} of {}", nodes[i].name, input, value);
      own.push_back(static_cast<size_t>(input) < constants.size() ? constants[static_cast<size_t>(input)]
                                                                  : TensorView{});
    }
    Step step{&nodes[i], value, kernels[i].name == ops::RegionKernel::kView, nullptr};
    if (step.isView && (own.empty() || nodes[i].outputs != 1))
      throw Unsupported("cpu.regions: layer '{}' is no view", nodes[i].name);
    if (!step.isView && kernels[i].name != ops::RegionKernel::kReference) {
      step.kernel = loadOne(nodes[i], kernels[i], own, log);
      for (const auto& form : runtime::packedForms(*step.kernel, own, Layout::kLinear)) {
        packed_.push_back({i, form, form, {}});
        for (auto& input : packed_.back().form.inputs) input = static_cast<size_t>(nodes[i].inputs[input]);
      }
    }
    steps_.push_back(std::move(step));
    value += static_cast<size_t>(nodes[i].outputs);
  }
  for (const auto output : region_->outputs) {
    if (output < 0 || static_cast<size_t>(output) >= value)
      throw Unsupported("cpu.regions: the region gives value {} of {}", output, value);
  }
}

void RegionSteps::pack(const Packed& packed, std::span<const void* const> sources, void* to) const {
  dynamic_cast<const runtime::Packer&>(*steps_[packed.step].kernel).pack(packed.own, sources, to);
}

void RegionSteps::packHere(Packed& packed) {
  std::vector<const void*> sources;
  for (const size_t input : packed.form.inputs) sources.push_back(constants_[input].data);
  packed.held.resize(packed.form.bytes + kRegionAlignment);
  pack(packed, sources, aligned(packed.held.data()));
}

bool RegionSteps::readsRowMajor(size_t input) const {
  const auto isPacked = [&](size_t step, size_t position) {
    return std::any_of(packed_.begin(), packed_.end(), [&](const Packed& packed) {
      const auto& of = packed.own.inputs;
      return packed.step == step && std::find(of.begin(), of.end(), position) != of.end();
    });
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& inputs = steps_[i].node->inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] == static_cast<int32_t>(input) && !isPacked(i, k)) return true;
    }
  }
  const auto& outputs = region_->outputs;
  return std::find(outputs.begin(), outputs.end(), static_cast<int32_t>(input)) != outputs.end();
}

RegionRun::RegionRun(const RegionSteps& steps) : steps_(steps) {
  for (size_t i = 0; i < steps.steps_.size(); ++i) {
    const auto& step = steps.steps_[i];
    Own own{
        step.kernel != nullptr ? step.kernel->instantiate() : nullptr, step.node->op, false, {}, {}, {}, {}, {}, {}};
    for (const auto input : step.node->inputs) own.inputs.push_back(static_cast<size_t>(input));
    for (const auto& packed : steps.packed()) {
      if (packed.step != i || packed.held.empty()) continue;
      for (const size_t k : packed.own.inputs)
        own.held.emplace_back(k, k == packed.own.inputs[0] ? aligned(packed.held.data()) : nullptr);
    }
    own_.push_back(std::move(own));
  }
}

size_t RegionRun::configure(std::span<const runtime::TensorShape> inputs, const SymbolValues& symbols) {
  symbols_ = symbols;
  shapes_.assign(inputs.begin(), inputs.end());
  size_t workspace = 0;
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const auto& node = *steps_.steps_[i].node;
    own.op = node.op.bind(symbols_);
    std::vector<ops::TensorType> types;
    std::vector<runtime::TensorShape> in, out;
    own.in.clear();
    own.out.clear();
    for (const size_t value : own.inputs) {
      in.push_back(shapes_[value]);
      types.push_back({in.back().dtype, toShape(in.back().dims), std::nullopt});
      own.in.push_back({nullptr, in.back().dtype, in.back().dims});
    }
    own.isEmpty = true;
    for (const auto& type : own.op.infer(node.name, types)) {
      out.push_back({type.dtype, evaluate(type.shape, symbols_), Layout::kLinear});
      own.out.push_back({nullptr, out.back().dtype, out.back().dims});
      own.isEmpty = own.isEmpty && out.back().dims.count() == 0;
    }
    checkUser(out.size() == static_cast<size_t>(node.outputs), "{}: {} results, its region says {}", node.name,
              out.size(), node.outputs);
    if (own.instance != nullptr && !own.isEmpty) {
      workspace = std::max(workspace, own.instance->configure({in, out, &symbols_}));
    }
    own.inputAddresses.assign(in.size(), nullptr);
    own.outputAddresses.assign(out.size(), nullptr);
    shapes_.insert(shapes_.end(), out.begin(), out.end());
  }
  outputs_.clear();
  for (const auto output : steps_.region_->outputs) outputs_.push_back(shapes_[static_cast<size_t>(output)]);
  outputAddresses_.assign(outputs_.size(), nullptr);
  addresses_.assign(shapes_.size(), nullptr);
  place();
  workspaceAt_ = bytes_;
  bytes_ += aligned(workspace);
  return bytes_;
}

// A value lives from its step to the last one that reads it; outputs to the end.
void RegionRun::place() {
  const size_t inputs = static_cast<size_t>(steps_.region_->inputs);
  const auto end = static_cast<int32_t>(own_.size());
  roots_.resize(shapes_.size());
  std::vector<memory::Block> blocks(shapes_.size());
  for (size_t value = 0; value < shapes_.size(); ++value) roots_[value] = value;
  for (size_t i = 0; i < own_.size(); ++i) {
    const auto& step = steps_.steps_[i];
    if (step.isView) roots_[step.firstResult] = roots_[own_[i].inputs[0]];
    for (size_t k = 0; k < own_[i].out.size(); ++k) {
      auto& block = blocks[step.firstResult + k];
      block.firstStep = block.lastStep = static_cast<int32_t>(i);
      if (!step.isView) block.bytes = aligned(own_[i].out[k].bytes());
    }
    for (const size_t value : own_[i].inputs) blocks[roots_[value]].lastStep = static_cast<int32_t>(i);
  }
  for (const auto output : steps_.region_->outputs) blocks[roots_[static_cast<size_t>(output)]].lastStep = end;
  for (size_t value = 0; value < inputs; ++value) blocks[value].bytes = 0;
  const auto layout = memory::layout(blocks, memory::Effort::kQuick);
  offsets_.assign(layout.offsets.begin(), layout.offsets.end());
  bytes_ = aligned(static_cast<size_t>(layout.bytes));
}

std::span<void* const> RegionRun::run(std::span<void* const> inputs, void* memory, runtime::StreamHandle stream) {
  auto* const base = static_cast<char*>(memory);
  for (size_t value = 0; value < addresses_.size(); ++value) {
    const size_t root = roots_[value];
    addresses_[value] = root < inputs.size() ? inputs[root] : base + offsets_[root];
  }
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const auto& step = steps_.steps_[i];
    if (step.isView || own.isEmpty) continue;
    for (size_t k = 0; k < own.inputs.size(); ++k) own.inputAddresses[k] = addresses_[own.inputs[k]];
    for (const auto& [k, address] : own.held) own.inputAddresses[k] = const_cast<void*>(address);
    for (size_t k = 0; k < own.out.size(); ++k) own.outputAddresses[k] = addresses_[step.firstResult + k];
    if (own.instance != nullptr) {
      own.instance->launch({own.inputAddresses.data(), own.outputAddresses.data(), base + workspaceAt_, stream});
      continue;
    }
    for (size_t k = 0; k < own.in.size(); ++k) own.in[k].data = own.inputAddresses[k];
    for (size_t k = 0; k < own.out.size(); ++k) own.out[k].data = own.outputAddresses[k];
    ops::evaluateWhatIsThere(own.op, {own.in, own.out, &symbols_});
  }
  for (size_t i = 0; i < outputAddresses_.size(); ++i)
    outputAddresses_[i] = addresses_[static_cast<size_t>(steps_.region_->outputs[i])];
  return outputAddresses_;
}

}  // namespace tenon::backends::cpu
