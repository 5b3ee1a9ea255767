// SPDX-License-Identifier: Apache-2.0
// Fields of plugins: a name, a type, and numbers that are arrays of numpy in Python.
#include "plugins.h"

namespace tenon::python {

namespace {

using nvinfer1::PluginFieldType;

struct FieldRow {
  PluginFieldType type;
  size_t bits;        // of an element
  const char* numpy;  // what Python sees; the bits, where numpy has no such type
};
constexpr FieldRow kFieldRows[] = {
    {PluginFieldType::kFLOAT16, 16, "float16"}, {PluginFieldType::kFLOAT32, 32, "float32"},
    {PluginFieldType::kFLOAT64, 64, "float64"}, {PluginFieldType::kINT8, 8, "int8"},
    {PluginFieldType::kINT16, 16, "int16"},     {PluginFieldType::kINT32, 32, "int32"},
    {PluginFieldType::kCHAR, 8, "int8"},        {PluginFieldType::kDIMS, 8 * sizeof(nvinfer1::Dims), "uint8"},
    {PluginFieldType::kUNKNOWN, 8, "int8"},     {PluginFieldType::kBF16, 16, "uint16"},
    {PluginFieldType::kINT64, 64, "int64"},     {PluginFieldType::kFP8, 8, "uint8"},
    {PluginFieldType::kINT4, 4, "uint8"},       {PluginFieldType::kFP4, 4, "uint8"},
};

const FieldRow& rowOf(PluginFieldType type) {
  for (const FieldRow& row : kFieldRows) {
    if (row.type == type) return row;
  }
  throw py::value_error("a field of the type " + std::to_string(static_cast<int32_t>(type)) + "; expected 0 to 13");
}

size_t bytesOf(PluginFieldType type, int32_t size) {
  return (static_cast<size_t>(std::max(size, 0)) * rowOf(type).bits + 7) / 8;
}

// The memory of an array, of bytes or of a text; copied only where it is no single block.
void setData(HostField& field, const py::object& data) {
  field.owner = py::object();
  field.data = nullptr;
  field.size = 0;
  if (data.is_none()) return;
  py::object source = py::isinstance<py::str>(data) ? py::object(data.attr("encode")()) : data;
  py::object view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(source.ptr()));
  if (!view) throw py::error_already_set();
  if (PyBuffer_IsContiguous(PyMemoryView_GET_BUFFER(view.ptr()), 'C') == 0) {
    source = py::module_::import("numpy").attr("ascontiguousarray")(source);
    view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(source.ptr()));
    if (!view) throw py::error_already_set();
  }
  const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(view.ptr());
  const size_t bits = rowOf(field.type).bits;
  if (static_cast<size_t>(buffer.len) * 8 % bits != 0) {
    throw py::value_error("field '" + field.name + "': " + std::to_string(buffer.len) +
                          " bytes are no whole number of elements of " + std::to_string(bits / 8) + " bytes");
  }
  const size_t count = static_cast<size_t>(buffer.len) * 8 / bits;
  if (count > INT32_MAX) throw py::value_error("field '" + field.name + "' has more than 2^31 - 1 elements");
  field.owner = view;
  field.data = buffer.buf;
  field.size = static_cast<int32_t>(count);
}

py::object dataOf(const HostField& field) {
  const FieldRow& row = rowOf(field.type);
  const size_t bytes = field.owner ? bytesOf(field.type, field.size) : 0;
  const py::module_ numpy = py::module_::import("numpy");
  const py::object dtype = numpy.attr("dtype")(row.numpy);
  if (bytes == 0) return numpy.attr("empty")(0, dtype);
  const py::object view = py::reinterpret_borrow<py::object>(field.owner);
  return numpy.attr("frombuffer")(
      view, dtype)[py::slice(0, static_cast<py::ssize_t>(bytes / dtype.attr("itemsize").cast<size_t>()), 1)];
}

