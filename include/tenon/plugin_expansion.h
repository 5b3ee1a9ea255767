// How a plugin says what it computes, in operators, so that a build of Tenon puts these in its place: they are fused,
// tuned and computed in half precision like every other layer, and the engine holds no plugin. Abstract classes of
// plain types alone, so that a plugin library may be compiled apart. Functions are added at the end of a class only.
#pragma once

#include "NvInferRuntime.h"

namespace tenon {

//! What a plugin writes itself into. Values have numbers: the inputs of its layer from 0 on, then what add() and
//! constant() give. After the first failure every call gives -1, and the caller of the plugin reports what failed.
class ExpansionWriter {
 public:
  virtual int32_t inputCount() const noexcept = 0;
  virtual nvinfer1::DataType type(int32_t value) const noexcept = 0;
  virtual int32_t rank(int32_t value) const noexcept = 0;
  //! The text of an extent: a number, or an expression over the extents of the network's inputs. It can stand wherever
  //! operators take an extent. Valid as long as the writer.
  virtual const char* extent(int32_t value, int32_t axis) noexcept = 0;
  //! An operator in its text form, such as reshape{shape=[2,3]}; gives the number of its first output, the others
  //! follow.
  virtual int32_t add(const char* op, const int32_t* inputs, int32_t count) noexcept = 0;
  //! A tensor, which is copied.
  virtual int32_t constant(nvinfer1::DataType type, const nvinfer1::Dims& dims, const void* elements) noexcept = 0;
  //! Output `index` of the plugin.
  virtual void output(int32_t index, int32_t value) noexcept = 0;
  //! Ends the expansion with a reason.
  virtual void fail(const char* message) noexcept = 0;

 protected:
  ~ExpansionWriter() = default;
};

//! What a plugin object can do beside its public interface.
class PluginExpansion {
 public:
  //! Writes the plugin; thread-safe. The builder calls it whenever it asks for types and shapes, too.
  virtual void expand(ExpansionWriter& writer) const noexcept = 0;

 protected:
  ~PluginExpansion() = default;
};

//! Of the plugin objects of one library, those that can be expanded. The library gives one to
//! IPluginRegistry::acquirePluginResource() under a key of its own.
class PluginExpansions : public nvinfer1::IPluginResource {
 public:
  static constexpr const char* kKind = "TENON_PLUGIN_EXPANSIONS";
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return {kKind, 1, 0}; }
  //! Of the object with the address of its IPluginV2 or IPluginV3; null where it is none of the library's. Thread-safe.
  virtual const PluginExpansion* find(const void* plugin) const noexcept = 0;
};

}  // namespace tenon
