// The entry point of the standard plugin library.
#include <NvInferPlugin.h>

extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char*) {
  if (logger != nullptr) {
    static_cast<nvinfer1::ILogger*>(logger)->log(nvinfer1::ILogger::Severity::kVERBOSE,
                                                 "initLibNvInferPlugins: this library holds no plugins yet");
  }
  return true;
}
