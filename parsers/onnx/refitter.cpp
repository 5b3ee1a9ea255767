// IParserRefitter: new weights for an engine, by the names of initializers and WeightBytes outputs.
#include "refitter.h"

#include <set>

#include "common/batch_normalization.h"

namespace tenon::parsers::onnx {
namespace {

std::set<std::string> refittableNames(nvinfer1::IRefitter& refitter) {
  const int32_t count = refitter.getAllWeights(0, nullptr);
  std::vector<const char*> names(static_cast<size_t>(std::max(count, 0)), nullptr);
  refitter.getAllWeights(count, names.data());
  std::set<std::string> result;
  for (const char* name : names) {
    if (name != nullptr) {
      result.insert(name);
    }
  }
  return result;
}

}  // namespace

void Refitter::give(const WeightBytes& constant) {
  if (!refitter_.setNamedWeights(constant.name.c_str(), constant.weights())) {
    fail(FaultKind::kRefit, fmt::format("the engine refused weights '{}' of {}{}; they must have the type and the "
                                        "count it was built with",
                                        constant.name, typeName(constant.type), toString(constant.shape)));
  }
}

// Import folded the four constants of the node into two of its own names.
void Refitter::giveNormalization(const pb::NodeProto& node, const Tensors& tensors, TensorLoader& loader) {
  std::vector<const WeightBytes*> constants;
  for (int i = 1; i < 5; ++i) {
    const auto found = tensors.find(node.input(i));
    if (found == tensors.end()) {
      return;
    }
    constants.push_back(&loader.load(*found->second, node.input(i)));
  }
  float epsilon = 1e-5f;
  for (const pb::AttributeProto& attribute : node.attribute()) {
    epsilon = attribute.name() == "epsilon" ? attribute.f() : epsilon;
  }
  const DataType type = refitter_.getWeightsPrototype(factorName(node.output(0)).c_str()).type;
  const FoldedNormalization folded = foldBatchNormalization(store_, *constants[0], *constants[1], *constants[2],
                                                            *constants[3], epsilon, type, node.output(0));
  give(*folded.factor);
  give(*folded.shift);
}

bool Refitter::refit(const pb::ModelProto& model, const char* path) {
  const ExternalFiles files(path);
  TensorLoader loader(store_, files, &source_.supplied());
  const std::set<std::string> wanted = refittableNames(refitter_);
  Tensors tensors;
  for (const pb::TensorProto& tensor : model.graph().initializer()) {
    tensors[tensor.name()] = &tensor;
  }
  for (const pb::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).name() == "value" &&
        node.output_size() == 1) {
      tensors[node.output(0)] = &node.attribute(0).t();
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (wanted.count(name) != 0) {
      give(loader.load(*tensor, name));
    }
  }
  for (const pb::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "BatchNormalization" && node.input_size() == 5 && node.output_size() > 0 &&
        wanted.count(factorName(node.output(0))) != 0) {
      giveNormalization(node, tensors, loader);
    }
  }
  return true;
}

bool Refitter::refitFromBytes(const void* data, size_t size, const char* path) noexcept {
  return source_.useBytes(data, size, path, [&](const auto& model, const char* from) { return refit(model, from); });
}

bool Refitter::refitFromFile(const char* file) noexcept {
  return source_.useFile("refitFromFile", file,
                         [&](const auto& model, const char* from) { return refit(model, from); });
}

bool Refitter::refitModelProto() noexcept {
  return source_.useLoaded("refitModelProto", [&](const auto& model, const char* from) { return refit(model, from); });
}

}  // namespace tenon::parsers::onnx
