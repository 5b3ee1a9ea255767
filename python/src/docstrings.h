// SPDX-License-Identifier: Apache-2.0
// What the module says of its classes, functions and properties.
#pragma once

#include <cstddef>

namespace tenon::python {

struct DocRow {
  const char* owner;   // a class; empty for the module
  const char* member;  // of it; empty for the owner itself
  const char* text;
};
extern const DocRow kDocRows[];
extern const size_t kDocRowCount;

}  // namespace tenon::python
