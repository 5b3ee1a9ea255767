// Regions as kernels: loading, memory of their values, runs.
#include "runtime/region_steps.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/lazy_text.h"
#include "core/storage.h"
#include "memory/layout.h"
#include "ops/check.h"
#include "ops/op/size.h"
#include "ops/op/slice.h"
#include "runtime/configure.h"

namespace tenon::runtime {
namespace {

// Bytes of the operand in front of the result, where that is a part of it without gaps; of operators whose extents are
// known.
std::optional<size_t> partOffset(const ops::Operator& op, const std::vector<TensorView>& in,
                                 const std::vector<TensorView>& out) {
  const auto* slice = op.as<ops::Slice>();
  if (slice == nullptr || out.size() != 1 || bits(out[0].dtype) < 8) return std::nullopt;
  const auto steps = in[0].dims.strides();
  int64_t offset = 0;
  bool isCut = false;  // an axis in front of which all extents are 1, and behind which nothing is left out
  for (int axis = out[0].dims.rank; axis-- > 0;) {
    const auto at = static_cast<size_t>(axis);
    const int64_t extent = out[0].dims[axis];
    if (!slice->start[at].isConstant()) return std::nullopt;
    const int64_t start = slice->start[at].constant();
    const auto* const stride = slice->stride.empty() ? nullptr : &slice->stride[at];
    if (extent > 1 && stride != nullptr && !stride->isConstant(1)) return std::nullopt;
    if (start < 0 || start + extent > in[0].dims[axis] || (isCut && extent != 1)) return std::nullopt;
    isCut = isCut || extent != in[0].dims[axis];
    offset += start * steps[at];
  }
  return static_cast<size_t>(offset * bits(out[0].dtype) / 8);
}

}  // namespace

RegionSteps::RegionSteps(const ops::Region& region, const std::vector<ops::RegionKernel>& kernels,
                         const RegionLoad& load)
    : region_(region), alignment_(load.alignment) {
  const auto& nodes = region_->nodes;
  const auto& constants = load.constants;
  if (kernels.size() != nodes.size() || constants.size() != static_cast<size_t>(region_->inputs))
    throw Unsupported("{}.regions: {} kernels and {} operands for a region of {} operators and {} inputs", load.backend,
                      kernels.size(), constants.size(), nodes.size(), region_->inputs);
  size_t value = constants.size();
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<TensorView> own;
    for (const auto input : nodes[i].inputs) {
      if (input < 0 || static_cast<size_t>(input) >= value)
        throw Unsupported("{}.regions: layer '{}' reads value {} of {}", load.backend, nodes[i].name, input, value);
      own.push_back(static_cast<size_t>(input) < constants.size() ? constants[static_cast<size_t>(input)]
                                                                  : TensorView{});
    }
    const auto& kernel = kernels[i];
    Step step{&nodes[i], value, kernel.name == ops::RegionKernel::kView, nullptr};
    if (step.isView && (own.empty() || nodes[i].outputs != 1))
      throw Unsupported("{}.regions: layer '{}' is no view", load.backend, nodes[i].name);
    if (!step.isView && kernel.name != ops::RegionKernel::kReference) {
      const plan::KernelRecord record{std::string(load.backend), kernel.name,   kernel.version,
                                      nodes[i].op.text(),        kernel.params, -1};
      const auto code = ops::codeOf(kernel, load.owner.nativeCode);
      step.kernel = load.load({record, own, code, load.owner.log, load.owner.sizesOnly, load.owner.trial});
      for (const auto& form : packedForms(*step.kernel, own, Layout::kLinear)) {
        packed_.push_back({i, form, form, {}});
        for (auto& input : packed_.back().form.inputs) input = static_cast<size_t>(nodes[i].inputs[input]);
      }
    }
    steps_.push_back(std::move(step));
    value += static_cast<size_t>(nodes[i].outputs);
  }
  for (const auto output : region_->outputs) {
    if (output < 0 || static_cast<size_t>(output) >= value)
      throw Unsupported("{}.regions: the region gives value {} of {}", load.backend, output, value);
  }
}

