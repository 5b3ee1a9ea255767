// The errors of a parser or refitter, as IParserError shows them to the caller.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "common/error.h"

namespace tenon::parsers::onnx {

using nvonnxparser::ErrorCode;

ErrorCode errorCodeOf(FaultKind kind);

// One reported error. Strings are owned here, so the pointers live until clearErrors() or the end of the parser.
class ErrorRecord final : public nvonnxparser::IParserError {
 public:
  FaultKind kind = FaultKind::kInternal;
  std::string description;
  Where where;
  int nodeIndex = -1;  // -1: the error belongs to the model as a whole
  std::string name;
  std::string operatorName;

  void setFunctionStack(std::vector<std::string> stack);

  ErrorCode code() const override { return errorCodeOf(kind); }
  const char* desc() const override { return description.c_str(); }
  const char* file() const override { return where.file; }
  int line() const override { return where.line; }
  const char* func() const override { return where.function; }
  int node() const override { return nodeIndex; }
  const char* nodeName() const override { return name.c_str(); }
  const char* nodeOperator() const override { return operatorName.c_str(); }
  const char* const* localFunctionStack() const override { return stackPointers_.data(); }
  int32_t localFunctionStackSize() const override { return static_cast<int32_t>(stackPointers_.size()); }

 private:
  std::vector<std::string> stack_;
  std::vector<const char*> stackPointers_;
};

// The errors of one parser or refitter, in the order found.
class ErrorList {
 public:
  explicit ErrorList(nvinfer1::ILogger* logger);

  void add(std::unique_ptr<ErrorRecord> record);  // logs it too
  void addModelError(const ParseError& error);
  void addModelError(FaultKind kind, const std::string& reason);
  void addOutOfMemory() noexcept;  // with what was put aside for it
  void clear() { records_.clear(); }
  // How loud entries are in the log: kERROR, but where somebody only asks what is supported.
  void setSeverity(nvinfer1::ILogger::Severity severity) { severity_ = severity; }
  size_t size() const { return records_.size(); }
  const ErrorRecord* at(size_t index) const { return index < records_.size() ? records_[index].get() : nullptr; }

 private:
  nvinfer1::ILogger* logger_;
  nvinfer1::ILogger::Severity severity_ = nvinfer1::ILogger::Severity::kERROR;
  std::unique_ptr<ErrorRecord> spare_;
  std::vector<std::unique_ptr<ErrorRecord>> records_;
};

}  // namespace tenon::parsers::onnx
