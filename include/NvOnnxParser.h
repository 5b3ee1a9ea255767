// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The ONNX parser: fills a network definition from a model, and refits the weights of an engine from one.
#pragma once

#include <stddef.h>

#include <string>
#include <utility>
#include <vector>

#include "NvInfer.h"

//! The version of the parser interface; as one number 100 is 0.1.0.
#define NV_ONNX_PARSER_MAJOR 0
#define NV_ONNX_PARSER_MINOR 1
#define NV_ONNX_PARSER_PATCH 0
static constexpr int32_t NV_ONNX_PARSER_VERSION =
    ((NV_ONNX_PARSER_MAJOR * 10000) + (NV_ONNX_PARSER_MINOR * 100) + NV_ONNX_PARSER_PATCH);

//! The nodes of a part of a model, by index, and whether the part can be converted.
using SubGraph_t = std::pair<std::vector<size_t>, bool>;

//! A model cut into such parts.
using SubGraphCollection_t = std::vector<SubGraph_t>;

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvonnxparser {

//! One more than the largest value of the enumeration T.
template <typename T>
constexpr int32_t EnumMax() noexcept;

//! A set of OnnxParserFlag values: bit n stands for the value n.
using OnnxParserFlags = uint32_t;

enum class ErrorCode : int {
  kSUCCESS = 0,
  kINTERNAL_ERROR = 1,
  kMEM_ALLOC_FAILED = 2,
  kMODEL_DESERIALIZE_FAILED = 3,
  kINVALID_VALUE = 4,
  kINVALID_GRAPH = 5,
  kINVALID_NODE = 6,
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  kREFIT_FAILED = 14,
};

class IParserError {
 public:
  virtual ErrorCode code() const = 0;
  virtual const char* desc() const = 0;
  virtual const char* file() const = 0;
  virtual int line() const = 0;
  virtual const char* func() const = 0;
  virtual int node() const = 0;
  virtual const char* nodeName() const = 0;
  virtual const char* nodeOperator() const = 0;
  virtual const char* const* localFunctionStack() const = 0;
  virtual int32_t localFunctionStackSize() const = 0;

 protected:
  virtual ~IParserError() noexcept = default;
};

enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
};

class IParser {
 public:
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                                            SubGraphCollection_t& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(const void* serialized_onnx_model,
                                                         size_t serialized_onnx_model_size) noexcept = 0;
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;
  virtual int getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;
  virtual int64_t getNbSubgraphs() noexcept = 0;
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool parseModelProto() noexcept = 0;
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* const builderConfig) noexcept = 0;
};

class IParserRefitter {
 public:
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() = 0;
  virtual ~IParserRefitter() noexcept = default;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;
};

}  // namespace nvonnxparser

//! What the inline factories below call: untyped pointers to INetworkDefinition or IRefitter and to ILogger, and the
//! NV_ONNX_PARSER_VERSION of the headers that the caller was compiled with. nullptr on error.
extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;
extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                                 int32_t version) noexcept;

//! The version of the parser library that is loaded, in the form of NV_ONNX_PARSER_VERSION.
extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser {

//! The count of error codes that programs have been told since kREFIT_FAILED was added: 14, though that one is
//! itself 14.
template <>
constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 14;
}

template <>
constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

namespace {

//! Makes a parser that fills `network`. Release it with delete; weights that the network points at may belong to the
//! parser, so keep it until the engine is built.
//!
//! \param network an empty network, strongly typed or not.
//! \param logger receives the messages; must outlive the parser.
//! \return nullptr on error.
inline IParser* createParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

//! Makes an object that refits an engine from the initializers of a model. Release it with delete, before the refitter.
//!
//! \param refitter of the engine whose weights shall change.
//! \param logger receives the messages; must outlive the result.
//! \return nullptr on error.
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace
}  // namespace nvonnxparser

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
