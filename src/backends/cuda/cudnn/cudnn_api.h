// cuDNN 9's backend interface as this library uses it: the numbers of its enumerations, and the functions found at run
// time. Declared here, so that compiling needs no header of cuDNN; source of the numbers: cudnn_graph.h of release 9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::backends::cuda::dnn {

using Handle = void*;         // cudnnHandle_t
using RawDescriptor = void*;  // cudnnBackendDescriptor_t
using Status = int;           // 0: success

enum class Kind : int {  // cudnnBackendDescriptorType_t
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kExecutionPlan = 5,
  kKnobChoice = 7,
  kConvolutionForward = 10,
  kConvolutionBackwardData = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatMul = 18,
  kMatMulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kDeviceProperties = 38
};

enum class Attribute : int {  // cudnnBackendAttributeName_t
  kPointwiseMode = 0,
  kPointwiseMathType = 1,
  kReluLowerClip = 3,
  kReluUpperClip = 4,
  kReluLowerClipSlope = 5,
  kEluAlpha = 6,
  kConvolutionComputeType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPaddings = 104,
  kConvolutionPrePaddings = 105,
  kConvolutionSpatialAxes = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,
  kConfigEngine = 300,
  kConfigKnobs = 302,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspaceBytes = 402,
  kPlanJson = 405,
  kPlanDevice = 407,
  kKnobType = 600,
  kKnobValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardAlpha = 706,
  kBackwardBeta = 707,
  kBackwardConvolution = 708,
  kBackwardW = 709,
  kBackwardDx = 710,
  kBackwardDy = 711,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorExtents = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
  kEngineDevice = 1307,
  kMatMulComputeType = 1500,
  kMatMulA = 1520,
  kMatMulB = 1521,
  kMatMulC = 1522,
  kMatMulDescriptor = 1523,
  kReductionOperator = 1600,
  kReductionComputeType = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptor = 1612,
  kDevicePropertiesJson = 2702
};

enum class AttributeType : int {  // cudnnBackendAttributeType_t
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kBehaviorNote = 19,
  kChar = 24
};

enum class ElementType : int { kF32 = 0, kF64 = 1, kF16 = 2, kBF16 = 9 };  // cudnnDataType_t
enum class ConvolutionMode : int { kCrossCorrelation = 1 };
enum class ReductionOperator : int { kAdd = 0, kMax = 3 };  // cudnnReduceTensorOp_t
enum class HeuristicMode : int { kB = 1, kFallback = 2, kA = 3 };
enum class KnobType : int {};
enum class NumericalNote : int {
  kTensorCores = 0,
  kDownConvertsInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kNondeterministic = 4
};

enum class BehaviorNote : int { kCompiledAtRunTime = 0 };  // cudnnBackendBehaviorNote_t

enum class PointwiseMode : int {  // cudnnPointwiseMode_t
  kAdd = 0,
  kMul = 1,
  kMin = 2,
  kMax = 3,
  kSqrt = 4,
  kDiv = 6,
  kSub = 9,
  kAbs = 10,
  kExp = 13,
  kNeg = 16,
  kRsqrt = 17,
  kErf = 20,
  kIdentity = 21,
  kReciprocal = 22,
  kRelu = 100,
  kTanh = 101,
  kSigmoid = 102,
  kElu = 103,
  kGeluErf = 104,
  kSoftplus = 105,
  kGeluTanh = 107
};

// The library; `missing` says why it cannot be used, or is empty.
struct Library {
  std::string missing;
  int version = 0;  // for example 91400
  size_t (*getVersion)();
  void (*getLastError)(char* message, size_t size);
  Status (*create)(Handle* handle);
  Status (*setStream)(Handle handle, void* stream);
  Status (*createDescriptor)(Kind kind, RawDescriptor* descriptor);
  Status (*destroyDescriptor)(RawDescriptor descriptor);
  Status (*finalize)(RawDescriptor descriptor);
  Status (*setAttribute)(RawDescriptor descriptor, Attribute name, AttributeType type, int64_t count,
                         const void* values);
  Status (*getAttribute)(RawDescriptor descriptor, Attribute name, AttributeType type, int64_t room, int64_t* count,
                         void* values);
  Status (*execute)(Handle handle, RawDescriptor plan, RawDescriptor pack);
};

// Opened once, never closed; release 9 of any minor version.
const Library& library();

// Throws Unsupported with cuDNN's own words.
void check(Status status, const char* what);

}  // namespace tenon::backends::cuda::dnn
