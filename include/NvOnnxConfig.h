// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Settings of an ONNX conversion: names of the files and how much to print.
#pragma once

#include "NvInfer.h"

namespace nvonnxparser {

class IOnnxConfig {
 public:
  using Verbosity = int32_t;
  virtual ~IOnnxConfig() noexcept = default;
  virtual void setModelDtype(const nvinfer1::DataType) noexcept = 0;
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;
  virtual const char* getModelFileName() const noexcept = 0;
  virtual void setModelFileName(const char* onnxFilename) noexcept = 0;
  virtual Verbosity getVerbosityLevel() const noexcept = 0;
  virtual void addVerbosity() noexcept = 0;
  virtual void reduceVerbosity() noexcept = 0;
  virtual void setVerbosityLevel(Verbosity) noexcept = 0;
  virtual const char* getTextFileName() const noexcept = 0;
  virtual void setTextFileName(const char* textFileName) noexcept = 0;
  virtual const char* getFullTextFileName() const noexcept = 0;
  virtual void setFullTextFileName(const char* fullTextFileName) noexcept = 0;
  virtual bool getPrintLayerInfo() const noexcept = 0;
  virtual void setPrintLayerInfo(bool) noexcept = 0;
};

}  // namespace nvonnxparser

namespace nvonnxparser {

//! Makes an empty configuration; release it with delete. Declared for source compatibility: the parser library does not
//! export it.
TENSORRTAPI IOnnxConfig* createONNXConfig();

}  // namespace nvonnxparser
