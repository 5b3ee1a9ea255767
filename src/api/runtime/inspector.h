// IEngineInspector: text and JSON about layers.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <string>

#include "api/runtime/engine.h"

namespace tenon::api {

class EngineInspector final : public nv::IEngineInspector, public nv::apiv::VEngineInspector {
 public:
  EngineInspector(std::shared_ptr<const LoadedEngine> loaded, Reporter& parent)
      : reporter_(parent.logger(), parent.recorder()), loaded_(std::move(loaded)) {
    mImpl = this;
  }

  nv::IEngineInspector* getPImpl() noexcept override { return this; }
  // The context says which profile's layers are shown, and under which shapes; null goes back to the first profile.
  bool setExecutionContext(const nv::IExecutionContext* context) noexcept override;
  const nv::IExecutionContext* getExecutionContext() const noexcept override { return context_; }
  // The text lives until the next call of this inspector.
  const char* getLayerInformation(int32_t layerIndex, nv::LayerInformationFormat format) const noexcept override;
  const char* getEngineInformation(nv::LayerInformationFormat format) const noexcept override;
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

 private:
  // What is asked of the engine, in the form wanted; a note where the engine holds nothing.
  template <typename Json, typename Text>
  const char* show(nv::LayerInformationFormat format, Json&& json, Text&& text) const;
  int profile() const;
  const SymbolValues* symbols() const;

  mutable Reporter reporter_;
  std::shared_ptr<const LoadedEngine> loaded_;
  const nv::IExecutionContext* context_ = nullptr;
  mutable std::string text_;
};

}  // namespace tenon::api
