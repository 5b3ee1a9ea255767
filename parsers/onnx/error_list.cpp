// Keeps the list of errors of a parser and writes each of them to the logger.
#include "error_list.h"

#include <tenon/printable.h>

namespace tenon::parsers::onnx {

ErrorCode errorCodeOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kInternal: return ErrorCode::kINTERNAL_ERROR;
    case FaultKind::kOutOfMemory: return ErrorCode::kMEM_ALLOC_FAILED;
    case FaultKind::kUnreadableModel: return ErrorCode::kMODEL_DESERIALIZE_FAILED;
    case FaultKind::kInvalidValue: return ErrorCode::kINVALID_VALUE;
    case FaultKind::kInvalidGraph: return ErrorCode::kINVALID_GRAPH;
    case FaultKind::kInvalidNode: return ErrorCode::kINVALID_NODE;
    case FaultKind::kUnsupportedGraph: return ErrorCode::kUNSUPPORTED_GRAPH;
    case FaultKind::kUnsupportedNode: return ErrorCode::kUNSUPPORTED_NODE;
    case FaultKind::kUnsupportedAttribute: return ErrorCode::kUNSUPPORTED_NODE_ATTR;
    case FaultKind::kUnsupportedInput: return ErrorCode::kUNSUPPORTED_NODE_INPUT;
    case FaultKind::kUnsupportedType: return ErrorCode::kUNSUPPORTED_NODE_DATATYPE;
    case FaultKind::kUnsupportedDynamic: return ErrorCode::kUNSUPPORTED_NODE_DYNAMIC;
    case FaultKind::kUnsupportedShape: return ErrorCode::kUNSUPPORTED_NODE_SHAPE;
    case FaultKind::kRefit: return ErrorCode::kREFIT_FAILED;
  }
  return ErrorCode::kINTERNAL_ERROR;
}

void ErrorRecord::setFunctionStack(std::vector<std::string> stack) {
  stack_ = std::move(stack);
  stackPointers_.clear();
  for (const std::string& entry : stack_) {
    stackPointers_.push_back(entry.c_str());
  }
}

ErrorList::ErrorList(nvinfer1::ILogger* logger) : logger_(logger), spare_(std::make_unique<ErrorRecord>()) {
  spare_->kind = FaultKind::kOutOfMemory;
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
  record->kind = error.kind();
  record->description = error.what();
  record->where = error.where();
  add(std::move(record));
}

void ErrorList::addModelError(FaultKind kind, const std::string& reason) {
  addModelError(ParseError(kind, reason, Where{__FILE__, __LINE__, __func__}));
}

}  // namespace tenon::parsers::onnx
