// A phase of a build, as a progress monitor sees it: it begins and ends with the object, whatever happens.
#pragma once

#include <string>

#include "compile/builder.h"
#include "core/error.h"

namespace tenon::compile {

class Phase {
 public:
  // `progress` may be null, when nobody watches, and `parent` when the phase is in no other.
  Phase(Progress* progress, std::string name, const Phase* parent, int steps)
      : progress_(progress), name_(std::move(name)) {
    if (progress_ != nullptr) progress_->begin(name_, parent != nullptr ? parent->name_ : "", steps);
  }
  ~Phase() {
    if (progress_ != nullptr) progress_->end(name_);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  // Throws Cancelled when the user wants the build to stop.
  void step(int index) const {
    if (progress_ != nullptr && !progress_->step(name_, index))
      throw Cancelled("the build was cancelled by the progress monitor");
  }

 private:
  Progress* progress_;
  std::string name_;
};

}  // namespace tenon::compile
