// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The roots of the plugin interfaces: fields, capabilities, resources and creators.
#pragma once

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

//! What a plugin is made for.
enum class TensorRTPhase : int32_t {
  kBUILD = 0,    //!< Building an engine.
  kRUNTIME = 1,  //!< Running one.
};

//! What the elements of a plugin field are.
enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,  //!< Half precision.
  kFLOAT32 = 1,  //!< Single precision.
  kFLOAT64 = 2,  //!< Double precision.
  kINT8 = 3,     //!< 8-bit integers.
  kINT16 = 4,    //!< 16-bit integers.
  kINT32 = 5,    //!< 32-bit integers.
  kCHAR = 6,     //!< Characters.
  kDIMS = 7,     //!< nvinfer1::Dims.
  kUNKNOWN = 8,  //!< Something that creator and program agree on.
  kBF16 = 9,     //!< The upper halves of single-precision numbers.
  kINT64 = 10,   //!< 64-bit integers.
  kFP8 = 11,     //!< 8-bit floats.
  kINT4 = 12,    //!< 4-bit integers, two to a byte.
  kFP4 = 13,     //!< 4-bit floats, two to a byte.
};

//! A named attribute of a plugin: an array that somebody else owns.
class PluginField {
 public:
  //! The name, zero-terminated.
  const AsciiChar* name;
  //! The elements, aligned for their type.
  const void* data;
  //! What the elements are.
  PluginFieldType type;
  //! How many elements.
  int32_t length;

  //! Refers to `length_` elements at `data_`; the caller keeps the name and the data alive.
  PluginField(const AsciiChar* const name_ = nullptr, const void* const data_ = nullptr,
              const PluginFieldType type_ = PluginFieldType::kUNKNOWN, const int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

//! A list of attributes that somebody else owns.
struct PluginFieldCollection {
  //! How many.
  int32_t nbFields{};
  //! The first of them.
  const PluginField* fields{};
};

namespace v_1_0 {

//! The root of the parts of an IPluginV3: core, build and runtime.
class IPluginCapability : public IVersionedInterface {};

//! Something that plugins share through the registry, such as a handle or a table, found by key.
class IPluginResource : public IVersionedInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IPluginResource", 1, 0}; }

  //! Frees what clone() acquired; called once when no plugin uses the resource any more. Returns 0 on success.
  virtual int32_t release() noexcept = 0;

  //! A copy that the registry keeps; only now shall the resource acquire what it stands for. nullptr on failure.
  virtual IPluginResource* clone() noexcept = 0;

  ~IPluginResource() noexcept override = default;
  IPluginResource() = default;
  IPluginResource(const IPluginResource&) = default;
  IPluginResource(IPluginResource&&) = default;
  IPluginResource& operator=(const IPluginResource&) & = default;
  IPluginResource& operator=(IPluginResource&&) & = default;
};

//! The root of all plugin creators; getInterfaceInfo() tells which of them an object is.
class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;

 protected:
  IPluginCreatorInterface() = default;
  IPluginCreatorInterface(const IPluginCreatorInterface&) = default;
  IPluginCreatorInterface(IPluginCreatorInterface&&) = default;
  IPluginCreatorInterface& operator=(const IPluginCreatorInterface&) & = default;
  IPluginCreatorInterface& operator=(IPluginCreatorInterface&&) & = default;
};

}  // namespace v_1_0

using IPluginCapability = v_1_0::IPluginCapability;
using IPluginResource = v_1_0::IPluginResource;
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;

//! The parts of an IPluginV3.
enum class PluginCapabilityType : int32_t {
  kCORE = 0,     //!< Name, version and namespace: IPluginV3OneCore.
  kBUILD = 1,    //!< What the builder asks: IPluginV3OneBuild.
  kRUNTIME = 2,  //!< What execution asks: IPluginV3OneRuntime.
};

namespace v_1_0 {

//! An operation that a program brings along, made of capabilities that may be separate objects.
class IPluginV3 : public IVersionedInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN", 1, 0}; }

  //! The part of the given kind; nullptr if the plugin lacks it, as one made for running only may lack kBUILD. The
  //! part belongs to the plugin.
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;

  //! A copy with the same state, which the caller owns; nullptr on failure.
  virtual IPluginV3* clone() noexcept = 0;
};

}  // namespace v_1_0

using IPluginV3 = v_1_0::IPluginV3;

}  // namespace nvinfer1
