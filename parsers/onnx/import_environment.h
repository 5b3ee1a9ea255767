// What parser and probe give to an import.
#pragma once

#include <string>

#include "common/weight_store.h"
#include "error_list.h"
#include "external_files.h"
#include "tensor_loader.h"

namespace tenon::parsers::onnx {

class SqueezeChoices;  // branch_join.h

// What an import needs from its parser.
struct ImportEnvironment {
  nvinfer1::INetworkDefinition& network;
  WeightStore& store;
  const ExternalFiles& files;
  const SuppliedInitializers* supplied;
  ErrorList& errors;
  nvinfer1::ILogger* logger;
  nvonnxparser::OnnxParserFlags flags;
  // Probe: keep going past unsupported nodes, with stand-ins for their outputs where value_info gives the shape.
  bool probe = false;
  // What the network said last, where that does not go to the log.
  std::string* networkMessage = nullptr;
  // None: no If squeezes whose extent is known at run time only.
  SqueezeChoices* squeezes = nullptr;
};

}  // namespace tenon::parsers::onnx
