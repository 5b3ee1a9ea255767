// Keeps the list of errors of a parser and writes each of them to the logger.
#include "error.h"

namespace tenon::onnxparser {

void ErrorRecord::setFunctionStack(std::vector<std::string> stack) {
  stack_ = std::move(stack);
  stackPointers_.clear();
  for (const std::string& entry : stack_) {
    stackPointers_.push_back(entry.c_str());
  }
}

void ErrorList::add(std::unique_ptr<ErrorRecord> record) {
  if (logger_ != nullptr) {
    logger_->log(nvinfer1::ILogger::Severity::kERROR, fmt::format("[onnx] {}", record->description).c_str());
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
