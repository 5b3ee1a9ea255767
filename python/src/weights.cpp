// SPDX-License-Identifier: Apache-2.0
// Weights: arrays of numpy whose memory the library reads, and arrays over memory that it shows.
#include "module.h"

namespace tenon::python {

namespace {

using nvinfer1::DataType;
using nvinfer1::Weights;

struct NumpyType {
  DataType type;
  const char* name;    // numpy's
  const char* format;  // of the buffer protocol
  py::ssize_t bytes;
};
constexpr NumpyType kNumpyTypes[] = {
    {DataType::kFLOAT, "float32", "f", 4}, {DataType::kHALF, "float16", "e", 2}, {DataType::kINT8, "int8", "b", 1},
    {DataType::kINT32, "int32", "i", 4},   {DataType::kINT64, "int64", "q", 8},  {DataType::kBOOL, "bool", "?", 1},
    {DataType::kUINT8, "uint8", "B", 1},
};

const NumpyType* numpyTypeOf(DataType type) {
  for (const NumpyType& row : kNumpyTypes) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

int64_t bitsOf(DataType type) {
  if (const NumpyType* row = numpyTypeOf(type)) return row->bytes * 8;
  if (type == DataType::kBF16) return 16;
  return type == DataType::kINT4 || type == DataType::kFP4 ? 4 : 8;
}

int64_t bytesOf(const Weights& weights) { return (weights.count * bitsOf(weights.type) + 7) / 8; }

DataType typeOfFormat(const Py_buffer& view) {
  std::string format = view.format ? view.format : "B";
  if (!format.empty() && (format[0] == '=' || format[0] == '@' || format[0] == '<')) format.erase(0, 1);
  if (format == "l" || format == "q") return view.itemsize == 8 ? DataType::kINT64 : DataType::kINT32;
  for (const NumpyType& row : kNumpyTypes) {
    if (format == row.format && view.itemsize == row.bytes) return row.type;
  }
  throw py::value_error("weights of the format '" + format +
                        "'; expected an array of float32, float16, int8, int32, int64, bool or uint8");
}

HostWeights makeWeights(DataType type, size_t address, int64_t count) {
  if (count < 0 || (count > 0 && address == 0)) {
    throw py::value_error("Weights: " + std::to_string(count) + " elements at address " + std::to_string(address));
  }
  return {{type, pointerOf<const void*>(address), count}, py::object()};
}

}  // namespace

// Types that numpy lacks come from ml_dtypes, which lends no buffer of them: their bits are read.
HostWeights weightsOf(const py::object& array) {
  py::object source = array;
  DataType foreign = DataType::kFLOAT;
  bool isForeign = false;
  if (py::hasattr(array, "dtype") && py::hasattr(array, "view")) {
    const auto name = py::str(array.attr("dtype")).cast<std::string>();
    isForeign = name == "bfloat16" || name == "float8_e4m3fn";
    foreign = name == "bfloat16" ? DataType::kBF16 : DataType::kFP8;
    if (isForeign) source = array.attr("view")(name == "bfloat16" ? "uint16" : "uint8");
  }
  py::object view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(source.ptr()));
  if (!view) throw py::error_already_set();
  if (PyBuffer_IsContiguous(PyMemoryView_GET_BUFFER(view.ptr()), 'C') == 0) {
    source = py::module_::import("numpy").attr("ascontiguousarray")(source);
    view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(source.ptr()));
    if (!view) throw py::error_already_set();
  }
  const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(view.ptr());
  const DataType type = isForeign ? foreign : typeOfFormat(buffer);
  return {{type, buffer.buf, buffer.itemsize > 0 ? buffer.len / buffer.itemsize : 0}, view};
}

py::object arrayOf(const HostWeights& held) {
  const NumpyType* type = numpyTypeOf(held.weights.type);
  if (!type) return py::cast(held);
  const py::module_ numpy = py::module_::import("numpy");
  const py::object dtype = numpy.attr("dtype")(type->name);
  if (held.weights.count == 0) return numpy.attr("empty")(0, dtype);
  return numpy.attr("frombuffer")(py::cast(held), dtype);  // the array keeps the object, and that the memory
}

void declareWeights(py::module_& module) {
  py::class_<HostWeights>(module, "Weights", py::buffer_protocol())
      .def(py::init([](DataType type) {
             return HostWeights{{type, nullptr, 0}, py::object()};
           }),
           py::arg("type") = DataType::kFLOAT)
      .def(py::init(&makeWeights), py::arg("type"), py::arg("ptr"), py::arg("count"))
      .def(py::init([](const py::buffer& array) { return weightsOf(array); }), py::arg("a"))
      .def_property_readonly("dtype", [](const HostWeights& self) { return self.weights.type; })
      .def_property_readonly("size", [](const HostWeights& self) { return self.weights.count; })
      .def_property_readonly("nbytes", [](const HostWeights& self) { return bytesOf(self.weights); })
      .def("numpy", &arrayOf)
      .def("__len__", [](const HostWeights& self) { return self.weights.count; })
      .def_buffer([](HostWeights& self) {
        auto* const bytes = static_cast<uint8_t*>(const_cast<void*>(self.weights.values));
        return py::buffer_info(bytes, static_cast<py::ssize_t>(bytesOf(self.weights)), true);
      });
  convertible<py::buffer, HostWeights>();
}

}  // namespace tenon::python
