// The facade as the host of plugins: creators of the registry make what a plan holds.
#pragma once

namespace tenon::api {

// From the first call on, kernels of backends find plugins. Called before engines are built or loaded.
void installPluginHost() noexcept;

}  // namespace tenon::api
