// Ranges for the tools that watch a program (NVTX): nothing is linked, and without a tool nothing happens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/program.h"

namespace tenon::runtime {

// The tool that watches this process, if one does: NVTX_INJECTION64_PATH names its library, which fills in the
// functions that it wants to see. Asked for once.
class NvtxTool {
 public:
  static const NvtxTool* attached();  // null without one

  // A range of this thread, inside the ranges that are open. The text is read during the call.
  void push(const char* text) const noexcept;
  void pop() const noexcept;

 private:
  NvtxTool() = default;
  void* domain_ = nullptr;
};

enum class RangeDetail : uint8_t { kNone, kNames, kDetailed };

// What the ranges of a program's executions say.
struct RangeTexts {
  std::string execution;
  std::vector<std::string> steps;
};
std::shared_ptr<const RangeTexts> rangeTexts(const plan::Plan& plan, const plan::Program& program, RangeDetail detail);

// One range, from construction to destruction; no tool, no range.
class NvtxRange {
 public:
  NvtxRange(const NvtxTool* tool, const std::string& text) noexcept : tool_(tool) {
    if (tool_ != nullptr) tool_->push(text.c_str());
  }
  ~NvtxRange() {
    if (tool_ != nullptr) tool_->pop();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const NvtxTool* tool_;
};

}  // namespace tenon::runtime
