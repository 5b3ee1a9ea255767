// SPDX-License-Identifier: Apache-2.0
// What all files of the Python module share: who deletes an object, who keeps one, values that have no class in C++.
#pragma once

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "callbacks.h"

namespace py = pybind11;

namespace tenon::python {

inline constexpr nvinfer1::OptProfileSelector kSelectors[] = {
    nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT, nvinfer1::OptProfileSelector::kMAX};

// Objects of Python's: deleted with the lock of the interpreter given up, since their threads may still call Python.
template <class T>
struct Delete {
  void operator()(T* object) const {
    const py::gil_scoped_release released;
    delete object;
  }
};
template <>
void Delete<nvinfer1::INetworkDefinition>::operator()(nvinfer1::INetworkDefinition* network) const;

template <class T>
using Owned = std::unique_ptr<T, Delete<T>>;
template <class T>
using Lent = std::unique_ptr<T, py::nodelete>;

// Parsers read weights that a build uses later: what they fill keeps them too.
template <class T>
using Shared = std::shared_ptr<T>;

// Weights and what keeps their memory: a view of the array they came from, or the object that showed them.
struct HostWeights {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  py::object owner;
};

// `keeper` keeps `kept` until it is gone itself; once, however often it is asked.
void keepAlive(py::handle keeper, py::handle kept);

// As an attribute of a function: its first argument keeps the one at this place, counted from 1.
template <size_t kPlace>
struct Keeps {};

// The object in Python that stands for `object`.
template <class T>
py::object handleOf(T& object) {
  return py::cast(&object, py::return_value_policy::reference);
}

void keepWeightsOfLayer(const nvinfer1::ILayer* layer, const py::object& owner);

// Weights are used until the build, or until the refit: whoever takes them keeps the array.
template <class T>
void keepOwner(T& taker, const py::object& owner) {
  if constexpr (std::is_base_of_v<nvinfer1::ILayer, T>) keepWeightsOfLayer(&taker, owner);
  else keepAlive(handleOf(taker), owner);
}

template <class T>
HostWeights viewOf(const nvinfer1::Weights& weights, T& shownBy) {
  return {weights, handleOf(shownBy)};
}

// A numpy array over the memory of weights, or the weights themselves where numpy has no such type.
py::object arrayOf(const HostWeights& weights);
HostWeights weightsOf(const py::object& array);

void warnDeprecated(const char* name, const char* reason);

// The bytes of an object with the buffer protocol, for as long as this lives. Made and destroyed with the lock held.
class Bytes {
 public:
  explicit Bytes(const py::handle& object, int flags = PyBUF_SIMPLE);
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

// Addresses, streams and events are numbers in Python.
template <class T>
T pointerOf(size_t number) {
  return reinterpret_cast<T>(number);
}
inline size_t numberOf(const void* pointer) { return reinterpret_cast<size_t>(pointer); }

// A declared class, to add members to it.
template <class T>
py::class_<T> classOf(py::handle scope, const char* name) {
  return py::reinterpret_borrow<py::class_<T>>(scope.attr(name));
}

// Arguments of the type `From` are taken where a `To` is wanted. As pybind11's function of this purpose, whose mark
// that a conversion goes on is one for all threads: another thread's argument is refused then, and a child that was
// forked meanwhile refuses all.
template <class From, class To>
void convertible() {
  constexpr auto convert = [](PyObject* object, PyTypeObject* type) -> PyObject* {
    thread_local bool isConverting = false;
    if (isConverting || !py::detail::make_caster<From>().load(object, false)) return nullptr;
    isConverting = true;
    PyObject* const made = PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(type), object, nullptr);
    isConverting = false;
    if (made == nullptr) PyErr_Clear();
    return made;
  };
  py::detail::get_type_info(typeid(To))->implicit_conversions.emplace_back(convert);
}

// Text of the library: whatever its bytes are, it arrives.
py::object textOf(const char* text);

const std::type_info* layerClass(const nvinfer1::ILayer* layer);

}  // namespace tenon::python

namespace pybind11 {

// A layer of a network arrives as its own class.
template <>
struct polymorphic_type_hook<nvinfer1::ILayer> {
  static const void* get(const nvinfer1::ILayer* layer, const std::type_info*& type) {
    type = layer ? tenon::python::layerClass(layer) : nullptr;
    return layer;
  }
};

namespace detail {
template <size_t kPlace>
struct process_attribute<tenon::python::Keeps<kPlace>> : process_attribute_default<tenon::python::Keeps<kPlace>> {
  static void precall(function_call& call) {
    if (call.args.size() >= kPlace) tenon::python::keepAlive(call.args[0], call.args[kPlace - 1]);
  }
};
}  // namespace detail
}  // namespace pybind11
