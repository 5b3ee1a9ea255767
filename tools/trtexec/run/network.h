// What the command line says about a network and its builder configuration.
#pragma once

#include "../options/options.h"

#include <NvInfer.h>

namespace tenon::trtexec {

//! Types and formats of inputs and outputs, precisions of layers, debug marks.
void setUpNetwork(nvinfer1::INetworkDefinition& network, const BuildOptions& options);

//! Builder flags, pools, limits, tactic sources.
void setUpConfig(nvinfer1::IBuilderConfig& config, const BuildOptions& options);

//! One optimization profile per profile of the options; where inputs are dynamic and no flag speaks of them, their
//! unknown extents become 1, with a warning.
void setUpProfiles(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config,
                   const nvinfer1::INetworkDefinition& network, const BuildOptions& options);

nvinfer1::Dims toDims(const Shape& shape);
Shape toShape(const nvinfer1::Dims& dims);

}  // namespace tenon::trtexec
