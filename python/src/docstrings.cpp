// SPDX-License-Identifier: Apache-2.0
// Puts texts behind the signatures that pybind11 wrote. They come from one table, whoever defined the member.
#include "docstrings.h"

#include <cstdlib>
#include <cstring>

#include "module.h"

namespace tenon::python {

namespace {

// pybind11 keeps the docstring of a function in memory of malloc, and replaces it whenever an overload is added, as
// here.
void append(py::handle function, const char* text) {
  const py::handle inner = py::detail::get_function(function);
  if (!inner || PyCFunction_Check(inner.ptr()) == 0) return;
  PyMethodDef* const definition = reinterpret_cast<PyCFunctionObject*>(inner.ptr())->m_ml;
  const std::string whole = std::string(definition->ml_doc ? definition->ml_doc : "") + "\n" + text + "\n";
  std::free(const_cast<char*>(definition->ml_doc));
  definition->ml_doc = strdup(whole.c_str());
}

}  // namespace

void defineDocstrings(py::module_& module) {
  std::string name;
  py::object owner;
  py::dict members;
  for (size_t i = 0; i < kDocRowCount; ++i) {
    const DocRow& row = kDocRows[i];
    if (name != row.owner) {
      name = row.owner;
      // Of the module itself where there is no name; some classes are in the package around it.
      owner = *row.owner == '\0' ? py::object(module) : py::getattr(module, row.owner, py::none());
      members = owner.is_none() ? py::dict() : py::dict(owner.attr("__dict__"));
    }
    if (owner.is_none()) continue;
    if (*row.member == '\0') {
      owner.attr("__doc__") = row.text;
      continue;
    }
    if (!members.contains(row.member)) continue;
    py::object member = members[row.member];
    if (Py_TYPE(member.ptr()) == &PyStaticMethod_Type) member = member.attr("__func__");
    if (Py_TYPE(member.ptr()) == &PyProperty_Type) {  // not of the class itself: those cannot be written
      member.attr("__doc__") = row.text;
    } else {
      append(member, row.text);
    }
  }
}

}  // namespace tenon::python
