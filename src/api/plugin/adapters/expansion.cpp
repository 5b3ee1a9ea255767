// The writer that plugins expand into: operators are parsed from their text and added as the layer's nodes.
#include "api/plugin/adapters/expansion.h"

#include <cstring>
#include <deque>

#include "core/text.h"

namespace tenon::api {
namespace {

class Writer final : public ExpansionWriter {
 public:
  Writer(LowerContext& context, int outputs) : context_(context), outputs_(static_cast<size_t>(outputs), graph::kNone) {
    for (size_t i = 0; i < context.inputCount(); ++i) values_.push_back(context.input(i));
    std::vector<graph::ValueId*> floating;
    for (auto& value : values_) {
      if (isFloating(context.type(value).dtype)) floating.push_back(&value);
    }
    context.unify(floating);
    inputs_ = static_cast<int32_t>(values_.size());
  }

  int32_t inputCount() const noexcept override { return inputs_; }
  nv::DataType type(int32_t value) const noexcept override {
    return isKnown(value) ? api::toApi(context_.type(at(value)).dtype) : nv::DataType::kFLOAT;
  }
  int32_t rank(int32_t value) const noexcept override { return isKnown(value) ? context_.rank(at(value)) : -1; }

  const char* extent(int32_t value, int32_t axis) noexcept override {
    return orFail<const char*>("0", [&] {
      context_.check(isKnown(value) && axis >= 0 && axis < context_.rank(at(value)), "extent of axis {} of value {}",
                     axis, value);
      return texts_.emplace_back(context_.shape(at(value))[static_cast<size_t>(axis)].text()).c_str();
    });
  }

  int32_t add(const char* op, const int32_t* inputs, int32_t count) noexcept override {
    return orFail(-1, [&] {
      std::vector<graph::ValueId> operands;
      for (int32_t i = 0; i < count; ++i) {
        context_.check(isKnown(inputs[i]), "{} of value {}", op, inputs[i]);
        operands.push_back(at(inputs[i]));
      }
      return keep(context_.addMany(ops::Operator::parse(op), std::move(operands)));
    });
  }

  int32_t constant(nv::DataType type, const nv::Dims& dims, const void* elements) noexcept override {
    return orFail(-1, [&] {
      HostTensor tensor(fromApi(type), fromApi(dims, "constant", 0));
      if (tensor.view().bytes() != 0) std::memcpy(tensor.view().data, elements, tensor.view().bytes());
      return keep({context_.constant(graph::Constant::own(std::move(tensor)))});
    });
  }

  void output(int32_t index, int32_t value) noexcept override {
    orFail(0, [&] {
      context_.check(index >= 0 && static_cast<size_t>(index) < outputs_.size() && isKnown(value),
                     "output {} is value {}", index, value);
      outputs_[static_cast<size_t>(index)] = at(value);
      return 0;
    });
  }

  void fail(const char* message) noexcept override {
    orFail(0, [&]() -> int { context_.fail("{}", message); });
  }

  std::vector<graph::ValueId> take() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      context_.check(outputs_[i] != graph::kNone, "the plugin did not write output {}", i);
    }
    return std::move(outputs_);
  }

 private:
  bool isKnown(int32_t value) const noexcept { return value >= 0 && static_cast<size_t>(value) < values_.size(); }
  graph::ValueId at(int32_t value) const noexcept { return values_[static_cast<size_t>(value)]; }
  int32_t keep(const std::vector<graph::ValueId>& made) {
    values_.insert(values_.end(), made.begin(), made.end());
    return static_cast<int32_t>(values_.size() - made.size());
  }
  template <typename R, typename Body>
  R orFail(R fallback, Body&& body) noexcept {
    if (error_ != nullptr) return fallback;
    try {
      return body();
    } catch (...) {
      error_ = std::current_exception();
      return fallback;
    }
  }

  LowerContext& context_;
  std::vector<graph::ValueId> values_;
  std::vector<graph::ValueId> outputs_;
  std::deque<std::string> texts_;
  std::exception_ptr error_;
  int32_t inputs_ = 0;
};

}  // namespace

ExpansionFinder& expansionFinder() noexcept {
  static ExpansionFinder finder = nullptr;
  return finder;
}

const PluginExpansion* expansionOf(PluginAdapter& adapter) {
  if (expansionFinder() == nullptr) return nullptr;
  const nv::IPluginV3* const v3 = adapter.object();
  const void* const object = v3 != nullptr ? static_cast<const void*>(v3) : &pluginV2(adapter);
  return expansionFinder()(object);
}

std::vector<graph::ValueId> writeExpansion(const PluginExpansion& expansion, const PluginAdapter& adapter,
                                           LowerContext& context, int outputs) {
  try {
    Writer writer(context, outputs);
    expansion.expand(writer);
    return writer.take();
  } catch (const UserError& error) {
    throw UserError("{}: {}", adapter.identity().text(), error.what());
  }
}

}  // namespace tenon::api
