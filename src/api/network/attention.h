// IAttention: an object beside the layers, of which two stand for it in the network, one for its inputs and one for its
// result.
#pragma once

#include <memory>

#include "api/network/layer.h"

namespace tenon::api {

// What the network keeps of an attention until it goes.
class AttentionObject {
 public:
  virtual ~AttentionObject() = default;
};

// The layers are made and owned by the network, which gives them to the object by these two functions.
struct MadeAttention {
  std::unique_ptr<AttentionObject> object;
  nv::IAttention* interface = nullptr;
  std::unique_ptr<LayerBase> input;
  std::unique_ptr<LayerBase> output;
};

// `inputName` and `outputName` are those of the two layers. The tensors are connected by the caller, to both layers.
MadeAttention makeAttention(Network& network, std::string name, std::string inputName, std::string outputName,
                            nv::AttentionNormalizationOp normalization, bool causal);

}  // namespace tenon::api
