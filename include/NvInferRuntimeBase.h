// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The types that every other header needs: attributes, data types, dimensions, error codes and the error recorder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "NvInferVersion.h"

// Streams and events are all that the interface takes from CUDA. Programs that have the CUDA headers get the real ones;
// others see the same opaque types, which agree with the real declarations if those are included later.
#if !defined(__has_include) || __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#else
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif

//! Marks what programs should no longer use; the compiler warns about each use.
#if __cplusplus >= 201402L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201402L)
#define TRT_DEPRECATED [[deprecated]]
#define TRT_DEPRECATED_BECAUSE(REASON) [[deprecated(REASON)]]
#define TRT_DEPRECATED_ENUM TRT_DEPRECATED
#else
#if defined(_MSC_VER)
#define TRT_DEPRECATED __declspec(deprecated)
#define TRT_DEPRECATED_BECAUSE(REASON) __declspec(deprecated(REASON))
#else
#define TRT_DEPRECATED __attribute__((deprecated))
#define TRT_DEPRECATED_BECAUSE(REASON) __attribute__((deprecated(REASON)))
#endif
#define TRT_DEPRECATED_ENUM
#endif
#if defined(_MSC_VER)
#define TRT_DEPRECATED_API __declspec(dllexport)
#else
#define TRT_DEPRECATED_API TRT_DEPRECATED __attribute__((visibility("default")))
#endif

//! Marks results that must not be dropped; nothing before C++17.
#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#define TRT_NODISCARD [[nodiscard]]
#else
#define TRT_NODISCARD
#endif
#define TRT_NODISCARD_BECAUSE(REASON) TRT_NODISCARD

//! Marks the functions that the library exports; something only while the library itself is compiled.
#if defined(TENSORRT_BUILD_LIB) && !defined(_MSC_VER)
#define TENSORRTAPI __attribute__((visibility("default")))
#else
#define TENSORRTAPI
#endif

//! Kept for programs that spell it out; every function of the interface that must not throw says noexcept itself.
#define TRTNOEXCEPT

//! A version as one number, and the version of these headers: 101600 is 10.16.0.
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*10000L + (minor)*100L + (patch)*1L)
#define NV_TENSORRT_VERSION NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

namespace nvinfer1 {

//! A byte of a zero-terminated string, and the same where the string must be ASCII.
using char_t = char;
using AsciiChar = char_t;

//! The name of an interface, compared as a string.
using InterfaceKind = const char*;

namespace impl {
//! Specialised beside each enumeration; kVALUE is one more than its largest value.
template <typename T>
struct EnumMaxImpl;
}  // namespace impl

//! One more than the largest value of the enumeration T, so that loops over its values can end.
template <typename T>
constexpr int32_t EnumMax() noexcept {
  return impl::EnumMaxImpl<T>::kVALUE;
}

//! What the elements of a tensor or of weights are. Sizes are those of one element.
enum class DataType : int32_t {
  kFLOAT = 0,  //!< IEEE single precision, 4 bytes.
  kHALF = 1,   //!< IEEE half precision, 2 bytes.
  kINT8 = 2,   //!< Signed integer, 1 byte; often a quantized real number.
  kINT32 = 3,  //!< Signed integer, 4 bytes.
  kBOOL = 4,   //!< 0 or 1 in 1 byte.
  kUINT8 = 5,  //!< Unsigned integer, 1 byte; only cast from or to others.
  kFP8 = 6,    //!< 8-bit float with 4 exponent and 3 mantissa bits (E4M3).
  kBF16 = 7,   //!< The upper half of a single-precision number, 2 bytes.
  kINT64 = 8,  //!< Signed integer, 8 bytes.
  kINT4 = 9,   //!< Signed integer, two to a byte, the first in the lower half.
  kFP4 = 10,   //!< 4-bit float with 2 exponent bits and 1 mantissa bit, two to a byte.
  kE8M0 = 11,  //!< A power of two with 8 exponent bits; only as a scale of blocks.
};

template <>
struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

//! What a named tensor is to an engine.
enum class TensorIOMode : int32_t {
  kNONE = 0,    //!< Neither: the engine has no such tensor.
  kINPUT = 1,   //!< Read by the engine.
  kOUTPUT = 2,  //!< Written by the engine.
};

template <>
struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

//! The shape of a tensor, or another list of up to eight numbers, outermost first. An extent of -1 is not known
//! before run time; the extent of a scalar is an empty list.
class Dims64 {
 public:
  //! The longest list.
  static constexpr int32_t MAX_DIMS = 8;
  //! How many entries count; -1 marks an invalid shape.
  int32_t nbDims;
  //! The entries; those from nbDims on mean nothing.
  int64_t d[8];
};

//! The current form of dimensions, with 64-bit extents.
using Dims = Dims64;

//! Which interface an object implements, and in which version of it.
class InterfaceInfo {
 public:
  //! The name of the interface; compare the text, not the address.
  InterfaceKind kind;
  //! Raised when old callers would break.
  int32_t major;
  //! Raised when functions are appended.
  int32_t minor;
};

//! The language in which an interface is implemented.
enum class APILanguage : int32_t {
  kCPP = 0,     //!< C++.
  kPYTHON = 1,  //!< Python, through a binding.
};

template <>
struct impl::EnumMaxImpl<APILanguage> {
  static constexpr int32_t kVALUE = 2;
};

//! The root of the interfaces that programs implement. Slots are only ever appended below it, so that
//! getInterfaceInfo() tells what an object can do.
class IVersionedInterface {
 public:
  //! The language behind the object.
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }

