// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! What the generated probes of the binary interface share: slots of virtual functions, recognisable arguments, and a
//! record of the last call that arrived at a mock.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#include "impl/NvInferPythonPlugin.h"

namespace probe {

inline int& failures() {
  static int count = 0;
  return count;
}

inline void expect(bool holds, const char* what) {
  if (!holds) {
    ++failures();
    std::printf("differs: %s\n", what);
  }
}

// A pointer to a member function holds the slot of a virtual one (Itanium C++ ABI): as 1 + offset in its first word,
// or, on Arm, as the offset there and a set lowest bit in the second word. Which of the two is found out with a class
// whose slots are known.
struct MemberPointer {
  std::ptrdiff_t word;
  std::ptrdiff_t adjustment;
};

struct Known {
  virtual void zero() {}
  virtual void one() {}
};

template <typename F>
MemberPointer wordsOf(F function) {
  static_assert(sizeof(F) == sizeof(MemberPointer));
  MemberPointer words;
  std::memcpy(&words, &function, sizeof words);
  return words;
}

//! The slot of a virtual function, -1 for a function that is not virtual.
template <typename F>
int slotOf(F function) {
  const MemberPointer words = wordsOf(function);
  const bool inFirstWord = (wordsOf(&Known::one).word & 1) != 0;
  if (((inFirstWord ? words.word : words.adjustment) & 1) == 0) {
    return -1;
  }
  return static_cast<int>((words.word - (inFirstWord ? 1 : 0)) / static_cast<std::ptrdiff_t>(sizeof(void*)));
}

//! The call that arrived last: whose slot it was and what the arguments were.
struct Call {
  std::string owner;
  int slot = -1;
  std::vector<uint64_t> arguments;
};

inline Call& lastCall() {
  static Call call;
  return call;
}

inline uint64_t mix(uint64_t seed, uint64_t value) { return (seed ^ value) * 0x100000001b3ULL + 0x9e3779b9ULL; }

inline uint64_t tokenOf(const nvinfer1::Weights& w) {
  return mix(mix(static_cast<uint64_t>(w.type), reinterpret_cast<uint64_t>(w.values)), static_cast<uint64_t>(w.count));
}
inline uint64_t tokenOf(const nvinfer1::Dims& dims) {
  uint64_t token = static_cast<uint64_t>(dims.nbDims);
  for (int i = 0; i < dims.nbDims && i < nvinfer1::Dims::MAX_DIMS; ++i) {
    token = mix(token, static_cast<uint64_t>(dims.d[i]));
  }
  return token;
}
inline uint64_t tokenOf(const nvinfer1::Permutation& permutation) {
  uint64_t token = 0;
  for (int32_t axis : permutation.order) {
    token = mix(token, static_cast<uint64_t>(axis));
  }
  return token;
}
inline uint64_t tokenOf(const nvinfer1::InterfaceInfo& info) {
  uint64_t token = mix(static_cast<uint64_t>(info.major), static_cast<uint64_t>(info.minor));
  for (const char* c = info.kind; c != nullptr && *c != 0; ++c) {
    token = mix(token, static_cast<uint64_t>(*c));
  }
  return token;
}
inline uint64_t tokenOf(const nvinfer1::TimingCacheValue& value) {
  uint32_t time = 0;
  std::memcpy(&time, &value.timingMSec, sizeof time);
  return mix(value.tacticHash, time);
}

//! Some public functions take by value what the function behind them takes by reference, or the other way round.
template <typename Plain>
constexpr bool kComparedByContent =
    std::is_same_v<Plain, nvinfer1::Dims> || std::is_same_v<Plain, nvinfer1::Permutation>;

//! One number that tells values of the type T apart; most references and all pointers are told apart by address.
template <typename T>
uint64_t token(T value) {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_reference_v<T> && !kComparedByContent<Plain>) {
    return reinterpret_cast<uint64_t>(&reinterpret_cast<const volatile char&>(value));
  } else if constexpr (std::is_class_v<Plain>) {
    return tokenOf(value);
  } else if constexpr (std::is_pointer_v<Plain>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

//! The n-th recognisable value of the type T; references lead to zeroed memory that nobody reads.
template <typename T>
T make(int n) {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_reference_v<T> && kComparedByContent<Plain>) {
    static Plain values[128];
    return values[n] = make<Plain>(n);
  } else if constexpr (std::is_reference_v<T>) {
    alignas(64) static unsigned char memory[128][512];
    return reinterpret_cast<T>(*memory[n]);
  } else if constexpr (std::is_same_v<Plain, nvinfer1::Weights>) {
    return nvinfer1::Weights{nvinfer1::DataType::kINT8, reinterpret_cast<void*>(uint64_t(n) * 64), n};
  } else if constexpr (std::is_same_v<Plain, nvinfer1::InterfaceInfo>) {
    return nvinfer1::InterfaceInfo{"probe", n, n + 1};
  } else if constexpr (std::is_same_v<Plain, nvinfer1::Permutation>) {
    return nvinfer1::Permutation{{n, 1, 2, 3, 4, 5, 6, 7}};
  } else if constexpr (std::is_same_v<Plain, nvinfer1::Dims>) {
    return nvinfer1::Dims{2, {n, n + 1}};
  } else if constexpr (std::is_class_v<Plain>) {
    return T{};
  } else if constexpr (std::is_pointer_v<Plain>) {
    return reinterpret_cast<T>(uint64_t(n) * 4096);
  } else if constexpr (std::is_same_v<Plain, bool>) {
    return n % 2 == 1;
  } else {
    return static_cast<T>(n);
  }
}

constexpr int kResult = 99;  // the number of the value that every mock returns

template <typename R, typename... P>
R record(const char* owner, int slot, P... values) {
  lastCall() = Call{owner, slot, {token<P>(values)...}};
  if constexpr (!std::is_void_v<R>) {
    return make<R>(kResult);
  }
}

//! Compares the last call with what was expected and names the function if they differ.
inline void expectCall(const char* what, const char* owner, int slot, const std::vector<uint64_t>& arguments) {
  const Call& call = lastCall();
  expect(call.owner == owner && call.slot == slot && call.arguments == arguments, what);
  lastCall() = Call{};
}

}  // namespace probe
