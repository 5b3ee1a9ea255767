// SPDX-License-Identifier: Apache-2.0
// Creators and plugins of every family behind one set of questions.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>

#include "request.h"

namespace tenon::check {

using Descs = std::vector<nv::DynamicPluginTensorDesc>;

// What a plugin does wrong, in words for its author.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Owns a plugin object. Wrong is thrown where an answer breaks the interface's rules.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string name() = 0;
  virtual std::string version() = 0;
  virtual std::string space() = 0;
  virtual int32_t outputCount() = 0;
  virtual std::unique_ptr<Plugin> clone() = 0;
  virtual bool supports(int32_t position, const Descs& operands, int32_t inputs) = 0;
  virtual void configure(const Descs& inputs, const Descs& outputs) = 0;
  virtual std::vector<int32_t> tactics() { return {}; }
  virtual size_t workspace(const Descs& inputs, const Descs& outputs) = 0;
  virtual std::string state() = 0;
  virtual int32_t aliasedInput(int32_t) { return -1; }
  virtual nv::ILayer* addTo(nv::INetworkDefinition& network, const std::vector<nv::ITensor*>& inputs) = 0;
};

class Creator {
 public:
  virtual ~Creator() = default;
  virtual const char* name() = 0;
  virtual const char* version() = 0;
  virtual const char* space() = 0;
  virtual const nv::PluginFieldCollection* fieldNames() = 0;
  // Null where the creator refuses.
  virtual std::unique_ptr<Plugin> make(const nv::PluginFieldCollection& fields) = 0;
  virtual std::unique_ptr<Plugin> restore(const std::string& state) = 0;
};

// None for creators whose plugins are functions in Python, and for unknown kinds.
std::unique_ptr<Creator> creatorOf(nv::IPluginCreatorInterface& creator);

}  // namespace tenon::check
