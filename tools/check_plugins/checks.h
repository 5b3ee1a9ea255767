// SPDX-License-Identifier: Apache-2.0
// The checks: what the builder and the runtime would ask of a plugin, in their order.
#pragma once

#include <functional>

#include "isolated.h"
#include "subject.h"

namespace tenon::check {

struct Check {
  std::string title;
  std::function<void()> run;  // throws Wrong or Skipped
};

// Of the creator and its plugins as objects.
std::vector<Check> objectChecks(Creator& creator, const Request& request);
// Of engines with the plugin: built, saved, loaded, run, on threads.
std::vector<Check> engineChecks(Creator& creator, const Request& request);

std::unique_ptr<Plugin> makeOrFail(Creator& creator, const std::vector<Field>& fields);

// A logger that keeps the last error.
class LastError final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override;
  std::string take();

 private:
  std::string text_;
};
LastError& lastError();

// A network with the plugin alone, and how its operands look from there.
struct Layer {
  std::unique_ptr<nv::IBuilder> builder;
  std::unique_ptr<nv::INetworkDefinition> network;
  nv::ILayer* layer = nullptr;
  Descs operands;  // inputs first, all kLINEAR
};
Layer layerOf(Plugin& plugin, const Request& request);

}  // namespace tenon::check
