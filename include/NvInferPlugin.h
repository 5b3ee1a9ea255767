// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The entry point of the standard plugin library.
#pragma once

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

//! Registers the creators of the standard plugin library, once for each namespace; later calls do nothing.
//!
//! \param logger an ILogger that receives the messages, or nullptr for none; must live as long as the plugins are used.
//! \param libNamespace the namespace to register in; "" is the usual one.
//! \return false if a creator could not be registered.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace);
