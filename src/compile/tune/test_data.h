// What operands hold when candidates are tried.
#pragma once

#include "compile/tactics/tactic.h"

namespace tenon::compile {

// Integers of this input are tried from 0 up to, but not with, this: indices stay within every axis that they name,
// others are 0 or 1.
int64_t integersBelow(const Problem& problem, size_t input);

// Reproducible data in [0.1, 1), so that logarithms and roots stay finite, or integers in [0, below).
void fillWithTestData(DataType dtype, void* data, int64_t count, uint64_t seed, int64_t below);

}  // namespace tenon::compile
