// Optimizers of training against their formulas, for two tensors at once.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

constexpr double kRate = 0.1;
constexpr size_t kSizes[] = {3, 2};

struct Step {
  const char* type;
  size_t kinds;  // tensors for each one that is trained, itself and its gradient included
};

// Rate, step, then all tensors of each kind; inputs in that order. The step is cast from a real input.
pb::NodeProto& optimizerNode(ModelMaker& maker, const Step& step) {
  maker.proto().mutable_opset_import(0)->set_domain("");
  auto* import = maker.proto().add_opset_import();
  import->set_domain("ai.onnx.preview.training");
  import->set_version(1);
  maker.input("rate", {});
  maker.input("real_step", {});
  ModelMaker::set(maker.node("Cast", {"real_step"}, {"step"}), "to", int64_t{7});
  std::vector<std::string> inputs{"rate", "step"}, outputs;
  for (size_t kind = 0; kind < step.kinds; ++kind) {
    for (size_t i = 0; i < 2; ++i) {
      inputs.push_back("in" + std::to_string(kind) + std::to_string(i));
      maker.input(inputs.back(), {static_cast<int64_t>(kSizes[i])});
      if (kind == 1) continue;
      outputs.push_back("out" + std::to_string(kind) + std::to_string(i));
      maker.output(outputs.back());
    }
  }
  auto& node = maker.node(step.type, inputs, outputs, "optimizer");
  node.set_domain("ai.onnx.preview.training");
  return node;
}

std::vector<Reals> inputsOf(const Step& step, float number) {
  std::vector<Reals> inputs{{static_cast<float>(kRate)}, {number}};
  for (size_t kind = 0; kind < step.kinds; ++kind) {
    for (size_t i = 0; i < 2; ++i)
      inputs.push_back(randomReals(kSizes[i], static_cast<unsigned>(kind * 2 + i + 1), kind < 2 ? -2 : 0.5F, 3));
  }
  return inputs;
}

// `formula(values)`: what one element of each kind becomes, without that of the gradient.
template <typename Formula>
void expectUpdates(const ModelMaker& maker, const Step& step, float number, const Formula& formula) {
  const auto inputs = inputsOf(step, number);
  const auto outputs = runModel(maker, inputs);
  ASSERT_EQ(outputs.size(), 2 * (step.kinds - 1));
  for (size_t i = 0; i < 2; ++i) {
    for (size_t at = 0; at < kSizes[i]; ++at) {
      std::vector<double> values;
      for (size_t kind = 0; kind < step.kinds; ++kind) values.push_back(inputs[2 + kind * 2 + i][at]);
      const std::vector<double> expected = formula(values);
      for (size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR(outputs[k * 2 + i][at], expected[k], 1e-4) << step.type << " step " << number << " result " << k;
    }
  }
}

TEST(Training, Adagrad) {
  const Step step{"Adagrad", 3};
  ModelMaker maker;
  auto& node = optimizerNode(maker, step);
  ModelMaker::set(node, "norm_coefficient", 0.3F);
  ModelMaker::set(node, "decay_factor", 0.2F);
  ModelMaker::set(node, "epsilon", 0.01F);
  for (const float number : {0.0F, 3.0F}) {
    expectUpdates(maker, step, number, [&](const std::vector<double>& v) {
      const double g = 0.3 * v[0] + v[1], h = v[2] + g * g;
      return std::vector<double>{v[0] - kRate / (1 + 0.2 * number) * g / (std::sqrt(h) + 0.01), h};
    });
  }
}

TEST(Training, Adam) {
  const Step step{"Adam", 4};
  ModelMaker maker;
  auto& node = optimizerNode(maker, step);
  ModelMaker::set(node, "alpha", 0.8F);
  ModelMaker::set(node, "beta", 0.9F);
  ModelMaker::set(node, "norm_coefficient", 0.3F);
  ModelMaker::set(node, "norm_coefficient_post", 0.1F);
  for (const float number : {0.0F, 3.0F}) {
    const double n = number;
    const double rate = n > 0 ? kRate * std::sqrt(1 - std::pow(0.9, n)) / (1 - std::pow(0.8, n)) : kRate;
    expectUpdates(maker, step, number, [&](const std::vector<double>& v) {
      const double g = 0.3 * v[0] + v[1], average = 0.8 * v[2] + 0.2 * g, h = 0.9 * v[3] + 0.1 * g * g;
      return std::vector<double>{0.9 * (v[0] - rate * average / (std::sqrt(h) + 1e-6)), average, h};
    });
  }
}

TEST(Training, MomentumPlainAndOfNesterov) {
  const Step step{"Momentum", 3};
  for (const char* mode : {"standard", "nesterov"}) {
    ModelMaker maker;
    auto& node = optimizerNode(maker, step);
    ModelMaker::set(node, "alpha", 0.8F);
    ModelMaker::set(node, "beta", 0.6F);
    ModelMaker::set(node, "norm_coefficient", 0.3F);
    ModelMaker::set(node, "mode", std::string(mode));
    for (const float number : {0.0F, 3.0F}) {
      expectUpdates(maker, step, number, [&](const std::vector<double>& v) {
        const double g = 0.3 * v[0] + v[1], next = 0.8 * v[2] + (number > 0 ? 0.6 : 1) * g;
        return std::vector<double>{v[0] - kRate * (std::string(mode) == "nesterov" ? g + 0.8 * next : next), next};
      });
    }
  }
}

TEST(Training, RefusalsNameWhatIsMissing) {
  ModelMaker maker;
  auto& node = optimizerNode(maker, {"Momentum", 3});
  EXPECT_NE(refusal(maker).find("the attribute alpha is missing"), std::string::npos) << refusal(maker);
  ModelMaker::set(node, "alpha", 0.8F);
  ModelMaker::set(node, "beta", 0.6F);
  EXPECT_NE(refusal(maker).find("mode = ''; expected standard, nesterov"), std::string::npos) << refusal(maker);
  node.mutable_input()->RemoveLast();
  EXPECT_NE(refusal(maker).find("7 inputs; expected the rate, the step and 3 for each tensor"), std::string::npos)
      << refusal(maker);
}

}  // namespace
}  // namespace tenon::parsers::onnx
