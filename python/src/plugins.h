// SPDX-License-Identifier: Apache-2.0
// What the files about plugins share: fields, expressions of extents, and who owns a plugin that is written in Python.
#pragma once

#include <impl/NvInferPythonPlugin.h>
#include <pybind11/stl.h>
#include <pybind11/stl_bind.h>

#include <optional>

#include "module.h"

namespace tenon::python {

// A field as Python has it: with its name, and with what keeps its data.
struct HostField {
  std::string name;
  py::object owner;  // a memoryview, or bytes; null for no data
  const void* data = nullptr;
  nvinfer1::PluginFieldType type = nvinfer1::PluginFieldType::kUNKNOWN;
  int32_t size = 0;  // elements; bytes where the type is UNKNOWN
};
using HostFields = std::vector<HostField>;

// PluginFieldCollection_: fields that only the library changes.
struct FieldView {
  HostFields fields;
};

}  // namespace tenon::python

PYBIND11_MAKE_OPAQUE(tenon::python::HostFields)

namespace tenon::python {

// Fields as the library reads them, valid until the next set(). Made, set and destroyed with the lock held.
class FieldList {
 public:
  FieldList() = default;
  explicit FieldList(HostFields fields) { set(std::move(fields)); }
  FieldList(const FieldList&) = delete;
  FieldList& operator=(const FieldList&) = delete;
  void set(HostFields fields);
  const nvinfer1::PluginFieldCollection* native() const { return &collection_; }
  const HostFields& fields() const { return fields_; }

 private:
  HostFields fields_;
  std::vector<nvinfer1::PluginField> natives_;
  nvinfer1::PluginFieldCollection collection_{};
};

// A list in Python or a collection, as a function of Python's returned it.
HostFields fieldsFrom(const py::object& answer);
// A copy, for the library's own is gone after the call.
HostFields copyOf(const nvinfer1::PluginFieldCollection* collection);

// Expressions are the library's, and live for one question. What Python keeps of them longer refuses to be used.
struct Question {
  bool isOpen = true;
};

struct Expr {
  const nvinfer1::IDimensionExpr* expression = nullptr;
  std::shared_ptr<Question> question;
  const nvinfer1::IDimensionExpr& get() const;
};

struct ExprShape {
  std::vector<Expr> extents;
};

struct ExprBuilder {
  nvinfer1::IExprBuilder* builder = nullptr;
  std::shared_ptr<Question> question;
  nvinfer1::IExprBuilder& get() const;
};

// One question of the library about shapes, as Python sees it.
class ExprScope {
 public:
  explicit ExprScope(nvinfer1::IExprBuilder& builder) : builder_(builder) {}
  ~ExprScope() { question_->isOpen = false; }
  ExprScope(const ExprScope&) = delete;
  ExprScope& operator=(const ExprScope&) = delete;
  py::list shapes(const nvinfer1::DimsExprs* shapes, int32_t count) const;
  ExprBuilder builder() const { return {&builder_, question_}; }

 private:
  nvinfer1::IExprBuilder& builder_;
  std::shared_ptr<Question> question_ = std::make_shared<Question>();
};

nvinfer1::DimsExprs nativeShape(const py::handle& shape);
// The items of a list that a function of Python's returned; ValueError unless there are `count`.
std::vector<py::object> itemsOf(const py::object& answer, int32_t count, const char* function);

// Copies of the library's array.
template <class T>
py::list listOf(const T* items, int32_t count) {
  py::list list;
  for (int32_t i = 0; i < count; ++i) list.append(py::cast(items[i]));
  return list;
}

inline py::list addressesOf(const void* const* addresses, size_t count) {
  py::list list;
  for (size_t i = 0; i < count; ++i) list.append(numberOf(addresses[i]));
  return list;
}

// What the library takes for "it failed", where a function of Python's raised.
constexpr int32_t kFailed = -1;

// None stands for success.
inline int32_t statusOf(const py::object& answer) { return answer.is_none() ? 0 : answer.cast<int32_t>(); }

// A text that Python sets before the library asks, so that no question for it needs the interpreter's lock.
class Text {
 public:
  explicit Text(const char* name, std::optional<std::string> value = {}) : name_(name), value_(std::move(value)) {}
  void set(std::string value) { value_ = std::move(value); }
  const char* get() const noexcept {
    if (value_) return value_->c_str();
    return fromLibrary<const char*>(
        name_, "", [&]() -> const char* { throw py::attribute_error(std::string(name_) + " is not set"); });
  }
  const char* orNull() const noexcept { return value_ ? value_->c_str() : nullptr; }

