// Loops and conditionals: what holds their boundary layers together. The layers within are not listed anywhere: they
// follow from the flow of data (api/network/membership.h).
#pragma once

#include <string>
#include <vector>

#include "api/network/layer.h"

namespace tenon::api {

// What a boundary layer is to its construct.
enum class BoundaryRole : uint8_t {
  kSource,  // brings a value in: recurrences, iterators, inputs of conditionals
  kSink,    // takes a value out: outputs
  kLimit    // says how often, or which branch
};

class Construct {
 public:
  Construct(Network& network, std::string name) : network_(network), name_(std::move(name)) {}
  virtual ~Construct() = default;
  Construct(const Construct&) = delete;
  Construct& operator=(const Construct&) = delete;

  virtual bool isLoop() const noexcept = 0;
  const std::string& name() const noexcept { return name_; }
  void rename(const char* name);  // UserError for null
  // In the order in which they were added.
  const std::vector<LayerBase*>& layers() const noexcept { return layers_; }
  void add(LayerBase& layer) { layers_.push_back(&layer); }
  void drop(const LayerBase& layer) { std::erase(layers_, &layer); }

 protected:
  Network& network_;

 private:
  std::string name_;
  std::vector<LayerBase*> layers_;
};

std::unique_ptr<Construct> makeLoop(Network& network, std::string name, nv::ILoop*& loop);
std::unique_ptr<Construct> makeConditional(Network& network, std::string name, nv::IIfConditional*& conditional);

// What the lowering of loops asks of the boundary layers.
struct LoopSlices {
  int32_t axis = 0;
  bool reverse = false;
};
LoopSlices slicesOf(const LayerBase& iterator);
LoopSlices stacksOf(const LayerBase& loopOutput);
bool givesLastValue(const LayerBase& loopOutput);
bool countsIterations(const LayerBase& tripLimit);

}  // namespace tenon::api
