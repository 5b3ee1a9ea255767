// A plan made ready to run: verified, on its device, kernels loaded. Immutable and shared by its contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/large_memory.h"
#include "core/log.h"
#include "plan/program.h"
#include "runtime/hooks.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

struct LoadOptions {
  bool hostCodeAllowed = false;  // may native host code inside the plan be run
  std::string device;            // "cpu", "cuda", "null"; empty: the plan's own. Another one than the plan's is refused
  AllocatorHook* allocator = nullptr;  // outlives the engine; null: the device's own memory
};

struct EngineParts;  // what loading makes; src/runtime/engine_parts.h

// Thread-safe: everything is const after load. Hold it by shared_ptr; contexts do.
class Engine {
 public:
  // The blob may be freed afterwards: kernels take what they need of it, the rest is copied. Throws UserError for
  // damaged, hostile or foreign plans, Unsupported when this machine lacks what the plan needs.
  static std::shared_ptr<const Engine> load(std::span<const std::byte> blob, const LoadOptions& options, Log& log);
  // Reads straight into place.
  static std::shared_ptr<const Engine> loadFrom(StreamReader& reader, const LoadOptions& options, Log& log);
  // From a plan in memory, as the builder makes it. Weights of the caller are copied: the engine owns all its bytes.
  static std::shared_ptr<const Engine> make(plan::Plan plan, const LoadOptions& options, Log& log);

  explicit Engine(std::unique_ptr<const EngineParts> parts);
  ~Engine();

  const plan::Plan& plan() const noexcept;
  LargeVector<std::byte> serialize() const;
  Device& device() const noexcept;
  AllocatorHook* allocator() const noexcept;

  // Network inputs and outputs: indices are those of plan().io. -1 when there is none of that name.
  const std::vector<plan::Io>& io() const noexcept;
  int findIo(std::string_view name) const noexcept;
  // Extents with -1 where they are not fixed (a fixed extent is the same in all profiles).
  Dims ioDims(int io) const;

  int profileCount() const noexcept;  // at least 1
  const plan::Program& program(int profile) const;
  // Bounds of an input in a profile; null for static inputs and outputs.
  const plan::InputRange* range(int profile, int io) const;
  uint64_t arenaBytes(int profile) const;  // device memory that a context of the profile needs, for any allowed shapes
  uint64_t arenaBytes() const;             // the most over all profiles
  uint64_t constantBytes() const noexcept;
  int32_t auxStreams() const noexcept;  // beside the caller's, the most of all profiles

  int layerCount(int profile = 0) const;
  // One line, or a JSON object, about one layer; all layers together (src/plan/inspect.h). `symbols`: of a context, or
  // null.
  std::string layerText(int profile, int layer, const SymbolValues* symbols = nullptr) const;
  std::string layerJson(int profile, int layer, const SymbolValues* symbols = nullptr) const;
  std::string engineText(int profile, const SymbolValues* symbols = nullptr) const;
  std::string engineJson(int profile, const SymbolValues* symbols = nullptr) const;

  const EngineParts& parts() const noexcept { return *parts_; }

 private:
  std::unique_ptr<const EngineParts> parts_;
};

}  // namespace tenon::runtime
