// SPDX-License-Identifier: Apache-2.0
// Shapes and permutations as sequences, memory of the host, names of interfaces, entries of timing caches.
#include <cstdio>

#include "module.h"

namespace tenon::python {

namespace {

using nvinfer1::Dims;

constexpr int32_t kMaxDims = Dims::MAX_DIMS;

// Extents of a list, a tuple, a shape of numpy or torch, a Dims.
std::vector<int64_t> extentsOf(const py::sequence& shape) {
  std::vector<int64_t> extents;
  for (const py::handle item : shape) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(item.ptr()));
    if (!number) throw py::error_already_set();
    const int64_t value = PyLong_AsLongLong(number.ptr());
    if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
    extents.push_back(value);
  }
  return extents;
}

template <class T>
T dimsOf(const py::sequence& shape) {
  if (py::isinstance<py::str>(shape)) throw py::type_error("a shape is a sequence of integers, not a string");
  const std::vector<int64_t> extents = extentsOf(shape);
  T dims{};
  const size_t expected = std::is_same_v<T, Dims> ? extents.size() : static_cast<size_t>(dims.nbDims);
  if (extents.size() != expected || extents.size() > kMaxDims) {
    const std::string wanted = std::is_same_v<T, Dims> ? "at most 8" : std::to_string(expected);
    throw py::value_error("a shape of " + std::to_string(extents.size()) + " extents; expected " + wanted);
  }
  dims.nbDims = static_cast<int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), dims.d);
  return dims;
}

py::tuple tupleOf(const Dims& dims) {
  const int32_t count = std::max(dims.nbDims, 0);  // -1: what a query of an unknown tensor answers
  py::tuple extents(count);
  for (int32_t i = 0; i < count; ++i) extents[i] = dims.d[i];
  return extents;
}

int32_t placeOf(py::ssize_t index, int32_t count) {
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw py::index_error("index out of range");
  return static_cast<int32_t>(index);
}

void setSlice(Dims& dims, const py::slice& slice, const Dims& values) {
  py::ssize_t start = 0, stop = 0, step = 0, length = 0;
  if (!slice.compute(std::max(dims.nbDims, 0), &start, &stop, &step, &length)) throw py::error_already_set();
  if (length != values.nbDims) {
    throw py::value_error(std::to_string(values.nbDims) + " extents for a slice of " + std::to_string(length));
  }
  for (py::ssize_t i = 0; i < length; ++i, start += step) dims.d[start] = values.d[i];
}

template <class T, class... Bases>
py::class_<T, Bases...> declareDims(py::module_& module, const char* name) {
  py::class_<T, Bases...> type(module, name);
  type.def(py::init<>()).def(py::init(&dimsOf<T>), py::arg("shape"));
  convertible<py::sequence, T>();
  return type;
}

