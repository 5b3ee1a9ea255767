// The class that the boundary layers of loops and of conditionals derive from.
#pragma once

#include <string>
#include <utility>

#include "api/network/construct.h"
#include "api/network/lower_context.h"

namespace tenon::api {

// `I` is the public class of the layer, `V` its table, `B` the table of the boundaries of `Owner`, ILoop or
// IIfConditional.
template <typename Owner, typename B, typename I, typename V, nv::LayerType kLayerType, BoundaryRole kRole>
class BoundaryLayer : public I, public LayerBase, public B, public V {
 public:
  static constexpr nv::LayerType kType = kLayerType;
  BoundaryLayer(Network& network, std::string name, Construct& construct, Owner& owner)
      : LayerBase(network, kType, std::move(name)), owner_(owner), construct_(construct) {
    this->mLayer = static_cast<nv::apiv::VLayer*>(this);
    this->mBoundary = static_cast<B*>(this);
    this->mImpl = static_cast<V*>(this);
  }
  nv::ILayer& interface() noexcept final { return *this; }
  const Construct* construct() const noexcept final { return &construct_; }
  BoundaryRole role() const noexcept final { return kRole; }

 protected:
  Owner& owner_;

 private:
  Construct& construct_;
};

}  // namespace tenon::api
