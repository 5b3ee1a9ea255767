// Creators of the standard plugins and their registration.
#pragma once

#include <memory>

#include "common/spec.h"

namespace tenon::plugins {

// The creators of one namespace, in the registry as long as they live.
class Creators {
 public:
  // Those that are registered when the library is loaded, or the others.
  Creators(bool atLoad, const std::string& space);
  ~Creators();
  Creators(const Creators&) = delete;
  Creators& operator=(const Creators&) = delete;
  int count() const noexcept { return static_cast<int>(creators_.size()); }
  bool complete() const noexcept { return complete_; }

 private:
  std::vector<std::unique_ptr<nv::IPluginCreatorInterface>> creators_;
  bool complete_ = true;
};

}  // namespace tenon::plugins