void declareShapes(py::module_& module) {
  auto dims = declareDims<Dims>(module, "Dims");
  dims.def_property_readonly_static("MAX_DIMS", [](const py::object&) { return kMaxDims; })
      .def("__str__", [](const Dims& self) { return py::str(tupleOf(self)); })
      .def("__repr__", [](const Dims& self) { return py::repr(tupleOf(self)); })
      .def("__eq__", [](const Dims& self, const py::list& other) { return tupleOf(self).equal(py::tuple(other)); })
      .def("__eq__", [](const Dims& self, const py::tuple& other) { return tupleOf(self).equal(other); })
      .def("__eq__", [](const Dims& self, const Dims& other) { return tupleOf(self).equal(tupleOf(other)); })
      .def("__eq__", [](const Dims&, const py::object&) { return false; })
      .def("__len__", [](const Dims& self) { return std::max(self.nbDims, 0); })
      .def("__iter__", [](const Dims& self) { return py::iter(tupleOf(self)); })
      .def("__getitem__", [](const Dims& self, py::ssize_t index) { return self.d[placeOf(index, self.nbDims)]; })
      .def("__getitem__",
           [](const Dims& self, const py::slice& slice) { return tupleOf(self)[slice].cast<py::tuple>(); })
      .def("__setitem__",
           [](Dims& self, py::ssize_t index, int64_t value) { self.d[placeOf(index, self.nbDims)] = value; })
      .def("__setitem__", &setSlice);
  dims.attr("__hash__") = py::none();
  declareDims<nvinfer1::Dims2, Dims>(module, "Dims2")
      .def(py::init<int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"));
  using nvinfer1::DimsHW;
  declareDims<DimsHW, nvinfer1::Dims2>(module, "DimsHW")
      .def(py::init<int64_t, int64_t>(), py::arg("h"), py::arg("w"))
      .def_property(
          "h", [](const DimsHW& self) { return self.d[0]; }, [](DimsHW& self, int64_t value) { self.d[0] = value; })
      .def_property(
          "w", [](const DimsHW& self) { return self.d[1]; }, [](DimsHW& self, int64_t value) { self.d[1] = value; });
  declareDims<nvinfer1::Dims3, Dims>(module, "Dims3")
      .def(py::init<int64_t, int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"), py::arg("dim2"));
  declareDims<nvinfer1::Dims4, Dims>(module, "Dims4")
      .def(py::init<int64_t, int64_t, int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"), py::arg("dim2"),
           py::arg("dim3"));
}

// Axes that are not named stay where they are.
nvinfer1::Permutation permutationOf(const py::sequence& order) {
  const std::vector<int64_t> axes = extentsOf(order);
  if (axes.size() > kMaxDims)
    throw py::value_error("a permutation of " + std::to_string(axes.size()) + " axes; expected at most 8");
  nvinfer1::Permutation permutation{};
  for (int32_t i = 0; i < kMaxDims; ++i) {
    permutation.order[i] = i < static_cast<int32_t>(axes.size()) ? static_cast<int32_t>(axes[i]) : i;
  }
  return permutation;
}

py::tuple orderOf(const nvinfer1::Permutation& permutation) {
  py::tuple order(kMaxDims);
  for (int32_t i = 0; i < kMaxDims; ++i) order[i] = permutation.order[i];
  return order;
}

void declarePermutation(py::module_& module) {
  using nvinfer1::Permutation;
  py::class_<Permutation>(module, "Permutation")
      .def(py::init([] { return permutationOf(py::tuple()); }))
      .def(py::init(&permutationOf))
      .def("__str__", [](const Permutation& self) { return py::str(orderOf(self)); })
      .def("__repr__", [](const Permutation& self) { return py::repr(orderOf(self)); })
      .def("__getitem__",
           [](const Permutation& self, py::ssize_t index) { return self.order[placeOf(index, kMaxDims)]; })
      .def("__setitem__",
           [](Permutation& self, py::ssize_t index, int32_t axis) { self.order[placeOf(index, kMaxDims)] = axis; })
      .def("__len__", [](const Permutation&) { return kMaxDims; });
  convertible<py::sequence, Permutation>();
}

void declareHostMemory(py::module_& module) {
  using nvinfer1::IHostMemory;
  py::class_<IHostMemory, Owned<IHostMemory>>(module, "IHostMemory", py::buffer_protocol())
      .def_property_readonly("dtype", [](const IHostMemory& self) { return self.type(); })
      .def_property_readonly("nbytes", [](const IHostMemory& self) { return self.size(); })
      .def("__len__", [](const IHostMemory& self) { return self.size(); })
      .def("__del__", [](const IHostMemory&) {})
      .def_buffer([](IHostMemory& self) {
        return py::buffer_info(static_cast<uint8_t*>(self.data()), static_cast<py::ssize_t>(self.size()), true);
      });
}

std::string keyText(const nvinfer1::TimingCacheKey& key) {
  std::string text = "0x";
  char digits[3];
  for (const uint8_t byte : key.data) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

nvinfer1::TimingCacheKey parseKey(const std::string& text) {
  const std::string digits = text.starts_with("0x") ? text.substr(2) : text;
  nvinfer1::TimingCacheKey key{};
  const bool hexadecimal = digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (digits.size() != 2 * sizeof key.data || !hexadecimal) {
    throw py::value_error("TimingCacheKey.parse: '" + text + "'; expected 0x and 32 hexadecimal digits");
  }
  for (size_t i = 0; i < sizeof key.data; ++i) {
    key.data[i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  return key;
}

void declareTimingCacheEntries(py::module_& module) {
  using nvinfer1::TimingCacheValue;
  py::class_<nvinfer1::TimingCacheKey>(module, "TimingCacheKey")
      .def("__str__", &keyText)
      .def_static("parse", &parseKey, py::arg("text"));
  py::class_<TimingCacheValue>(module, "TimingCacheValue")
      .def(py::init([](uint64_t hash, float time) {
        return TimingCacheValue{hash, time};
      }))
      .def_readwrite("tacticHash", &TimingCacheValue::tacticHash)
      .def_readwrite("timingMSec", &TimingCacheValue::timingMSec);
}

void declareInterfaceInfo(py::module_& module) {
  using nvinfer1::InterfaceInfo;
  using nvinfer1::IVersionedInterface;
  py::class_<InterfaceInfo>(module, "InterfaceInfo")
      .def_property_readonly("kind", [](const InterfaceInfo& self) { return textOf(self.kind); })
      .def_readwrite("major", &InterfaceInfo::major)
      .def_readwrite("minor", &InterfaceInfo::minor);
  py::class_<IVersionedInterface, Lent<IVersionedInterface>>(module, "IVersionedInterface")
      .def_property_readonly("api_language", &IVersionedInterface::getAPILanguage)
      .def_property_readonly("interface_info", &IVersionedInterface::getInterfaceInfo);
}

}  // namespace

void declareValues(py::module_& module) {
  declareShapes(module);
  declarePermutation(module);
  declareHostMemory(module);
  declareTimingCacheEntries(module);
  declareInterfaceInfo(module);
}

}  // namespace tenon::python
