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

//! Why a model or a node of it could not be converted.
enum class ErrorCode : int {
  kSUCCESS = 0,                   //!< No error.
  kINTERNAL_ERROR = 1,            //!< A fault of the parser itself.
  kMEM_ALLOC_FAILED = 2,          //!< Not enough memory.
  kMODEL_DESERIALIZE_FAILED = 3,  //!< The bytes are no model.
  kINVALID_VALUE = 4,             //!< A value that is not allowed.
  kINVALID_GRAPH = 5,             //!< The graph contradicts itself.
  kINVALID_NODE = 6,              //!< A node contradicts the definition of its operator.
  kUNSUPPORTED_GRAPH = 7,         //!< The graph has a form that cannot be converted.
  kUNSUPPORTED_NODE = 8,          //!< The operator, or this use of it, cannot be converted.
  kUNSUPPORTED_NODE_ATTR = 9,     //!< An attribute has a value that cannot be converted.
  kUNSUPPORTED_NODE_INPUT = 10,  //!< An input is of a kind that cannot be converted, such as one that must be constant.
  kUNSUPPORTED_NODE_DATATYPE = 11,  //!< The operator cannot be converted for this type.
  kUNSUPPORTED_NODE_DYNAMIC = 12,   //!< The operator cannot be converted for a shape that is only known at run time.
  kUNSUPPORTED_NODE_SHAPE = 13,     //!< The operator cannot be converted for this shape.
  kREFIT_FAILED = 14,               //!< Weights of the model could not be put into the engine.
};

//! One error of a parser, with the place in the model and in the parser. It belongs to the parser.
class IParserError {
 public:
  //! The kind of the error.
  virtual ErrorCode code() const = 0;

  //! The text of the error.
  virtual const char* desc() const = 0;

  //! The source file of the parser.
  virtual const char* file() const = 0;

  //! The line in that file.
  virtual int line() const = 0;

  //! The function at that line.
  virtual const char* func() const = 0;

  //! The index of the node in the model, -1 if the error is about none.
  virtual int node() const = 0;

  //! The name of the node; "" if it has none.
  virtual const char* nodeName() const = 0;

  //! The operator of the node.
  virtual const char* nodeOperator() const = 0;

  //! The local functions of the model in which the node stands, outermost first.
  virtual const char* const* localFunctionStack() const = 0;

  //! How many such functions.
  virtual int32_t localFunctionStackSize() const = 0;

 protected:
  virtual ~IParserError() noexcept = default;
};

//! Switches of the parser; all are off but kNATIVE_INSTANCENORM.
enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,  //!< InstanceNormalization becomes layers, not a plugin.
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA =
      1,                        //!< Quantization with zero points and to uint8 is let through, for DLA.
  kREPORT_CAPABILITY_DLA = 2,   //!< Support queries answer for DLA; needs a builder configuration.
  kENABLE_PLUGIN_OVERRIDE = 3,  //!< A plugin with the name of an operator is used in place of the operator.
  kADJUST_FOR_DLA = 4,          //!< Nodes are converted in the way that suits DLA best.
};

//! Turns an ONNX model into layers of the network that it was made for. Not for use by several threads at once.
class IParser {
 public:
  //! Converts a serialized model. `model_path` is where external weights are looked for, relative to its folder;
  //! nullptr for the working directory. Returns false and keeps errors on failure.
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;

  //! Converts a model file; `verbosity` is the severity up to which messages are logged. Returns false and keeps
  //! errors on failure.
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;

  //! Whether a model can be converted as a whole; `sub_graph_collection` receives its parts and whether each can.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                                            SubGraphCollection_t& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;

  //! Converts a model whose weights are descriptors of memory.
  //! \deprecated Since 10.13.
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(const void* serialized_onnx_model,
                                                         size_t serialized_onnx_model_size) noexcept = 0;

  //! Whether an operator of this name is known. Single uses of it may still be refused.
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;

  //! How many errors the last calls left.
  virtual int getNbErrors() const noexcept = 0;

  //! The error with the index; nullptr beyond the end. Valid until clearErrors().
  virtual const IParserError* getError(int index) const noexcept = 0;

  //! Forgets all errors.
  virtual void clearErrors() noexcept = 0;

  virtual ~IParser() noexcept = default;

  //! The paths of the plugin libraries that the converted model needs in an engine that other versions can load;
  //! `nbPluginLibs` receives their number. They belong to the parser.
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;

  //! Sets all switches at once, bit n for the flag n.
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;

  //! The value given to setFlags(), or its default.
  virtual OnnxParserFlags getFlags() const noexcept = 0;

  //! Turns a switch off.
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;

  //! Turns a switch on.
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;

  //! Whether a switch is on.
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;

  //! Output `i` of the node with the name; nullptr if there is none. Only after a model has been converted.
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;

  //! Whether a model can be converted as a whole. The functions about subgraphs then tell about its parts: the nodes
  //! that can be converted, in as few parts as can be; others stand in no part. Why is told by getError(); nothing is
  //! logged as an error. A part cut out as a model of its own is answered better than here, so ask again for it.
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;

  //! How many parts the model of the last supportsModelV2() has.
  virtual int64_t getNbSubgraphs() noexcept = 0;

  //! Whether the part with the index is known to be converted: true only where the whole model is that part.
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;

  //! The indices of the nodes of a part; `subgraphLength` receives their number. Valid until the next
  //! supportsModelV2().
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;

  //! Takes a serialized model without converting it, so that weights can be added first. `modelPath` as in parse().
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  //! Gives the weights of the initializer with the name: `size` bytes that must stay alive until the engine is
  //! built.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;

  //! Converts the model given to loadModelProto(), with the weights given since. Returns false and keeps errors on
  //! failure.
  virtual bool parseModelProto() noexcept = 0;

  //! Gives the configuration that questions about DLA depend on. nullptr forgets it. Returns false on failure.
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* const builderConfig) noexcept = 0;
};

//! Puts the weights of an ONNX model into an engine, through a refitter. The model must have the structure of the
//! one the engine was built from.
class IParserRefitter {
 public:
  //! Refits from a serialized model; `modelPath` is where external weights are looked for. Returns false and keeps
  //! errors on failure.
  virtual bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  //! Refits from a model file. Returns false and keeps errors on failure.
  virtual bool refitFromFile(const char* onnxModelFile) noexcept = 0;

  //! How many errors the last calls left.
  virtual int32_t getNbErrors() const noexcept = 0;

  //! The error with the index; nullptr beyond the end. Valid until clearErrors().
  virtual const IParserError* getError(int32_t index) const noexcept = 0;

  //! Forgets all errors.
  virtual void clearErrors() = 0;

  virtual ~IParserRefitter() noexcept = default;

  //! Takes a serialized model without refitting, so that weights can be added first.
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  //! Gives the weights of the initializer with the name: `size` bytes that must stay alive until the refit is done.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;

  //! Refits from the model given to loadModelProto(), with the weights given since. Returns false and keeps errors
  //! on failure.
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
