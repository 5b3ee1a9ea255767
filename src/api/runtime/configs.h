// ISerializationConfig and IRuntimeConfig: a few values each.
#pragma once

#include <NvInferRuntime.h>

#include "api/common/convert.h"
#include "api/common/reporter.h"

namespace tenon::api {

class SerializationConfig final : public nv::ISerializationConfig, public nv::apiv::VSerializationConfig {
 public:
  SerializationConfig() { mImpl = this; }
  bool setFlags(nv::SerializationFlags flags) noexcept override {
    if (flags >> nv::EnumMax<nv::SerializationFlag>() != 0) return false;
    flags_ = flags;
    return true;
  }
  nv::SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(nv::SerializationFlag flag) noexcept override { return setFlags(flags_ & ~bit(flag)); }
  bool setFlag(nv::SerializationFlag flag) noexcept override { return setFlags(flags_ | bit(flag)); }
  bool getFlag(nv::SerializationFlag flag) const noexcept override { return (flags_ & bit(flag)) != 0; }

 private:
  static uint32_t bit(nv::SerializationFlag flag) noexcept { return 1U << static_cast<uint32_t>(flag); }
  nv::SerializationFlags flags_ = 0;
};

class RuntimeConfig final : public nv::IRuntimeConfig, public nv::apiv::VRuntimeConfig {
 public:
  explicit RuntimeConfig(Reporter& parent) : reporter_(parent.logger(), parent.recorder()) { mImpl = this; }
  nv::IRuntimeConfig* getPImpl() noexcept override { return this; }
  void setExecutionContextAllocationStrategy(nv::ExecutionContextAllocationStrategy strategy) noexcept override {
    guarded(reporter_, "IRuntimeConfig::setExecutionContextAllocationStrategy",
            [&] { strategy_ = checkedEnum(strategy, "allocation strategy"); });
  }
  nv::ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept override {
    return strategy_;
  }

 private:
  Reporter reporter_;
  nv::ExecutionContextAllocationStrategy strategy_ = nv::ExecutionContextAllocationStrategy::kSTATIC;
};

}  // namespace tenon::api
