// The inspector's text and JSON, written by hand: the objects are small and their order is part of what users read.
#include "plan/inspect.h"

#include <fmt/format.h>

namespace tenon::plan {
namespace {

constexpr int32_t kNamesOnly = 0;
constexpr int32_t kNone = 1;

std::string json(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Fixed extents as numbers; others as their expression in quotes.
std::string dimensions(const Shape& shape) {
  std::string result = "[";
  for (const auto& extent : shape) {
    if (result.size() > 1) result += ", ";
    result += extent.isConstant() ? extent.text() : json(extent.text());
  }
  return result + "]";
}

std::string_view location(const TensorRecord& tensor) {
  if (tensor.storage == Storage::kConstant) return "Constant";
  return tensor.onHost ? "Host" : "Device";
}

std::string tensorJson(const TensorRecord& tensor) {
  return fmt::format("{{\"Name\": {}, \"Location\": \"{}\", \"Dimensions\": {}, \"Datatype\": {}, \"Format\": {}}}", json(tensor.name),
                     location(tensor), dimensions(tensor.shape), json(name(tensor.dtype)), json(name(tensor.format)));
}

std::string tensorText(const TensorRecord& tensor) {
  return fmt::format("{} {}{} {}", tensor.name, name(tensor.dtype), text(tensor.shape), name(tensor.format));
}

template <typename Write>
std::string tensors(const Program& program, const std::vector<int32_t>& indices, Write write) {
  std::string result;
  for (const int32_t index : indices) {
    if (index < 0) continue;
    result += (result.empty() ? "" : ", ") + write(program.tensors[static_cast<size_t>(index)]);
  }
  return result;
}

std::string originsJson(const std::vector<std::string>& origins) {
  std::string result;
  for (const auto& origin : origins) result += (result.empty() ? "" : ", ") + json(origin);
  return "[" + result + "]";
}

}  // namespace

std::string layerText(const Plan& plan, size_t program, size_t layer) {
  const auto& p = plan.programs.at(program);
  const auto& step = p.steps.at(layer);
  if (plan.profilingVerbosity == kNone) return {};
  if (plan.profilingVerbosity == kNamesOnly) return step.name;
  return fmt::format("Layer({}): {}, Tactic: {}, {} -> {}", step.layerType, step.name, step.tactic, tensors(p, step.inputs, tensorText),
                     tensors(p, step.outputs, tensorText));
}

std::string layerJson(const Plan& plan, size_t program, size_t layer) {
  const auto& p = plan.programs.at(program);
  const auto& step = p.steps.at(layer);
  if (plan.profilingVerbosity == kNone) return {};
  if (plan.profilingVerbosity == kNamesOnly) return json(step.name);
  return fmt::format("{{\"Name\": {}, \"LayerType\": {}, \"Inputs\": [{}], \"Outputs\": [{}], \"TacticName\": {}, \"Operator\": {}, "
                     "\"WorkspaceBytes\": {}, \"StreamId\": 0, \"Origins\": {}}}",
                     json(step.name), json(step.layerType), tensors(p, step.inputs, tensorJson), tensors(p, step.outputs, tensorJson),
                     json(step.tactic), json(step.kernel.op), step.workspaceBytes, originsJson(step.origins));
}

std::string engineText(const Plan& plan, size_t program) {
  std::string result;
  for (size_t i = 0; i < plan.programs.at(program).steps.size(); ++i) {
    const auto line = layerText(plan, program, i);
    if (!line.empty()) result += line + "\n";
  }
  return result;
}

std::string engineJson(const Plan& plan, size_t program) {
  std::string layers;
  for (size_t i = 0; i < plan.programs.at(program).steps.size(); ++i) {
    const auto layer = layerJson(plan, program, i);
    if (!layer.empty()) layers += (layers.empty() ? "" : ",\n  ") + layer;
  }
  std::string bindings;
  for (const auto& io : plan.io) bindings += (bindings.empty() ? "" : ", ") + json(io.name);
  return fmt::format("{{\"Layers\": [{}{}],\n\"Bindings\": [{}]}}", layers.empty() ? "" : "\n  ", layers, bindings);
}

}  // namespace tenon::plan
