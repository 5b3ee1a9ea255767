// IAssertionLayer: a condition on shapes, checked while building where it is known by then, else when shapes are bound.
#include "api/network/lower_context.h"
#include "ops/op/require.h"

namespace tenon::api {
namespace {

class AssertionLayer final : public LayerOf<nv::IAssertionLayer, nv::apiv::VAssertionLayer, nv::LayerType::kASSERTION> {
 public:
  using LayerOf::LayerOf;

  void setMessage(const char* message) noexcept override {
    guarded(reporter(), "IAssertionLayer::setMessage", [&] {
      checkUser(message != nullptr, "layer '{}': the message is null", name());
      message_ = message;
      changed();
    });
  }
  const char* getMessage() const noexcept override { return message_.c_str(); }
  int outputCount() const override { return 0; }
  bool isShapeInput(int index) const override { return index == 0; }

  // The shape program keeps what the condition becomes; nothing reads the node.
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId condition = context.input(0);
    context.check(context.type(condition).dtype == DataType::kBool, "the condition has type {}; expected bool",
                  tenon::name(context.type(condition).dtype));
    const auto elements = context.contents(0, "condition");
    const ops::Require require{message_};
    HostTensor known(DataType::kBool, {static_cast<int64_t>(elements.size())});
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool holds = !elements[i].isConstant() || elements[i].constant() != 0;
      known.view().storeInt(static_cast<int64_t>(i), holds ? 1 : 0);
    }
    try {
      require.check(known.view());
    } catch (const UserError& error) {
      context.fail("{}", error.what());
    }
    if (!isConstant(elements)) (void)context.elements(context.add(require, {condition}));
    return {};
  }

 private:
  std::string message_;
};

}  // namespace

LayerInfo layerInfo_assertion() { return describeLayer<AssertionLayer>(); }

}  // namespace tenon::api
