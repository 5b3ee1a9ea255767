// The inspector's text and JSON in TensorRT's form, written by hand: the objects are small and their order is part of
// what programs read. What TensorRT has no name for comes last, under names of ours.
#include "plan/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/branch_steps.h"
#include "plan/layer_parameters.h"
#include "plan/range_kernels.h"

namespace tenon::plan {
namespace {

constexpr int32_t kNamesOnly = 0;
constexpr int32_t kNone = 1;

// Without control characters, so that a name is never a line of its own.
std::string escaped(std::string_view text, bool quotes) {
  std::string result;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      if (quotes && (c == '"' || c == '\\')) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string quoted(std::string_view text) { return "\"" + escaped(text, true) + "\""; }

std::string_view location(const TensorRecord& tensor) { return tensor.onHost ? "Host" : "Device"; }

bool isKnown(const Shape& shape, const SymbolValues* symbols) {
  return std::all_of(shape.begin(), shape.end(),
                     [&](const Extent& extent) { return extent.isConstant() || knownExtent(extent, symbols) != -1; });
}

std::string description(const TensorRecord& tensor, const SymbolValues* symbols) {
  return isKnown(tensor.shape, symbols) ? formatDescription(tensor.dtype, tensor.layout, tensor.shape.size())
                                        : "N/A due to dynamic shapes";
}

// Writes the tensors of one program.
class Tensors {
 public:
  Tensors(const Program& program, const SymbolValues* symbols)
      : program_(program), symbols_(symbols), written_(program.tensors.size(), false) {
    for (const auto& step : program.steps) {
      for (const int32_t output : step.outputs) {
        if (output >= 0) written_[static_cast<size_t>(output)] = true;
      }
    }
  }

  // Those that are constants, or the others.
  std::string json(const std::vector<int32_t>& indices, bool constants) const {
    return "[" +
           all(indices, constants, ",",
               [&](const TensorRecord& tensor, const std::string& name) { return json(tensor, name); }) +
           "]";
  }
  std::string text(const std::vector<int32_t>& indices) const {
    const auto list = all(indices, false, ", ",
                          [&](const TensorRecord& tensor, const std::string& name) { return text(tensor, name); });
    return list.empty() ? "[]" : "[ " + list + "]";
  }

 private:
  // A view that no step makes goes by the name of the tensor whose memory it is, so that names lead from layer to
  // layer.
  const std::string& nameOf(int32_t index) const {
    const auto& tensor = program_.tensors[static_cast<size_t>(index)];
    const bool isMade = written_[static_cast<size_t>(index)] || tensor.storage != Storage::kView;
    return isMade ? tensor.name : program_.tensors[static_cast<size_t>(tensor.index)].name;
  }

  template <typename Write>
  std::string all(const std::vector<int32_t>& indices, bool constants, std::string_view separator, Write write) const {
    std::string result;
    for (const int32_t index : indices) {
      if (index < 0) continue;
      const auto& tensor = program_.tensors[static_cast<size_t>(index)];
      if ((tensor.storage == Storage::kConstant) != constants) continue;
      if (!result.empty()) result += separator;
      result += write(tensor, nameOf(index));
    }
    return result;
  }

  std::string json(const TensorRecord& tensor, const std::string& shown) const {
    std::string ours = fmt::format(",\n    \"Datatype\": {},\n    \"Format\": {}", quoted(name(tensor.dtype)),
                                   quoted(name(tensor.layout)));
    if (!isConstant(tensor.shape)) {
      std::vector<std::string> extents;
      for (const auto& extent : tensor.shape) extents.push_back(quoted(extent.text()));
      ours += fmt::format(",\n    \"Extents\": [{}]", fmt::join(extents, ","));
    }
    if (shown != tensor.name) ours += ",\n    \"View\": " + quoted(tensor.name);
    return fmt::format(
        "\n  {{\n    \"Name\": {},\n    \"Location\": \"{}\",\n    \"Dimensions\": {},\n    \"Format/Datatype\": {}{}\n  }}",
        quoted(shown), location(tensor), knownExtents(tensor.shape, symbols_), quoted(description(tensor, symbols_)),
        ours);
  }
  std::string text(const TensorRecord& tensor, const std::string& shown) const {
    return fmt::format("{{ Name: {}, Location: {}, Dimensions: {}, Format/Datatype: {} }}", escaped(shown, false),
                       location(tensor), knownExtents(tensor.shape, symbols_), description(tensor, symbols_));
  }

  const Program& program_;
  const SymbolValues* symbols_;
  std::vector<bool> written_;
};

std::string names(const std::vector<std::string>& texts, std::string_view separator) {
  std::vector<std::string> all;
  for (const auto& text : texts) all.push_back(quoted(text));
  return fmt::format("{}", fmt::join(all, separator));
}

std::vector<std::string> bindings(const Plan& plan) {
  std::vector<std::string> result;
  for (const auto& io : plan.io) result.push_back(io.name);
  return result;
}

// The tactic that runs at these extents; the step's own where they are not known.
struct Shown {
  const std::string& name;
  uint64_t value;
};
Shown shownTactic(const Program& program, const Step& step, const SymbolValues* symbols) {
  int32_t which = kOwnKernel;
  const auto known = [&](const std::vector<int32_t>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [&](int32_t tensor) {
      return tensor < 0 || isKnown(program.tensors[static_cast<size_t>(tensor)].shape, symbols);
    });
  };
  if (!step.others.empty() && symbols != nullptr && known(step.inputs) && known(step.outputs))
    which = kernelFor(step, openElements(program, step, *symbols));
  if (which == kOwnKernel) return {step.tactic, step.tacticValue};
  const auto& other = step.others[static_cast<size_t>(which)];
  return {other.tactic, other.tacticValue};
}

// All tactics of a step that has more than one, each with the numbers of elements that it is for.
std::string rangesJson(const Step& step) {
  if (step.others.empty()) return {};
  auto result = fmt::format(",\n  \"TacticRanges\": [\n  {{\"TacticName\": {}, \"TacticValue\": \"{:#018x}\"}}",
                            quoted(step.tactic), step.tacticValue);
  for (const auto& other : step.others)
    result += fmt::format(",\n  {{\"TacticName\": {}, \"TacticValue\": \"{:#018x}\", \"Elements\": [{},{}]}}",
                          quoted(other.tactic), other.tacticValue, other.elements.low, other.elements.high);
  return result + "]";
}

// The stream of a step where tensors stand at their places for the largest shapes; 0 is the caller's.
int32_t streamOf(const Program& program, size_t step) {
  if (program.auxStreams == 0) return 0;
  const auto place = [&](int32_t tensor, int32_t base) {
    const auto& whole = program.tensors[static_cast<size_t>(base)];
    const auto& part = program.tensors[static_cast<size_t>(tensor)];
    const bool inArena = whole.storage == Storage::kArena;
    const uint64_t start = inArena ? whole.offset : 0;
    const bool known = tensor != base && part.viewOffset.isConstant() && part.pitch == Extent(0);
    const uint64_t offset = known ? static_cast<uint64_t>(part.viewOffset.constant()) : 0;
    return Place{inArena ? 0 : base + 1, start + offset, start + offset + (known ? part.bytes : whole.bytes)};
  };
  const auto workspace = [&](size_t s) {
    return Place{0, program.steps[s].workspaceOffset,
                 program.steps[s].workspaceOffset + program.steps[s].workspaceBytes};
  };
  return memory::branch(branchSteps(program, place, workspace), program.auxStreams + 1).steps[step].stream;
}

}  // namespace

std::string formatDescription(DataType type, Layout layout, size_t rank) {
  // In the order of DataType.
  static constexpr std::string_view kNames[] = {"FP32",  "FP16",  "BFloat16", "FP8",   "FP4",  "E8M0",
                                                "Int64", "Int32", "Int8",     "UInt8", "Int4", "BOOL"};
  static_assert(std::size(kNames) == static_cast<size_t>(DataType::kBool) + 1);
  const auto typeName = kNames[static_cast<size_t>(type)];
  const auto spatial = rank == 5 ? " with 3 spatial dimensions" : "";
  if (layout.blockedAxis >= 0) {
    const auto count = [&]() -> std::string {
      switch (layout.block) {
        case 2: return "Two";
        case 4: return "Four";
        case 8: return "Eight";
        case 16: return "Sixteen";
        case 32: return "Thirty-two";
        default: return std::to_string(layout.block);
      }
    }();
    return fmt::format("{} wide channel vectorized row major {} format{}", count, typeName, spatial);
  }
  const auto rows = layout.rowMultiple == 1
                        ? std::string()
                        : fmt::format(" and rows of a multiple of {} bytes", layout.rowMultiple * bits(type) / 8);
  if (layout.innermost >= 0) {
    const auto multiple =
        layout.multiple == 1 ? std::string() : fmt::format(" where C % {} == 0", static_cast<int>(layout.multiple));
    return fmt::format("Channel major {} format{}{}{}", typeName, multiple, rows, spatial);
  }
  // The first types that TensorRT had go without the last word, and Int8 without "linear".
  const bool first = type == DataType::kF32 || type == DataType::kI32 || type == DataType::kBool;
  return fmt::format("Row major {}{}{}{}", type == DataType::kI8 ? "" : "linear ", typeName, first ? "" : " format",
                     rows);
}

std::string layerText(const Plan& plan, size_t program, size_t layer, const SymbolValues* symbols) {
  const auto& p = plan.programs.at(program);
  const auto& step = p.steps.at(layer);
  if (plan.profilingVerbosity == kNone) return {};
  if (plan.profilingVerbosity == kNamesOnly) return escaped(step.name, false);
  const Tensors tensors(p, symbols);
  const auto parameters = layerParameters(p, step, symbols);
  auto result =
      fmt::format("Name: {}, LayerType: {}, Inputs: {}, Outputs: {}", escaped(step.name, false),
                  escaped(parameters.layerType, false), tensors.text(step.inputs), tensors.text(step.outputs));
  if (!parameters.parameterType.empty()) result += ", ParameterType: " + escaped(parameters.parameterType, false);
  for (const auto& field : parameters.fields)
    result += fmt::format(", {}: {}", field.name, field.isText ? escaped(field.value, false) : field.value);
  const auto tactic = shownTactic(p, step, symbols);
  return result + fmt::format(", TacticName: {}, TacticValue: {:#018x}, StreamId: {}, Metadata: {}",
                              escaped(tactic.name, false), tactic.value, streamOf(p, layer),
                              escaped(step.metadata, false));
}

std::string layerJson(const Plan& plan, size_t program, size_t layer, const SymbolValues* symbols) {
  const auto& p = plan.programs.at(program);
  const auto& step = p.steps.at(layer);
  if (plan.profilingVerbosity == kNone) return "{}";
  if (plan.profilingVerbosity == kNamesOnly) return quoted(step.name);
  const Tensors tensors(p, symbols);
  const auto parameters = layerParameters(p, step, symbols);
  auto result =
      fmt::format("{{\n  \"Name\": {},\n  \"LayerType\": {},\n  \"Inputs\": {},\n  \"Outputs\": {}", quoted(step.name),
                  quoted(parameters.layerType), tensors.json(step.inputs, false), tensors.json(step.outputs, false));
  if (!parameters.parameterType.empty()) result += ",\n  \"ParameterType\": " + quoted(parameters.parameterType);
  for (const auto& field : parameters.fields)
    result += fmt::format(",\n  {}: {}", quoted(field.name), field.isText ? quoted(field.value) : field.value);
  const auto tactic = shownTactic(p, step, symbols);
  result +=
      fmt::format(",\n  \"TacticName\": {},\n  \"TacticValue\": \"{:#018x}\",\n  \"StreamId\": {},\n  \"Metadata\": {}",
                  quoted(tactic.name), tactic.value, streamOf(p, layer), quoted(step.metadata));
  return result + rangesJson(step) +
         fmt::format(",\n  \"Operator\": {},\n  \"WorkspaceBytes\": {},\n  \"Constants\": {},\n  \"Origins\": [{}]\n}}",
                     quoted(step.kernel.op), step.workspaceBytes, tensors.json(step.inputs, true),
                     names(step.origins, ", "));
}

std::string engineText(const Plan& plan, size_t program, const SymbolValues* symbols) {
  if (plan.profilingVerbosity == kNone) return {};
  std::string result = "Layers:\n";
  for (size_t i = 0; i < plan.programs.at(program).steps.size(); ++i)
    result += layerText(plan, program, i, symbols) + "\n";
  result += "\nBindings:\n";
  for (const auto& io : bindings(plan)) result += escaped(io, false) + "\n";
  return result;
}

std::string engineJson(const Plan& plan, size_t program, const SymbolValues* symbols) {
  std::string layers;
  const size_t count = plan.profilingVerbosity == kNone ? 0 : plan.programs.at(program).steps.size();
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) layers += plan.profilingVerbosity == kNamesOnly ? "\n," : ",";
    layers += layerJson(plan, program, i, symbols);
  }
  return fmt::format("{{\"Layers\": [{}\n],\n\"Bindings\": [{}]}}", layers, names(bindings(plan), ", "));
}

}  // namespace tenon::plan
