// A plugin as a kernel: one object per engine, one per execution context.
#pragma once

#include "api/plugin/adapters/live_plugin.h"
#include "runtime/kernel.h"

namespace tenon::api {

// `adapter` is configured, or made from its state. With `sizesOnly` it is only asked what memory it needs.
std::unique_ptr<runtime::Kernel> makePluginKernel(std::unique_ptr<PluginAdapter> adapter, ops::Plugin op,
                                                  PluginParameters parameters, runtime::Device& device, bool sizesOnly);

}  // namespace tenon::api
