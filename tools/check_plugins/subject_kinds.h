// SPDX-License-Identifier: Apache-2.0
// The families' makers, for subject.cpp.
#pragma once

#include "subject.h"

namespace tenon::check {

std::unique_ptr<Creator> creatorV3(nv::IPluginCreatorV3One& creator);
std::unique_ptr<Creator> creatorV2(nv::IPluginCreator& creator);

inline const char* orEmpty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace tenon::check