void RegionSteps::pack(const Packed& packed, std::span<const void* const> sources, void* to) const {
  dynamic_cast<const Packer&>(*steps_[packed.step].kernel).pack(packed.own, sources, to);
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

RegionRun::RegionRun(const RegionSteps& steps) : steps_(steps), sizes_(steps.region_.ownSymbols()) {
  for (const auto& step : steps.steps_) {
    Own own(step.node->op);
    if (step.kernel != nullptr) own.instance = step.kernel->instantiate();
    for (const auto input : step.node->inputs) own.inputs.push_back(static_cast<size_t>(input));
    own_.push_back(std::move(own));
  }
}

void* RegionRun::Buffer::atLeast(size_t bytes, size_t alignment) {
  if (data_ == nullptr || bytes_.size() < bytes + alignment) bytes_.resize(bytes + bytes / 4 + alignment);
  data_ = reinterpret_cast<void*>(alignBytes(reinterpret_cast<uintptr_t>(bytes_.data()), alignment));
  return data_;
}

size_t RegionRun::configure(std::span<const TensorShape> inputs, const SymbolValues& symbols, bool placed) {
  symbols_ = symbols;
  ++sizesVersion_;
  shapes_.assign(inputs.begin(), inputs.end());
  isLate_.assign(inputs.size(), false);
  size_t workspace = 0;
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const auto& node = *steps_.steps_[i].node;
    own.isLate = ops::needsAny(node.op, sizes_) ||
                 std::any_of(own.inputs.begin(), own.inputs.end(), [&](size_t value) { return isLate_[value]; });
    shapes_.resize(shapes_.size() + static_cast<size_t>(node.outputs));
    isLate_.resize(shapes_.size(), own.isLate);
    if (own.isLate) {
      own.out.clear();
      own.inputAddresses.assign(own.inputs.size(), nullptr);
    } else {
      workspace = std::max(workspace, configureStep(i));
    }
  }
  outputs_.clear();
  for (const auto output : steps_.region_->outputs) outputs_.push_back(shapes_[static_cast<size_t>(output)]);
  outputAddresses_.assign(outputs_.size(), nullptr);
  addresses_.assign(shapes_.size(), nullptr);
  placed_.assign(shapes_.size(), nullptr);
  if (!sizes_.empty()) lateMemory_.resize(shapes_.size());
  layOut(placed);
  workspaceAt_ = bytes_;
  bytes_ += alignBytes(workspace, steps_.alignment_);
  return bytes_;
}

// The shapes of its operands are known. Bytes of workspace.
size_t RegionRun::configureStep(size_t step) {
  Own& own = own_[step];
  const auto& node = *steps_.steps_[step].node;
  own.op = node.op.bind(symbols_);
  std::vector<ops::TensorType> types;
  std::vector<TensorShape> in, out;
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
    const auto& dims = out.back().dims;
    checkUser(std::all_of(dims.begin(), dims.end(), [](int64_t extent) { return extent >= 0; }),
              "layer '{}': a result would have the shape {}", node.name, textOf(dims));
  }
  checkUser(out.size() == static_cast<size_t>(node.outputs), "{}: {} results, its region says {}", node.name,
            out.size(), node.outputs);
  if (steps_.steps_[step].isView && own.out[0].bytes() > own.in[0].bytes())
    throw UserError("{}: a view has {} bytes of {}", node.name, own.out[0].bytes(), own.in[0].bytes());
  own.inputAddresses.assign(in.size(), nullptr);
  own.outputAddresses.assign(out.size(), nullptr);
  std::copy(out.begin(), out.end(), shapes_.begin() + static_cast<std::ptrdiff_t>(steps_.steps_[step].firstResult));
  own.isByReference = false;
  if (own.instance == nullptr || own.isEmpty) return 0;
  try {
    return runtime::configure(*own.instance, {in, out, &symbols_});
  } catch (const Unsupported&) {
    if (!own.isLate) throw;
    own.isByReference = true;  // the kernel was chosen for a guess
    return 0;
  }
}

// The sizes that it needs are known. Nothing is made ready again when they are what they were.
void RegionRun::configureLate(size_t step) {
  Own& own = own_[step];
  if (own.configured != sizesVersion_) {
    const auto packed = own.inputAddresses;
    lateWorkspace_.atLeast(configureStep(step), steps_.alignment_);
    own.inputAddresses = packed;
    own.configured = sizesVersion_;
  }
  const auto& at = steps_.steps_[step];
  for (size_t k = 0; k < own.inputs.size(); ++k) {
    if (isLate_[own.inputs[k]]) own.inputAddresses[k] = addresses_[own.inputs[k]];
  }
  for (size_t k = 0; k < own.out.size(); ++k) {
    const size_t value = at.firstResult + k;
    addresses_[value] =
        at.isView ? addresses_[own.inputs[0]] : lateMemory_[value].atLeast(own.out[k].bytes(), steps_.alignment_);
    own.outputAddresses[k] = addresses_[value];
  }
}

void RegionRun::readSize(size_t step) {
  const auto* size = own_[step].op.as<ops::Size>();
  if (size == nullptr) return;
  const auto& at = steps_.steps_[step];
  const auto known = symbols_.find(size->symbol);
  const int64_t before = known == symbols_.end() ? INT64_MIN : known->second;
  const auto& shape = shapes_[at.firstResult];
  ops::bindSize(*size, {addresses_[at.firstResult], shape.dtype, shape.dims}, at.node->name, symbols_);
  if (symbols_.at(size->symbol) != before) ++sizesVersion_;
}

// Slices whose elements stand behind each other in their operand, at an address that kernels may expect, are read
// where they are. What the region gives has memory of its own.
void RegionRun::findParts() {
  std::vector<bool> isGiven(shapes_.size(), false);
  for (const auto output : steps_.region_->outputs) isGiven[static_cast<size_t>(output)] = true;
  for (size_t i = own_.size(); i-- > 0;) {
    const auto& step = steps_.steps_[i];
    if (step.isView && isGiven[step.firstResult]) isGiven[own_[i].inputs[0]] = true;
  }
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const size_t result = steps_.steps_[i].firstResult;
    const auto offset =
        own.isLate || own.isEmpty || isGiven[result] ? std::nullopt : partOffset(own.op, own.in, own.out);
    own.isPart = offset && *offset % steps_.alignment_ == 0;
    if (own.isPart) shifts_[result] = *offset;
  }
}

