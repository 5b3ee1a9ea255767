// What the tests of standard plugins share: plugins made by their creators, run within a network and by hand.
#pragma once

#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operands.h"

namespace tenon::test {

namespace nv = nvinfer1;

class Log final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  std::string take() { return std::exchange(errors, {}); }
  std::string errors;
};
Log& log();  // of the process; registers the plugins when it is first asked for

// Fields with the memory that they point to.
class FieldList {
 public:
  FieldList& ints(const char* name, std::vector<int32_t> values);
  FieldList& reals(const char* name, std::vector<float> values);
  FieldList& text(const char* name, const char* value);
  // Of the kind whose type the creator does not say.
  FieldList& unknownInt(const char* name, int32_t value);
  nv::PluginFieldCollection get();

 private:
  std::deque<std::vector<int32_t>> ints_;
  std::deque<std::vector<float>> reals_;
  std::vector<nv::PluginField> list_;
};

struct DestroyOld {
  void operator()(nv::IPluginV2* plugin) const { plugin->destroy(); }
};
// One of the two, or none where the creator refused.
struct Plugin {
  std::unique_ptr<nv::IPluginV2, DestroyOld> old;
  std::unique_ptr<nv::IPluginV3> current;
  explicit operator bool() const { return old != nullptr || current != nullptr; }
};
Plugin make(const char* name, const char* version, FieldList& fields);
// As it comes back from what it wrote into a plan.
Plugin restored(const char* name, const char* version, Plugin& plugin);

enum class Extents { kFixed, kDynamic };
// The outputs of a network with the plugin alone.
Arrays runInNetwork(Plugin& plugin, const Arrays& inputs, Extents extents = Extents::kFixed);
// The engine's layers as its inspector shows them, where the network has the plugin between other layers.
std::string layersOfEngine(Plugin& plugin, const Arrays& inputs);
// The outputs of a strongly typed network whose floating inputs are FP16.
Arrays runInHalf(Plugin& plugin, const Arrays& inputs);
// The outputs of enqueue() as a program calls it, with the shapes and types that the plugin itself names.
Arrays runByHand(Plugin& plugin, const Arrays& inputs);

// Runs the plugin both ways, restored too, and with extents that vary where `extents` says so; the first outputs, which
// all others must equal.
Arrays runAllWays(const char* name, const char* version, FieldList fields, const Arrays& inputs,
                  Extents extents = Extents::kFixed);

void expectNear(const Array& got, const std::vector<int64_t>& dims, const std::vector<double>& expected,
                double tolerance, const std::string& what);

}  // namespace tenon::test