  //! The interface and version that the object implements.
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;

  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) & = default;
  IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

//! The kinds of errors that an error recorder is told.
enum class ErrorCode : int32_t {
  kSUCCESS = 0,                //!< No error.
  kUNSPECIFIED_ERROR = 1,      //!< None of the kinds below.
  kINTERNAL_ERROR = 2,         //!< A fault of the library itself.
  kINVALID_ARGUMENT = 3,       //!< An argument that the function does not take.
  kINVALID_CONFIG = 4,         //!< Settings that contradict each other or the device.
  kFAILED_ALLOCATION = 5,      //!< Not enough memory.
  kFAILED_INITIALIZATION = 6,  //!< The library or a part of it could not start.
  kFAILED_EXECUTION = 7,       //!< Inference failed.
  kFAILED_COMPUTATION = 8,     //!< Inference gave a result that is no result.
  kINVALID_STATE = 9,          //!< The object is not ready for the call.
  kUNSUPPORTED_STATE = 10,     //!< The call is not supported on this device or build.
};

template <>
struct impl::EnumMaxImpl<ErrorCode> {
  static constexpr int32_t kVALUE = 11;
};

namespace v_1_0 {

//! Collects errors; implemented by programs. One recorder may serve several objects and threads, so it locks for
//! itself, and it must live as long as a reference is held.
class IErrorRecorder : public IVersionedInterface {
 public:
  //! A text of at most kMAX_DESC_LENGTH characters.
  using ErrorDesc = const char*;
  //! A count of references.
  using RefCount = int32_t;
  //! The longest description, without the terminating zero.
  static constexpr size_t kMAX_DESC_LENGTH = 127;

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IErrorRecorder", 1, 0}; }

  IErrorRecorder() = default;
  ~IErrorRecorder() noexcept override = default;

  //! How many errors are stored.
  virtual int32_t getNbErrors() const noexcept = 0;

  //! The kind of the error with the index errorIdx, 0 being the oldest; kINVALID_ARGUMENT beyond the end.
  virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;

  //! The text of the error with the index errorIdx; "" beyond the end.
  virtual IErrorRecorder::ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;

  //! Whether errors were lost because the recorder was full.
  virtual bool hasOverflowed() const noexcept = 0;

  //! Forgets all errors, and an overflow.
  virtual void clear() noexcept = 0;

  //! Stores an error. Returns true if it is so severe that the library must stop what it is doing.
  virtual bool reportError(ErrorCode val, IErrorRecorder::ErrorDesc desc) noexcept = 0;

  //! Called by an object that keeps the recorder; returns the new count.
  virtual IErrorRecorder::RefCount incRefCount() noexcept = 0;

  //! Called by an object that lets go of the recorder; returns the new count.
  virtual IErrorRecorder::RefCount decRefCount() noexcept = 0;

 protected:
  IErrorRecorder(const IErrorRecorder&) = default;
  IErrorRecorder(IErrorRecorder&&) = default;
  IErrorRecorder& operator=(const IErrorRecorder&) & = default;
  IErrorRecorder& operator=(IErrorRecorder&&) & = default;
};

}  // namespace v_1_0

using IErrorRecorder = v_1_0::IErrorRecorder;

}  // namespace nvinfer1

//! The version of the library that is loaded, in the form of NV_TENSORRT_VERSION. Compare it with that macro to find
//! out whether a program was compiled with headers of another release.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;
