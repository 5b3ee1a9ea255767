// The wrappers that are alive: from the library's object to the application's and back. The caller holds the order.
#pragma once

#include "shim/object.h"

namespace nvinfer1 {
class ILayer;
class IPluginRegistry;
}  // namespace nvinfer1

namespace tenon::capture {

// The wrapper of an object of the library, made when there is none. `owner` is the object it was reached through;
// `isFresh` says that the library has just made it, so that an older wrapper at its address is of something gone.
// `made` tells whether the wrapper is new.
Object* wrapperOf(void* real, const ClassInfo& type, Object* owner, bool isFresh, bool& made);

// The wrapper that the application holds, or null when it is none (an object from before the recording).
Object* wrapperAt(const void* face) noexcept;

// Generated: the class that a layer's type says it has.
const ClassInfo& layerClass(const nvinfer1::ILayer& layer);

// The registry that the application sees in place of the library's.
nvinfer1::IPluginRegistry* wrapRegistry(nvinfer1::IPluginRegistry* real);

}  // namespace tenon::capture
