// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Settings of an ONNX conversion: names of the files and how much to print.
#pragma once

#include "NvInfer.h"

namespace nvonnxparser {

//! Names of files and how much to print during a conversion.
class IOnnxConfig {
 public:
  //! How much is printed; larger is more.
  using Verbosity = int32_t;

  virtual ~IOnnxConfig() noexcept = default;

  //! Sets the type in which the model shall be computed.
  virtual void setModelDtype(const nvinfer1::DataType) noexcept = 0;

  //! The value given to setModelDtype(), or its default.
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;

  //! The value given to setModelFileName(), or its default.
  virtual const char* getModelFileName() const noexcept = 0;

  //! Sets the name of the model file.
  virtual void setModelFileName(const char* onnxFilename) noexcept = 0;

  //! The value given to setVerbosityLevel(), or its default.
  virtual Verbosity getVerbosityLevel() const noexcept = 0;

  //! Prints one level more.
  virtual void addVerbosity() noexcept = 0;

  //! Prints one level less.
  virtual void reduceVerbosity() noexcept = 0;

  //! Sets how much is printed.
  virtual void setVerbosityLevel(Verbosity) noexcept = 0;

  //! The value given to setTextFileName(), or its default.
  virtual const char* getTextFileName() const noexcept = 0;

  //! Sets the name of a file for the model in readable form.
  virtual void setTextFileName(const char* textFileName) noexcept = 0;

  //! The value given to setFullTextFileName(), or its default.
  virtual const char* getFullTextFileName() const noexcept = 0;

  //! Sets the name of a file for the model in readable form, with its weights.
  virtual void setFullTextFileName(const char* fullTextFileName) noexcept = 0;

  //! The value given to setPrintLayerInfo(), or its default.
  virtual bool getPrintLayerInfo() const noexcept = 0;

  //! Sets whether the layers are printed.
  virtual void setPrintLayerInfo(bool) noexcept = 0;
};

}  // namespace nvonnxparser

namespace nvonnxparser {

//! Makes an empty configuration; release it with delete. Declared for source compatibility: the parser library does not
//! export it.
TENSORRTAPI IOnnxConfig* createONNXConfig();

}  // namespace nvonnxparser
