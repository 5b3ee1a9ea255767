// The main program of the test of all slots.
#include "forward.h"

#include <cstdlib>

namespace {

class Two final : public nvinfer1::IPluginV2 {
 public:
  const char* getPluginType() const noexcept override { return "two"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  nvinfer1::Dims getOutputDimensions(int32_t, const nvinfer1::Dims* inputs, int32_t) noexcept override {
    return inputs[0];
  }
  bool supportsFormat(nvinfer1::DataType, nvinfer1::PluginFormat) const noexcept override { return true; }
  void configureWithFormat(const nvinfer1::Dims*, int32_t, const nvinfer1::Dims*, int32_t, nvinfer1::DataType,
                           nvinfer1::PluginFormat, int32_t) noexcept override {}
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept override { return 0; }
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override {}
  nvinfer1::IPluginV2* clone() const noexcept override { return nullptr; }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class Three final : public nvinfer1::IPluginV3 {
 public:
  nvinfer1::IPluginCapability* getCapabilityInterface(nvinfer1::PluginCapabilityType) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV3* clone() noexcept override { return nullptr; }
};

}  // namespace

tenon::capture::Object& dummy() {
  static const tenon::capture::ClassInfo kType{"IBuilder", nullptr, true};
  static tenon::capture::Object& object = *new tenon::capture::Object(kType, nullptr, nullptr);
  return object;
}

nvinfer1::IPluginV2& pluginOfTwo() {
  static Two plugin;
  return plugin;
}

nvinfer1::IPluginV3& pluginOfThree() {
  static Three plugin;
  return plugin;
}

char* room() {
  static char memory[4096];
  return memory;
}

int main() {
  ::setenv("TRT_SHIM_FORCE_SINGLE_THREAD_API", "1", 1);  // so that the registry is wrapped; nothing is written
  const int count = checkAll() + checkRegistry();
  std::printf("%d slots, %d differences\n", count, probe::failures());
  return probe::failures() == 0 && count > 580 ? 0 : 1;
}
