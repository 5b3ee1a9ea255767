// Flags and constraints of types, as the build takes them.
#pragma once

#include "api/builder/builder_config.h"
#include "api/network/network.h"
#include "compile/types/options.h"
#include "core/log.h"

namespace tenon::api {

// Whether precisions and output types of layers count, as a flag says: in weakly typed networks alone.
bool constrainsTypes(const BuilderConfig& config);
// Whether a layer's precision, or the type of one of its outputs, is set to a half.
bool asksForHalves(const LayerBase& layer);

// What a build may choose for the values of a network, and what layers demand: nothing where it is strongly typed.
// Throws where a layer asks for a type that no builder flag allows, or demands one that nothing here computes in; a
// preference for such a type is a line of the log.
compile::TypeOptions typeOptions(const Network& network, const BuilderConfig& config, Log& log);

}  // namespace tenon::api
