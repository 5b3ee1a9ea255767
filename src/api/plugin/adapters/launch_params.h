// What a plugin whose kernel is compiled while the engine is built says of its launch.
#pragma once

#include <impl/NvInferPythonPlugin.h>

#include <array>
#include <memory>
#include <vector>

#include "api/plugin/adapters/expressions.h"
#include "ops/compiled_launch.h"

namespace tenon::api {

// A number that the plugin gave, read at once: its object may be gone when the call is over.
class LaunchNumber final : public nv::ISymExpr {
 public:
  explicit LaunchNumber(const nv::IDimensionExpr* value) : value_(value) {}
  nv::PluginArgType getType() const noexcept override { return nv::PluginArgType::kINT; }
  nv::PluginArgDataType getDataType() const noexcept override { return type_; }
  void* getExpr() noexcept override { return const_cast<nv::IDimensionExpr*>(value_); }
  // False, and the reason in `failure`, for what is no expression of `expressions`.
  bool set(nv::ISymExpr* given, const Expressions& expressions, std::string& failure) noexcept;

 private:
  const nv::IDimensionExpr* value_;
  nv::PluginArgDataType type_ = nv::PluginArgDataType::kINT32;
};

// Grid, block and shared memory: 1, 1 and 0 until they are set.
class LaunchParams final : public nv::IKernelLaunchParams, public nv::IKernelLaunchParamsImpl {
 public:
  explicit LaunchParams(Expressions& expressions);
  ~LaunchParams() noexcept override = default;
  void write(ops::CompiledLaunch& launch) const;  // throws UserError for what was refused

  nv::ISymExpr* getGridX() noexcept override { return &numbers_[0]; }
  bool setGridX(nv::ISymExpr* value) noexcept override { return set(0, value); }
  nv::ISymExpr* getGridY() noexcept override { return &numbers_[1]; }
  bool setGridY(nv::ISymExpr* value) noexcept override { return set(1, value); }
  nv::ISymExpr* getGridZ() noexcept override { return &numbers_[2]; }
  bool setGridZ(nv::ISymExpr* value) noexcept override { return set(2, value); }
  nv::ISymExpr* getBlockX() noexcept override { return &numbers_[3]; }
  bool setBlockX(nv::ISymExpr* value) noexcept override { return set(3, value); }
  nv::ISymExpr* getBlockY() noexcept override { return &numbers_[4]; }
  bool setBlockY(nv::ISymExpr* value) noexcept override { return set(4, value); }
  nv::ISymExpr* getBlockZ() noexcept override { return &numbers_[5]; }
  bool setBlockZ(nv::ISymExpr* value) noexcept override { return set(5, value); }
  nv::ISymExpr* getSharedMem() noexcept override { return &numbers_[6]; }
  bool setSharedMem(nv::ISymExpr* value) noexcept override { return set(6, value); }

 private:
  bool set(size_t place, nv::ISymExpr* value) noexcept;
  Extent extent(size_t place) const;
  const Expressions& expressions_;
  std::vector<LaunchNumber> numbers_;
  std::string failure_;
};

// The arguments between the inputs and the outputs.
class LaunchArgumentList final : public nv::ISymExprs, public nv::ISymExprsImpl {
 public:
  explicit LaunchArgumentList(Expressions& expressions);
  ~LaunchArgumentList() noexcept override = default;
  void write(ops::CompiledLaunch& launch) const;  // throws UserError for what was refused

  nv::ISymExpr* getSymExpr(int32_t index) const noexcept override;
  bool setSymExpr(int32_t index, nv::ISymExpr* value) noexcept override;
  int32_t getNbSymExprs() const noexcept override { return static_cast<int32_t>(numbers_.size()); }
  bool setNbSymExprs(int32_t count) noexcept override;

 private:
  const Expressions& expressions_;
  const nv::IDimensionExpr* const zero_;
  std::vector<std::unique_ptr<LaunchNumber>> numbers_;
  std::string failure_;
};

}  // namespace tenon::api
