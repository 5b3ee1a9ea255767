// Owns the wrappers; each is destroyed with the object that it wraps.
#include "shim/wrappers.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shim/call.h"
#include "shim/recorder.h"
#include "shim/settings.h"

namespace tenon::capture {
namespace {

struct Maps {
  std::unordered_map<const void*, Object*> byReal;
  std::unordered_map<const void*, Object*> byFace;
};

Maps& maps() {
  static Maps& kMaps = *new Maps;
  return kMaps;
}

void forget(std::unordered_map<const void*, Object*>& map, const void* key, const Object* object) {
  const auto found = map.find(key);
  if (found != map.end() && found->second == object) {
    map.erase(found);
  }
}

}  // namespace

Object::~Object() {
  std::lock_guard lock(Recorder::instance().order());
  forget(maps().byReal, real, this);
  forget(maps().byFace, face, this);
  for (Object* child : children) {
    child->parent = nullptr;
    delete child;
  }
  if (parent != nullptr) {
    std::erase(parent->children, this);
  }
}

Object* wrapperOf(void* real, const ClassInfo& type, Object* owner, bool isFresh, bool& made) {
  const auto found = maps().byReal.find(real);
  made = isFresh || found == maps().byReal.end();
  if (!made) {
    return found->second;
  }
  Object* wrapper = type.wrap(real);
  wrapper->id = Recorder::instance().newId();
  maps().byReal[real] = wrapper;
  maps().byFace[wrapper->face] = wrapper;
  if (type.name == "INetworkDefinition") {
    wrapper->network = Recorder::instance().newNetwork();
  } else if (owner != nullptr) {
    wrapper->network = owner->network;
  }
  wrapper->isOwned = type.isDeletable && isFresh;
  if (!wrapper->isOwned && owner != nullptr) {
    while (owner->parent != nullptr) {
      owner = owner->parent;  // tensors live as long as the network, whatever layer they were asked from
    }
    wrapper->parent = owner;
    owner->children.push_back(wrapper);
  }
  return wrapper;
}

Object* wrapperAt(const void* face) noexcept {
  const auto found = maps().byFace.find(face);
  return found == maps().byFace.end() ? nullptr : found->second;
}

void released(Object& object, void (*destroyReal)(void* real)) noexcept {
  if (!object.isOwned) {
    return;
  }
  std::lock_guard lock(Recorder::instance().order());
  if (settings().records()) {
    Recorder::instance().append("{\"o\":" + std::to_string(object.id) + ",\"m\":\"" + std::string(object.type.name) +
                                ".delete\",\"a\":[]}");
  }
  destroyReal(object.real);
  const bool isLandmark = object.type.name == "INetworkDefinition" || object.type.name == "IBuilder";
  if ((isLandmark && settings().flushOnDestroy) || settings().flushAfterEveryCall) {
    Recorder::instance().flush();
  }
}

}  // namespace tenon::capture