HostField make(std::string name, const py::object& data, PluginFieldType type) {
  HostField field;
  field.name = std::move(name);
  field.type = type;
  setData(field, data);
  return field;
}

// Fewer elements than there are may be shown, more may not.
void setSize(HostField& field, int32_t size) {
  const size_t held = field.owner ? static_cast<size_t>(PyMemoryView_GET_BUFFER(field.owner.ptr())->len) : 0;
  if (size < 0 || bytesOf(field.type, size) > held) {
    throw py::value_error("field '" + field.name + "': a size of " + std::to_string(size) + "; its data has " +
                          std::to_string(held) + " bytes");
  }
  field.size = size;
}

void setType(HostField& field, PluginFieldType type) {
  const size_t bits = rowOf(type).bits;
  const size_t held = field.owner ? static_cast<size_t>(PyMemoryView_GET_BUFFER(field.owner.ptr())->len) : 0;
  field.type = type;
  field.size = static_cast<int32_t>(held * 8 / bits);
}

}  // namespace

void FieldList::set(HostFields fields) {
  fields_ = std::move(fields);
  natives_.clear();
  for (const HostField& field : fields_) natives_.emplace_back(field.name.c_str(), field.data, field.type, field.size);
  collection_ = {static_cast<int32_t>(natives_.size()), natives_.empty() ? nullptr : natives_.data()};
}

HostFields fieldsFrom(const py::object& answer) {
  if (answer.is_none()) return {};
  if (py::isinstance<FieldView>(answer)) return answer.cast<const FieldView&>().fields;
  if (py::isinstance<HostFields>(answer)) return answer.cast<const HostFields&>();
  HostFields fields;
  for (const py::handle item : py::iter(answer)) fields.push_back(item.cast<HostField>());
  return fields;
}

HostFields copyOf(const nvinfer1::PluginFieldCollection* collection) {
  HostFields fields;
  for (int32_t i = 0; collection && i < collection->nbFields; ++i) {
    const nvinfer1::PluginField& field = collection->fields[i];
    const size_t bytes = field.data ? bytesOf(field.type, field.length) : 0;
    HostField copy;
    copy.name = field.name ? field.name : "";
    copy.type = field.type;
    if (field.data) {
      setData(copy, py::bytearray(static_cast<const char*>(field.data), bytes));  // arrays over it can be written
      copy.size = field.length;  // of four-bit numbers the last may be half a byte
    }
    fields.push_back(std::move(copy));
  }
  return fields;
}

void declarePluginFields(py::module_& module) {
  py::class_<HostField>(module, "PluginField")
      .def(py::init([](std::string name) { return make(std::move(name), py::none(), PluginFieldType::kUNKNOWN); }),
           py::arg("name") = "")
      .def(py::init(&make), py::arg("name"), py::arg("data"), py::arg("type") = PluginFieldType::kUNKNOWN)
      .def_readwrite("name", &HostField::name)
      .def_property("data", &dataOf, &setData)
      .def_property(
          "type", [](const HostField& self) { return self.type; }, &setType)
      .def_property(
          "size", [](const HostField& self) { return self.size; }, &setSize);
  py::bind_vector<HostFields>(module, "PluginFieldCollection");
  convertible<py::iterable, HostFields>();
  py::class_<FieldView>(module, "PluginFieldCollection_")
      .def(py::init([](const HostFields& fields) { return FieldView{fields}; }))
      .def("__len__", [](const FieldView& self) { return self.fields.size(); })
      .def("__getitem__", [](const FieldView& self, py::ssize_t index) {
        const auto count = static_cast<py::ssize_t>(self.fields.size());
        if (index < 0) index += count;
        if (index < 0 || index >= count) throw py::index_error("field index out of range");
        return self.fields[static_cast<size_t>(index)];
      });
  convertible<HostFields, FieldView>();
  convertible<py::list, FieldView>();
}

}  // namespace tenon::python
