// Ownership and lazy evaluation of constants.
#include "graph/constant.h"

#include "graph/bad_constant.h"
#include "ops/check.h"
#include "ops/fraction.h"
#include "ops/shape_arithmetic.h"

namespace tenon::graph {

ConstantPtr Constant::own(HostTensor tensor, std::string weights) {
  auto constant = std::shared_ptr<Constant>(new Constant());
  constant->dtype_ = tensor.view().dtype;
  constant->dims_ = tensor.view().dims;
  constant->weights_ = std::move(weights);
  constant->owned_ = std::make_shared<const HostTensor>(std::move(tensor));
  constant->data_ = constant->owned_->view().data;
  return constant;
}

ConstantPtr Constant::borrow(const TensorView& view, std::string weights) {
  auto constant = std::shared_ptr<Constant>(new Constant());
  constant->dtype_ = view.dtype;
  constant->dims_ = view.dims;
  constant->weights_ = std::move(weights);
  constant->data_ = view.data;
  return constant;
}

ConstantPtr Constant::scalar(DataType dtype, double value) {
  HostTensor tensor(dtype, {});
  tensor.view().storeDouble(0, value);
  return own(std::move(tensor));
}

ConstantPtr Constant::ofInts(const std::vector<int64_t>& values) {
  HostTensor tensor(DataType::kI64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.view().storeInt(static_cast<int64_t>(i), values[i]);
  return own(std::move(tensor));
}

ConstantPtr Constant::recipe(ops::Operator op, std::vector<ConstantPtr> sources, int output) {
  std::vector<ops::TensorType> types;
  for (const auto& source : sources) {
    types.push_back(source->type());
  }
  const auto outputs = op.infer("constant", types);
  const auto& type = outputs.at(static_cast<size_t>(output));
  auto constant = std::shared_ptr<Constant>(new Constant());
  constant->dtype_ = type.dtype;
  constant->dims_ = evaluate(type.shape, {});
  constant->op_ = std::make_unique<const ops::Operator>(std::move(op));
  constant->sources_ = std::move(sources);
  constant->output_ = output;
  return constant;
}

ops::TensorType Constant::type() const {
  ops::TensorType type{dtype_, toShape(dims_), std::nullopt};
  if (!isFloating(dtype_) && dims_.rank <= 1 && count() <= ops::kMaxContents) {
    const auto values = view();
    type.contents.emplace();
    for (int64_t i = 0; i < count(); ++i) type.contents->push_back(values.loadInt(i));
  }
  if (dtype_ == DataType::kF32 && op_ == nullptr && dims_.rank <= 1 && count() <= ops::kMaxFractions) {
    const auto values = view();
    type.contents.emplace();
    for (int64_t i = 0; i < count(); ++i) {
      const auto fraction = ops::fractionOf(values.loadDouble(i));
      if (!fraction) {
        type.contents.reset();
        break;
      }
      type.contents->push_back(ops::toContents(*fraction));
    }
  }
  return type;
}

TensorView Constant::view() const {
  const std::lock_guard lock(mutex_);
  if (data_ == nullptr && op_ != nullptr) {
    std::vector<TensorView> inputs;
    std::vector<ops::TensorType> types;
    for (const auto& source : sources_) {
      inputs.push_back(source->view());
      types.push_back(source->type());
    }
    std::vector<HostTensor> tensors;
    std::vector<TensorView> outputs;
    for (const auto& type : op_->infer("constant", types)) {
      tensors.emplace_back(type.dtype, evaluate(type.shape, {}));
      outputs.push_back(tensors.back().view());
    }
    const SymbolValues none;
    try {
      ops::evaluateWhatIsThere(*op_, {inputs, outputs, &none});
    } catch (const UserError& error) {
      throw BadConstant("{} of constants cannot be evaluated: {}", op_->text(), error.what());
    }
    owned_ = std::make_shared<const HostTensor>(std::move(tensors.at(static_cast<size_t>(output_))));
    data_ = owned_->view().data;
  }
  return {const_cast<void*>(data_), dtype_, dims_};
}

std::shared_ptr<const void> Constant::share() const {
  const void* const data = view().data;
  return {owned_, data};  // computed once and not changed from then on
}

}  // namespace tenon::graph
