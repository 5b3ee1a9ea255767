// A problem whose options will be asked for: what is proposed for it, and the work on that.
#pragma once

#include "compile/preparation.h"
#include "compile/proposals.h"

namespace tenon::compile {

struct Announced {
  Proposals proposals;
  Preparation::Ticket made;  // machine code of those that will be measured
};

}  // namespace tenon::compile
