// What stands behind each object that the application holds: the library's own object, a number, a place in the tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon::capture {

class Object;

struct ClassInfo {
  std::string_view name;        // "ITensor"
  Object* (*wrap)(void* real);  // a new wrapper around the library's object
  bool isDeletable;             // by the application
};

// Base of the generated wrappers. A wrapper belongs to the application when the object does (builder, network,
// configuration, host memory, timing cache); otherwise to the wrapper it was reached through, and goes with it.
class Object {
 public:
  Object(const ClassInfo& type, void* real, void* face) : type(type), real(real), face(face) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object();

  const ClassInfo& type;
  void* const real;  // the public class of the library's object
  void* const face;  // the public class of the wrapper
  uint64_t id = 0;
  uint32_t network = 0;  // number of the network it is part of; 0 for none
  bool isOwned = false;  // the application deletes it
  Object* parent = nullptr;
  std::vector<Object*> children;
};

// Called by the wrappers' destructors when the application deletes the object: records it, deletes the library's
// object.
void released(Object& object, void (*destroyReal)(void* real)) noexcept;

}  // namespace tenon::capture
