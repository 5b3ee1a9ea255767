// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! A library whose objects do nothing but remember which of their functions was called last.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#include "impl/NvInferPythonPlugin.h"

namespace nvinfer1 {
class IPlugin {};  // the headers only name it
}  // namespace nvinfer1

namespace recorder {

struct Call {
  const char* owner = "";
  int slot = -1;
};

inline Call& lastCall() {
  static Call call;
  return call;
}

//! The class of the layer that getLayer() hands out next.
inline std::string& nextLayer() {
  static std::string name;
  return name;
}

//! The objects that nobody deleted, where somebody asked to know them: a process that is not short lets them go at
//! times.
inline std::unordered_set<void*>& kept() {
  static std::unordered_set<void*> objects;
  return objects;
}

inline bool& keeps() {
  static bool value = false;
  return value;
}

inline void* allocate(std::size_t size) {
  void* memory = ::operator new(size);
  if (keeps()) {
    kept().insert(memory);
  }
  return memory;
}

inline void release(void* memory) {
  if (keeps()) {
    kept().erase(memory);
  }
  ::operator delete(memory);
}

//! A new object of the class T, or nullptr for classes that nothing hands out. Nobody frees what is not deleted by the
//! caller, unless keeps() is set.
template <typename T>
struct Object {
  static T* make() { return nullptr; }
};

template <typename R>
R answer() {
  using Plain = std::remove_cv_t<std::remove_reference_t<R>>;
  using Target = std::remove_cv_t<std::remove_pointer_t<Plain>>;
  if constexpr (std::is_reference_v<R> && std::is_polymorphic_v<Plain>) {
    return *Object<Plain>::make();
  } else if constexpr (std::is_reference_v<R>) {
    static Plain value{};
    return value;
  } else if constexpr (std::is_same_v<R, const char*>) {
    return "text";
  } else if constexpr (std::is_pointer_v<R> && std::is_class_v<Target>) {
    return Object<Target>::make();
  } else if constexpr (std::is_pointer_v<R> || std::is_class_v<R>) {
    return R{};
  } else {
    return static_cast<R>(1);
  }
}

template <typename R, typename... P>
R record(const char* owner, int slot, P...) {
  lastCall() = Call{owner, slot};
  if constexpr (!std::is_void_v<R>) {
    return answer<R>();
  }
}

}  // namespace recorder
