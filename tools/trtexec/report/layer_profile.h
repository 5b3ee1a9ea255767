// Collects the times of layers and prints them as a table.
#pragma once

#include <NvInferRuntime.h>

#include <mutex>
#include <string>
#include <vector>

namespace tenon::trtexec {

//! One row of the table, over all inferences.
struct LayerTimes {
  std::string name;
  float totalMs = 0;
  float averageMs = 0;
  float medianMs = 0;
  //! Share of the time of all layers.
  float percentage = 0;
};

//! Called by the library after each inference, layer by layer in the order of execution.
class LayerProfile final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char* layerName, float ms) noexcept override;

  size_t inferences() const { return inferences_; }
  std::vector<LayerTimes> rows() const;
  //! The lines of --dumpProfile.
  std::vector<std::string> table() const;

 private:
  struct Layer {
    std::string name;
    std::vector<float> ms;
  };
  std::mutex mutex_;
  std::vector<Layer> layers_;
  size_t next_ = 0;
  size_t inferences_ = 0;
};

}  // namespace tenon::trtexec
