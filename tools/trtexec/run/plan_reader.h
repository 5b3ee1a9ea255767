// A file as the library's stream reader.
#pragma once

#include <NvInferRuntime.h>

#include <files/input_file.h>

#include <string>

namespace tenon::trtexec {

//! Reads to where the library says, on the host or on the device.
class PlanReader final : public nvinfer1::IStreamReaderV2 {
 public:
  explicit PlanReader(const std::string& path);

  int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept override;
  bool seek(int64_t offset, nvinfer1::SeekPosition where) noexcept override;

 private:
  files::InputFile file_;
  size_t at_ = 0;
};

}  // namespace tenon::trtexec
