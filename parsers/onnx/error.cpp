// Keeps the list of errors of a parser and writes each of them to the logger.
#include "error.h"

#include <tenon/printable.h>

namespace tenon::onnxparser {

void ErrorRecord::setFunctionStack(std::vector<std::string> stack) {
  stack_ = std::move(stack);
  stackPointers_.clear();
  for (const std::string& entry : stack_) {
    stackPointers_.push_back(entry.c_str());
  }
}

ErrorList::ErrorList(nvinfer1::ILogger* logger) : logger_(logger), spare_(std::make_unique<ErrorRecord>()) {
  spare_->errorCode = ErrorCode::kMEM_ALLOC_FAILED;
  spare_->description = "out of memory";
  records_.reserve(1);
}

void ErrorList::addOutOfMemory() noexcept {
  if (logger_ != nullptr) logger_->log(nvinfer1::ILogger::Severity::kERROR, "[onnx] out of memory");
  if (spare_ != nullptr && records_.size() < records_.capacity()) records_.push_back(std::move(spare_));
}

void ErrorList::add(std::unique_ptr<ErrorRecord> record) {
  record->description = printable(record->description);
  if (logger_ != nullptr) {
    logger_->log(severity_, fmt::format("[onnx] {}", record->description).c_str());
  }
  records_.push_back(std::move(record));
}

void ErrorList::addModelError(const ParseError& error) {
  auto record = std::make_unique<ErrorRecord>();
  record->errorCode = error.code();
  record->description = error.what();
  record->where = error.where();
  add(std::move(record));
}

void ErrorList::addModelError(ErrorCode code, const std::string& reason) {
  addModelError(ParseError(code, reason, Where{__FILE__, __LINE__, __func__}));
}

}  // namespace tenon::onnxparser
