// Calls every slot of the recording wrappers and of the stand-ins around mocks, and looks at what arrives there and
// what comes back.
#pragma once

#include <NvInfer.h>

#include <cstring>

#include "abi/probe_support.h"
#include "shim/users.h"
#include "shim/wrappers.h"
#include "wrappers_generated.h"

// What a wrapper belongs to here.
tenon::capture::Object& dummy();
nvinfer1::IPluginV2& pluginOfTwo();
nvinfer1::IPluginV3& pluginOfThree();
// Memory that recording may read.
char* room();

template <typename T>
using Plain = std::remove_cv_t<std::remove_pointer_t<std::remove_cv_t<std::remove_reference_t<T>>>>;

template <typename T>
constexpr bool kIsUser =
    std::is_same_v<Plain<T>, nvinfer1::ILogger> || std::is_same_v<Plain<T>, nvinfer1::IErrorRecorder> ||
    std::is_same_v<Plain<T>, nvinfer1::IGpuAllocator> || std::is_same_v<Plain<T>, nvinfer1::IProgressMonitor> ||
    std::is_same_v<Plain<T>, nvinfer1::IAlgorithmSelector> || std::is_same_v<Plain<T>, nvinfer1::IInt8Calibrator> ||
    std::is_same_v<Plain<T>, nvinfer1::IStreamWriter>;

template <typename T>
constexpr bool kIsObject =
    std::conjunction_v<std::negation<std::is_same<Plain<T>, CUstream_st>>, std::is_base_of<nvinfer1::INoCopy, Plain<T>>,
                       std::negation<std::is_same<Plain<T>, nvinfer1::ICudaEngine>>>;

// The n-th value of a type, as probe::make, but with memory behind what recording reads.
template <typename T>
T value(int n) {
  if constexpr (std::is_same_v<T, nvinfer1::IPluginV2&>) {
    return pluginOfTwo();
  } else if constexpr (std::is_same_v<T, nvinfer1::IPluginV3&>) {
    return pluginOfThree();
  } else if constexpr (std::is_same_v<T, const char*>) {
    std::snprintf(room() + 16 * n, 16, "text %d", n);
    return room() + 16 * n;
  } else if constexpr (std::is_same_v<T, nvinfer1::ITensor* const*> || std::is_same_v<T, const char* const*>) {
    static void* pointers[16][8];
    for (int i = 0; i < 8; ++i) {
      pointers[n][i] = room() + 16 * (n + i);
    }
    return reinterpret_cast<T>(pointers[n]);
  } else if constexpr (std::is_same_v<std::remove_cv_t<T>, nvinfer1::Weights>) {
    return nvinfer1::Weights{nvinfer1::DataType::kINT8, room() + n, n};
  } else if constexpr (std::is_same_v<T, nvinfer1::ILayer*>) {
    return nullptr;  // its class would be asked
  } else if constexpr (std::is_pointer_v<T> &&
                       (kIsObject<T> || std::is_arithmetic_v<Plain<T>> || std::is_void_v<Plain<T>> ||
                        std::is_same_v<Plain<T>, nvinfer1::TimingCacheKey>)) {
    static char memory[4096];  // one for each type
    return reinterpret_cast<T>(memory + 8 * (n % 16));
  } else {
    return probe::make<T>(n);
  }
}

// What identifies an argument: lists of objects by their entries, all else as probe::token does it.
template <typename T>
uint64_t mark(T argument) {
  if constexpr (std::is_same_v<T, nvinfer1::ITensor* const*>) {
    return probe::mix(reinterpret_cast<uint64_t>(argument[0]), reinterpret_cast<uint64_t>(argument[1]));
  } else {
    return probe::token<T>(argument);
  }
}

// The argument as it shall arrive: the stand-in of what the application implements, all else unchanged.
template <typename T>
uint64_t expectedMark(T argument) {
  uint64_t id = 0;
  if constexpr (kIsUser<T> && std::is_pointer_v<T>) {
    return mark<T>(tenon::capture::standInFor(argument, id));
  } else if constexpr (kIsUser<T>) {
    return mark<T>(*tenon::capture::standInFor(&argument, id));
  } else {
    return mark<T>(argument);
  }
}

template <typename R, typename... P>
R arrived(const char* owner, int slot, P... values) {
  probe::lastCall() = probe::Call{owner, slot, {mark<P>(values)...}};
  if constexpr (!std::is_void_v<R>) {
    return value<R>(probe::kResult);
  }
}

template <typename R>
bool isResult(R result) {
  if constexpr (kIsObject<R> && std::is_pointer_v<R>) {
    const tenon::capture::Object* wrapper = tenon::capture::wrapperAt(result);
    const void* expected = value<R>(probe::kResult);
    return expected == nullptr ? result == nullptr : wrapper != nullptr && wrapper->real == expected;
  } else if constexpr (std::is_same_v<Plain<R>, nvinfer1::IPluginRegistry>) {
    return &result == tenon::capture::wrapRegistry(&value<R>(probe::kResult));
  } else if constexpr (kIsObject<R>) {
    const tenon::capture::Object* wrapper = tenon::capture::wrapperAt(&result);
    return wrapper != nullptr && wrapper->real == &value<R>(probe::kResult);
  } else {
    return mark<R>(result) == mark<R>(value<R>(probe::kResult));
  }
}

template <typename V, typename R, typename... P, size_t... I>
void checkCall(V& wrapper, const char* what, const char* owner, int slot, R (V::*function)(P...),
               std::index_sequence<I...>) {
  probe::lastCall() = {};
  const std::vector<uint64_t> expected{expectedMark<P>(value<P>(static_cast<int>(I) + 1))...};
  if constexpr (std::is_void_v<R>) {
    (wrapper.*function)(value<P>(static_cast<int>(I) + 1)...);
  } else {
    probe::expect(isResult<R>((wrapper.*function)(value<P>(static_cast<int>(I) + 1)...)), what);
  }
  probe::expectCall(what, owner, slot, expected);
}

template <typename V, typename R, typename... P>
void check(V& wrapper, const char* what, const char* owner, int slot, R (V::*function)(P...) noexcept) {
  checkCall(wrapper, what, owner, slot, static_cast<R (V::*)(P...)>(function), std::index_sequence_for<P...>());
}

template <typename V, typename R, typename... P>
void check(V& wrapper, const char* what, const char* owner, int slot, R (V::*function)(P...) const noexcept) {
  // The same slot: a pointer to a member function says nothing of const.
  checkCall(wrapper, what, owner, slot, reinterpret_cast<R (V::*)(P...)>(function), std::index_sequence_for<P...>());
}

template <typename V, typename R, typename... P>
void check(V& wrapper, const char* what, const char* owner, int slot, R (V::*function)(P...)) {
  checkCall(wrapper, what, owner, slot, function, std::index_sequence_for<P...>());
}

// How many functions were looked at.
int checkAll();
int checkRegistry();
