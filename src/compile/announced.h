// A problem whose options will be asked for: what is proposed for it, and the work on that.
#pragma once

#include <vector>

#include "compile/preparation.h"
#include "compile/proposals.h"

namespace tenon::compile {

struct Announced {
  Proposals proposals;
  std::vector<Preparation::Ticket> made;  // machine code of those that will be measured, other problems' among it
};

}  // namespace tenon::compile