 private:
  const char* name_;
  std::optional<std::string> value_;
};

// A property that the library reads and that classes in Python set. Objects of C++ have what their code says.
template <class T, class Written, class Class, class Getter, class Member>
void defineSetting(Class& type, const char* name, Getter getter, Member member) {
  type.def_property(
      name, [getter](T& self) { return getter(self); },
      [name, member](T& self, const py::object& value) {
        auto* const written = dynamic_cast<Written*>(&self);
        if (!written) throw py::attribute_error(std::string(name) + " of an object that C++ made cannot be set");
        auto& target = written->*member;
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(target)>, Text>) {
          target.set(value.cast<std::string>());
        } else if constexpr (std::is_same_v<std::remove_reference_t<decltype(target)>, FieldList>) {
          target.set(fieldsFrom(value));
        } else {
          target = value.cast<std::remove_reference_t<decltype(target)>>();
        }
      });
}

// Objects that Python made: deleted as they are, with the lock held.
template <class T>
struct DeleteKept {
  void operator()(T* object) const { delete object; }
};
template <class T>
using Kept = std::unique_ptr<T, DeleteKept<T>>;

template <class T>
struct DestroyPlugin {
  void operator()(T* object) const { object->destroy(); }
};
template <class T>
using Destroyed = std::unique_ptr<T, DestroyPlugin<T>>;

// Who a plugin is: of the two kinds of cores.
template <class Base>
class PythonCore : public Base {
 public:
  nvinfer1::APILanguage getAPILanguage() const noexcept override { return nvinfer1::APILanguage::kPYTHON; }
  const char* getPluginName() const noexcept override { return name.get(); }
  const char* getPluginVersion() const noexcept override { return version.get(); }
  const char* getPluginNamespace() const noexcept override { return space.get(); }
  Text name{"plugin_name"}, version{"plugin_version"}, space{"plugin_namespace", ""};
};

template <class T, class Trampoline>
void declareCore(py::module_& module, const char* name) {
  py::class_<T, nvinfer1::IPluginCapability, Kept<T>, Trampoline> type(module, name);
  type.def(py::init<>()).def(py::init([](const T&) { return new Trampoline; }));
  defineSetting<T, Trampoline>(
      type, "plugin_name", [](T& self) { return textOf(self.getPluginName()); }, &Trampoline::name);
  defineSetting<T, Trampoline>(
      type, "plugin_version", [](T& self) { return textOf(self.getPluginVersion()); }, &Trampoline::version);
  defineSetting<T, Trampoline>(
      type, "plugin_namespace", [](T& self) { return textOf(self.getPluginNamespace()); }, &Trampoline::space);
}

// What is thrown where a function is called that classes in Python define.
template <class T>
py::type_error undefined(T& self, const char* name) {
  const std::string type = py::cast<std::string>(py::type::handle_of(handleOf(self)).attr("__name__"));
  return py::type_error(type + " does not define " + name + "(); only the library calls it on plugins of C++");
}

template <size_t, class T>
using Each = T;

// A function that classes in Python define: here for its signature, and to say what is missing.
template <class T, class Class, class... Arguments>
void mustDefine(Class& type, const char* name, const Arguments&... arguments) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    type.def(
        name, [name](T& self, const Each<I, py::object>&...) -> py::object { throw undefined(self, name); },
        arguments...);
  }
  (std::index_sequence_for<Arguments...>{});
}

// The library's own object for a plugin that a function of Python's returned: what it gets from clone(), a creator, or
// attach_to_context(). It keeps the object of Python's, and is deleted or destroyed by the library.
nvinfer1::IPluginV3* heldV3(const py::object& plugin, const char* function);
nvinfer1::IPluginV2* heldV2(const py::object& plugin, const char* function);
// The object in Python for a plugin of the library's: the one behind it, where it was written in Python.
py::object pluginObject(nvinfer1::IPluginV3* plugin, py::return_value_policy policy);
py::object pluginObject(nvinfer1::IPluginV2* plugin, py::return_value_policy policy);

}  // namespace tenon::python
