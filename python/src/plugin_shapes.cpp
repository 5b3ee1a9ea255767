// SPDX-License-Identifier: Apache-2.0
// Descriptions of a plugin's tensors, and expressions over extents.
#include "plugins.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

void expectOpen(bool exists, const std::shared_ptr<Question>& question, const char* what) {
  if (!exists || !question) throw py::value_error(std::string(what) + " has no expression behind it");
  if (!question->isOpen) {
    throw py::value_error(std::string(what) + " is used after the function that it was given to has returned");
  }
}

Expr operation(const ExprBuilder& self, DimensionOperation operation, const Expr& first, const Expr& second) {
  return {self.get().operation(operation, first.get(), second.get()), self.question};
}

size_t placeOf(const ExprShape& shape, py::ssize_t index) {
  const auto count = static_cast<py::ssize_t>(shape.extents.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw py::index_error("extent index out of range");
  return static_cast<size_t>(index);
}

ExprShape shapeOfRank(int64_t rank) {
  if (rank < 0 || rank > Dims::MAX_DIMS)
    throw py::value_error("a shape of " + std::to_string(rank) + " extents; expected 0 to 8");
  return {std::vector<Expr>(static_cast<size_t>(rank))};
}

void declareExpressions(py::module_& module) {
  py::class_<Expr>(module, "IDimensionExpr")
      .def("is_constant", [](const Expr& self) { return self.get().isConstant(); })
      .def("get_constant_value",
           [](const Expr& self) {
             if (!self.get().isConstant())
               throw py::value_error("the expression is not constant; is_constant() says so");
             return self.get().getConstantValue();
           })
      .def("is_size_tensor", [](const Expr& self) { return self.get().isSizeTensor(); });
  py::class_<ExprShape>(module, "DimsExprs")
      .def(py::init<>())
      .def(py::init<const ExprShape&>())
      .def(py::init(&shapeOfRank))
      .def(py::init([](const py::sequence& extents) {
        ExprShape shape = shapeOfRank(static_cast<int64_t>(extents.size()));
        for (size_t i = 0; i < shape.extents.size(); ++i) shape.extents[i] = extents[i].cast<Expr>();
        return shape;
      }))
      .def("__len__", [](const ExprShape& self) { return self.extents.size(); })
      .def("__getitem__", [](const ExprShape& self, py::ssize_t index) { return self.extents[placeOf(self, index)]; })
      .def("__setitem__",
           [](ExprShape& self, py::ssize_t index, const Expr& value) { self.extents[placeOf(self, index)] = value; });
  convertible<py::list, ExprShape>();
  convertible<py::tuple, ExprShape>();
  py::class_<ExprBuilder>(module, "IExprBuilder")
      .def(py::init<>())
      .def("constant",
           [](const ExprBuilder& self, int64_t value) {
             return Expr{self.get().constant(value), self.question};
           })
      .def("operation", &operation)
      .def("declare_size_tensor", [](const ExprBuilder& self, int32_t output, const Expr& opt, const Expr& upper) {
        return Expr{self.get().declareSizeTensor(output, opt.get(), upper.get()), self.question};
      });
}

void declareDescriptions(py::module_& module) {
  py::class_<PluginTensorDesc>(module, "PluginTensorDesc")
      .def(py::init([] {
        return PluginTensorDesc{Dims{}, DataType::kFLOAT, TensorFormat::kLINEAR, 0.0F};
      }))
      .def_readwrite("dims", &PluginTensorDesc::dims)
      .def_readwrite("type", &PluginTensorDesc::type)
      .def_readwrite("format", &PluginTensorDesc::format)
      .def_readwrite("scale", &PluginTensorDesc::scale);
  py::class_<DynamicPluginTensorDesc>(module, "DynamicPluginTensorDesc")
      .def(py::init([] {
        return DynamicPluginTensorDesc{{Dims{}, DataType::kFLOAT, TensorFormat::kLINEAR, 0.0F}, {}, {}, {}};
      }))
      .def_readwrite("desc", &DynamicPluginTensorDesc::desc)
      .def_readwrite("min", &DynamicPluginTensorDesc::min)
      .def_readwrite("opt", &DynamicPluginTensorDesc::opt)
      .def_readwrite("max", &DynamicPluginTensorDesc::max);
}

}  // namespace

const IDimensionExpr& Expr::get() const {
  expectOpen(expression != nullptr, question, "the expression of an extent");
  return *expression;
}

IExprBuilder& ExprBuilder::get() const {
  expectOpen(builder != nullptr, question, "the builder of expressions");
  return *builder;
}

py::list ExprScope::shapes(const DimsExprs* shapes, int32_t count) const {
  py::list list;
  for (int32_t i = 0; i < count; ++i) {
    ExprShape shape;
    for (int32_t axis = 0; axis < shapes[i].nbDims; ++axis) shape.extents.push_back({shapes[i].d[axis], question_});
    list.append(py::cast(std::move(shape)));
  }
  return list;
}

DimsExprs nativeShape(const py::handle& object) {
  const auto shape = object.cast<ExprShape>();
  DimsExprs result{};
  result.nbDims = static_cast<int32_t>(shape.extents.size());
  for (size_t i = 0; i < shape.extents.size(); ++i) result.d[i] = &shape.extents[i].get();
  return result;
}

std::vector<py::object> itemsOf(const py::object& answer, int32_t count, const char* function) {
  if (!py::isinstance<py::sequence>(answer) || py::isinstance<py::str>(answer)) {
    throw py::type_error(std::string(function) + "() returned " +
                         py::cast<std::string>(py::type::handle_of(answer).attr("__name__")) + "; expected a list");
  }
  std::vector<py::object> items;
  for (const py::handle item : py::iter(answer)) items.push_back(py::reinterpret_borrow<py::object>(item));
  if (items.size() != static_cast<size_t>(count)) {
    throw py::value_error(std::string(function) + "() returned a list of " + std::to_string(items.size()) +
                          "; expected " + std::to_string(count));
  }
  return items;
}

void declarePluginShapes(py::module_& module) {
  declareDescriptions(module);
  declareExpressions(module);
}

}  // namespace tenon::python
