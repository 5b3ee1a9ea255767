// A plugin of a network while that is built, as the tactics see it. The facade implements it over the caller's object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"

namespace tenon::ops {

// One way in which a plugin can run: the layouts of its operands, and its own tactic.
struct PluginChoice {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  int32_t tactic = 0;  // 0: the plugin has none to choose from
};

// Thread-safe: plugins are asked one question at a time.
class PluginObject {
 public:
  virtual ~PluginObject() = default;
  // Every way for operands of these types at these values of the symbols. Throws UserError or Unsupported with what was
  // asked when there is none, or when the plugin reports an error.
  virtual const std::vector<PluginChoice>& choices(std::span<const DataType> inputs, std::span<const DataType> outputs,
                                                   const SymbolValues& symbols) = 0;
  // From which the kernel of a choice is made as long as the object lives.
  virtual std::string parameters(const PluginChoice& choice, std::span<const DataType> inputs,
                                 std::span<const DataType> outputs, const SymbolValues& symbols) = 0;
  // Whether it is a kernel that somebody compiled for a GPU: parameters() then tells of its launch
  // (ops/compiled_launch.h), and code() is the code of the kernel with these parameters.
  virtual bool isCompiled() const = 0;
  virtual std::vector<std::byte> code(const std::string& parameters) const = 0;
};

}  // namespace tenon::ops
