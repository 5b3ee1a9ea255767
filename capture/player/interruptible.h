// A build that Ctrl-C, SIGTERM and SIGHUP end in good order.
#pragma once

#include <NvInfer.h>

#include "process/interrupt.h"

namespace tenon::capture {

// While it lives, builds with the configuration end after the step in which a signal comes. A monitor that the
// application has set hears all the same.
class Interruptible final : public nvinfer1::IProgressMonitor {
 public:
  explicit Interruptible(nvinfer1::IBuilderConfig* config)
      : config_(config), before_(config != nullptr ? config->getProgressMonitor() : nullptr) {
    if (config_ != nullptr) {
      config_->setProgressMonitor(this);
    }
  }
  ~Interruptible() noexcept override {
    if (config_ != nullptr) {
      config_->setProgressMonitor(before_);
    }
  }

  void phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept override {
    if (before_ != nullptr) {
      before_->phaseStart(phaseName, parentPhase, nbSteps);
    }
  }
  bool stepComplete(const char* phaseName, int32_t step) noexcept override {
    const bool goesOn = before_ == nullptr || before_->stepComplete(phaseName, step);
    return goesOn && !tools::wasInterrupted();
  }
  void phaseFinish(const char* phaseName) noexcept override {
    if (before_ != nullptr) {
      before_->phaseFinish(phaseName);
    }
  }

 private:
  tools::InterruptScope scope_;
  nvinfer1::IBuilderConfig* config_;
  nvinfer1::IProgressMonitor* before_;
};

}  // namespace tenon::capture
