// The three exported functions of libnvonnxparser.
#include "parser.h"
#include "refitter.h"

namespace {

// Headers of another major version have another layout of the interfaces.
bool sameLayout(int version) { return version / 10000 == NV_ONNX_PARSER_VERSION / 10000; }

void refuseVersion(nvinfer1::ILogger* logger, int version) {
  if (logger != nullptr) {
    logger->log(nvinfer1::ILogger::Severity::kERROR,
                fmt::format("[onnx] the program was compiled for parser interface {}, this library has {}", version,
                            NV_ONNX_PARSER_VERSION)
                    .c_str());
  }
}

void* makeParser(void* network, nvinfer1::ILogger* log) {
  nvonnxparser::IParser* parser =
      new tenon::parsers::onnx::Parser(*static_cast<nvinfer1::INetworkDefinition*>(network), log);
  return parser;
}

void* makeRefitter(void* refitter, nvinfer1::ILogger* log) {
  nvonnxparser::IParserRefitter* result =
      new tenon::parsers::onnx::Refitter(*static_cast<nvinfer1::IRefitter*>(refitter), log);
  return result;
}

using Make = void* (*)(void* object, nvinfer1::ILogger* log);

void* guardedMake(void* object, void* logger, int version, Make make) noexcept {
  auto* const log = static_cast<nvinfer1::ILogger*>(logger);
  try {
    if (!sameLayout(version)) {
      refuseVersion(log, version);
      return nullptr;
    }
    return object == nullptr ? nullptr : make(object, log);
  } catch (...) {
    if (log != nullptr) log->log(nvinfer1::ILogger::Severity::kERROR, "[onnx] out of memory");
    return nullptr;
  }
}

}  // namespace

void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept {
  return guardedMake(network, logger, version, &makeParser);
}

void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger, int32_t version) noexcept {
  return guardedMake(refitter, logger, version, &makeRefitter);
}

int getNvOnnxParserVersion() noexcept { return NV_ONNX_PARSER_VERSION; }