// A value lives from its step to the last one that reads it; outputs to the end.
void RegionRun::layOut(bool placed) {
  const size_t inputs = static_cast<size_t>(steps_.region_->inputs);
  const auto end = static_cast<int32_t>(own_.size());
  roots_.resize(shapes_.size());
  shifts_.assign(shapes_.size(), 0);
  findParts();
  std::vector<memory::Block> blocks(shapes_.size());
  for (size_t value = 0; value < shapes_.size(); ++value) roots_[value] = value;
  for (size_t i = 0; i < own_.size(); ++i) {
    const auto& step = steps_.steps_[i];
    const bool isWithin = step.isView || own_[i].isPart;
    if (isWithin) {
      roots_[step.firstResult] = roots_[own_[i].inputs[0]];
      shifts_[step.firstResult] += shifts_[own_[i].inputs[0]];
    }
    for (size_t k = 0; k < own_[i].out.size(); ++k) {
      auto& block = blocks[step.firstResult + k];
      block.firstStep = block.lastStep = static_cast<int32_t>(i);
      if (!isWithin) block.bytes = alignBytes(own_[i].out[k].bytes(), steps_.alignment_);
      block.alignment = steps_.alignment_;
    }
    for (const size_t value : own_[i].inputs) blocks[roots_[value]].lastStep = static_cast<int32_t>(i);
  }
  for (const auto output : steps_.region_->outputs) {
    auto& block = blocks[roots_[static_cast<size_t>(output)]];
    block.lastStep = end;
    if (placed && !isLate_[static_cast<size_t>(output)]) block.bytes = 0;
  }
  for (size_t value = 0; value < inputs; ++value) blocks[value].bytes = 0;
  const auto layout = memory::layout(blocks, memory::Effort::kQuick);
  offsets_.assign(layout.offsets.begin(), layout.offsets.end());
  bytes_ = alignBytes(layout.bytes, steps_.alignment_);
}

void RegionRun::findAddresses(std::span<void* const> inputs, char* base) {
  const auto at = [&](const RegionSteps::Place& place) {
    return static_cast<char*>(inputs[place.input]) + place.offset;
  };
  for (size_t value = 0; value < inputs.size(); ++value) addresses_[value] = inputs[value];
  for (const auto& [input, place] : steps_.rowMajor_) addresses_[input] = at(place);
  for (size_t value = inputs.size(); value < addresses_.size(); ++value) {
    const size_t root = roots_[value];
    void* const begin = root < inputs.size()       ? addresses_[root]
                        : placed_[root] != nullptr ? placed_[root]
                                                   : base + offsets_[root];
    addresses_[value] = shifts_[value] == 0 ? begin : static_cast<char*>(begin) + shifts_[value];
  }
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const size_t first = steps_.steps_[i].firstResult;
    for (size_t k = 0; k < own.inputs.size(); ++k) own.inputAddresses[k] = addresses_[own.inputs[k]];
    for (size_t k = 0; k < own.out.size() && !own.isLate; ++k) own.outputAddresses[k] = addresses_[first + k];
  }
  for (const auto& packed : steps_.packed_) {
    auto& addresses = own_[packed.step].inputAddresses;
    for (const size_t input : packed.own.inputs) addresses[input] = nullptr;
    addresses[packed.own.inputs[0]] = at(packed.place);
  }
}

std::span<void* const> RegionRun::run(std::span<void* const> inputs, void* memory, StreamHandle stream) {
  auto* const base = static_cast<char*>(memory);
  findAddresses(inputs, base);
  for (size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    const auto& step = steps_.steps_[i];
    if (own.isLate) configureLate(i);
    if (!sizes_.empty()) readSize(i);
    if (step.isView || own.isEmpty || own.isPart) continue;
    if (own.instance != nullptr && !own.isByReference) {
      void* const workspace = own.isLate ? lateWorkspace_.data() : base + workspaceAt_;
      own.instance->launch({own.inputAddresses.data(), own.outputAddresses.data(), workspace, stream});
      continue;
    }
    for (size_t k = 0; k < own.in.size(); ++k) own.in[k].data = own.inputAddresses[k];
    for (size_t k = 0; k < own.out.size(); ++k) own.out[k].data = own.outputAddresses[k];
    ops::evaluateWhatIsThere(own.op, {own.in, own.out, &symbols_});
  }
  for (size_t i = 0; i < outputAddresses_.size(); ++i) {
    const auto value = static_cast<size_t>(steps_.region_->outputs[i]);
    outputAddresses_[i] = addresses_[value];
    if (isLate_[value]) outputs_[i] = shapes_[value];
  }
  return outputAddresses_;
}

}  // namespace tenon::runtime
