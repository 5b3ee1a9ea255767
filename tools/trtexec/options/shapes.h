// The rules by which the shape flags become optimization profiles and inference shapes.
#pragma once

#include "options.h"

#include <string>
#include <string_view>

namespace tenon::trtexec {

//! Whether `name` is what `pattern` says; a `*` in the pattern stands for any run of characters.
bool matchesName(std::string_view pattern, std::string_view name);

//! The entry for that input: the one of exactly that name, else one whose wildcard fits; null when there is none.
const Shape* findShape(const ShapeMap& shapes, std::string_view name);

//! Fills in the bounds that the flags leave out. One given bound stands for all three; of two given, the missing
//! minimum and maximum are the optimum, the missing optimum is the maximum.
void completeProfile(ProfileShapes& profile);

//! Applies what holds between the flags: --shapes enters the profiles under names they lack, and without --shapes
//! inference runs the optimum of the profile it uses. Throws std::invalid_argument when the profile indices have a gap.
void completeShapes(Options& options);

}  // namespace tenon::trtexec
