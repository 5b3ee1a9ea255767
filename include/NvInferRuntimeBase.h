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

enum class DataType : int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
  kFP4 = 10,
  kE8M0 = 11,
};

template <>
struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

enum class TensorIOMode : int32_t {
  kNONE = 0,
  kINPUT = 1,
  kOUTPUT = 2,
};

template <>
struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

class Dims64 {
 public:
  static constexpr int32_t MAX_DIMS = 8;
  int32_t nbDims;
  int64_t d[8];
};

using Dims = Dims64;

class InterfaceInfo {
 public:
  InterfaceKind kind;
  int32_t major;
  int32_t minor;
};

enum class APILanguage : int32_t {
  kCPP = 0,
  kPYTHON = 1,
};

template <>
struct impl::EnumMaxImpl<APILanguage> {
  static constexpr int32_t kVALUE = 2;
};

class IVersionedInterface {
 public:
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) & = default;
  IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

enum class ErrorCode : int32_t {
  kSUCCESS = 0,
  kUNSPECIFIED_ERROR = 1,
  kINTERNAL_ERROR = 2,
  kINVALID_ARGUMENT = 3,
  kINVALID_CONFIG = 4,
  kFAILED_ALLOCATION = 5,
  kFAILED_INITIALIZATION = 6,
  kFAILED_EXECUTION = 7,
  kFAILED_COMPUTATION = 8,
  kINVALID_STATE = 9,
  kUNSUPPORTED_STATE = 10,
};

template <>
struct impl::EnumMaxImpl<ErrorCode> {
  static constexpr int32_t kVALUE = 11;
};

namespace v_1_0 {

class IErrorRecorder : public IVersionedInterface {
 public:
  using ErrorDesc = const char*;
  using RefCount = int32_t;
  static constexpr size_t kMAX_DESC_LENGTH = 127;
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IErrorRecorder", 1, 0}; }
  IErrorRecorder() = default;
  ~IErrorRecorder() noexcept override = default;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;
  virtual IErrorRecorder::ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;
  virtual bool hasOverflowed() const noexcept = 0;
  virtual void clear() noexcept = 0;
  virtual bool reportError(ErrorCode val, IErrorRecorder::ErrorDesc desc) noexcept = 0;
  virtual IErrorRecorder::RefCount incRefCount() noexcept = 0;
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
