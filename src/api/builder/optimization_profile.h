// IOptimizationProfile: ranges of extents and shape values by input.
#pragma once

#include <NvInfer.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/common/reporter.h"
#include "api/network/network.h"
#include "plan/program.h"

namespace tenon::api {

class OptimizationProfile final : public nv::IOptimizationProfile, public nv::apiv::VOptimizationProfile {
 public:
  explicit OptimizationProfile(Reporter& reporter) : reporter_(reporter) { mImpl = this; }

  bool setDimensions(const char* inputName, nv::OptProfileSelector select, const nv::Dims& dims) noexcept override;
  nv::Dims getDimensions(const char* inputName, nv::OptProfileSelector select) const noexcept override;
  bool setShapeValues(const char* inputName, nv::OptProfileSelector select, const int32_t* values,
                      int32_t nbValues) noexcept override;
  int32_t getNbShapeValues(const char* inputName) const noexcept override;
  const int32_t* getShapeValues(const char* inputName, nv::OptProfileSelector select) const noexcept override;
  bool setExtraMemoryTarget(float target) noexcept override;
  float getExtraMemoryTarget() const noexcept override { return extraMemoryTarget_; }
  bool isValid() const noexcept override;
  bool setShapeValuesV2(const char* inputName, nv::OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept override;
  const int64_t* getShapeValuesV2(const char* inputName, nv::OptProfileSelector select) const noexcept override;

  // Ranges of the network's dynamic inputs and shape inputs; UserError naming profile, input and values where they do
  // not fit.
  std::map<std::string, plan::InputRange> resolve(const Network& network, int index) const;

 private:
  struct Entry {
    std::array<std::optional<nv::Dims>, 3> dims;
    std::array<std::vector<int64_t>, 3> values;
    std::array<std::vector<int32_t>, 3> narrow;  // the same values for the 32-bit getter
  };
  const Entry* find(const char* inputName) const noexcept;
  std::string strangers(const Network& network) const;  // for messages

  Reporter& reporter_;
  std::map<std::string, Entry, std::less<>> entries_;
  float extraMemoryTarget_ = 1;
};

// Extents and shape values that have one value in all profiles though the network leaves them open: they are facts of
// the engine. Inputs that share a dimension fix it together, and the profiles are narrowed to it.
FixedSymbols fixSymbols(const Network& network, std::vector<std::map<std::string, plan::InputRange>>& profiles);

}  // namespace tenon::api
