// Errors of the ONNX parser: the exception thrown inside, and the record that IParserError shows to the caller.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "NvOnnxParser.h"

namespace tenon::onnxparser {

using nvonnxparser::ErrorCode;

// The place in the parser's source that found the fault; IParserError::file, line and func show it.
struct Where {
  const char* file = "";
  int line = 0;
  const char* function = "";
};

// Thrown by everything below the entry points; caught once per node (to collect all faults of a graph) and once per
// call.
class ParseError : public std::runtime_error {
 public:
  ParseError(ErrorCode code, const std::string& reason, Where where)
      : std::runtime_error(reason), code_(code), where_(where) {}
  ErrorCode code() const { return code_; }
  const Where& where() const { return where_; }

 private:
  ErrorCode code_;
  Where where_;
};

[[noreturn]] inline void fail(ErrorCode code, const std::string& reason, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
  throw ParseError(code, reason, Where{file, line, function});
}

// One reported error. Strings are owned here, so the pointers live until clearErrors() or the end of the parser.
class ErrorRecord final : public nvonnxparser::IParserError {
 public:
  ErrorCode errorCode = ErrorCode::kINTERNAL_ERROR;
  std::string description;
  Where where;
  int nodeIndex = -1;  // -1: the error belongs to the model as a whole
  std::string name;
  std::string operatorName;

  void setFunctionStack(std::vector<std::string> stack);

  ErrorCode code() const override { return errorCode; }
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
  void addModelError(ErrorCode code, const std::string& reason);
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

}  // namespace tenon::onnxparser
