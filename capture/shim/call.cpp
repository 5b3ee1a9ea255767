// Writes the line of a call while its arguments and its result pass through.
#include "shim/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/bin_format.h"
#include "enums.h"
#include "shim/plugins.h"
#include "shim/recorder.h"
#include "shim/settings.h"
#include "shim/text.h"
#include "shim/wrappers.h"
#include "shim/writer.h"

namespace tenon::capture {

Call::Call(const Object& self, int method)
    : self_(const_cast<Object&>(self)),
      method_(methods()[static_cast<size_t>(method)]),
      lock_(Recorder::instance().order()) {
  line_.reserve(160);
  line_ += "{\"o\":";
  text::appendUnsigned(line_, self.id);
  line_ += ",\"m\":\"";
  line_ += method_.name;
  line_ += "\",\"a\":[";
}

Call::~Call() {
  if (!lock_.owns_lock()) {
    lock_.lock();
  }
  line_ += extra_;
  line_ += '}';
  Recorder::instance().fill(place_, std::move(line_));
  if (settings().flushAfterEveryCall || (method_.isBuild && settings().flushOnBuild)) {
    Recorder::instance().flush();
  }
}

void Call::separate() {
  if (isForwarded_) {
    line_ += ",\"r\":";
  } else if (arguments_++ > 0) {
    line_ += ',';
  }
}

void Call::forward() {
  line_ += ']';
  Recorder& recorder = Recorder::instance();
  if (!method_.isLong) {
    place_ = recorder.reserve({});
  } else {
    if (method_.isBuild) {
      line_ += fmt::format(",\"build\":{}", recorder.newBuild());
    }
    place_ = recorder.reserve(settings().records() ? line_ + ",\"pending\":true}" : std::string());
    if (settings().flushOnBuild || settings().flushAfterEveryCall) {
      recorder.flush();  // a crash of the build leaves a capture that repeats it
    }
    if (!settings().forceSingleThread || settings().records()) {
      lock_.unlock();
    }
  }
  isForwarded_ = true;
}

bool Call::boolean(bool value) {
  if (isForwarded_ && method_.isBuild && settings().records()) {
    const std::string engine = takeStreamedEngine();
    extra_ += engine.empty() || !value ? std::string() : ",\"engine\":" + engine;
  }
  separate();
  line_ += value ? "true" : "false";
  return value;
}

int64_t Call::integer(int64_t value) {
  separate();
  text::appendInteger(line_, value);
  return value;
}

uint64_t Call::unsignedInteger(uint64_t value) {
  separate();
  text::appendUnsigned(line_, value);
  return value;
}

float Call::real(float value) {
  separate();
  text::appendReal(line_, value);
  return value;
}

double Call::real(double value) {
  separate();
  text::appendReal(line_, value);
  return value;
}

const char* Call::text(const char* value) {
  separate();
  text::appendString(line_, value);
  return value;
}

int64_t Call::enumeration(int type, int64_t value) {
  separate();
  text::appendEnum(line_, type, value);
  return value;
}

const nvinfer1::Dims& Call::dims(const nvinfer1::Dims& value) {
  separate();
  text::appendDims(line_, value);
  return value;
}

const nvinfer1::Permutation& Call::permutation(const nvinfer1::Permutation& value) {
  separate();
  nvinfer1::Dims order{nvinfer1::Dims::MAX_DIMS, {}};
  std::copy(std::begin(value.order), std::end(value.order), order.d);
  text::appendDims(line_, order);
  return value;
}

nvinfer1::Weights Call::weights(nvinfer1::Weights value) {
  separate();
  Recorder& recorder = Recorder::instance();
  const bool hasBytes = value.values != nullptr && value.count > 0 && bitsOf(value.type) != 0;
  const uint64_t id = !hasBytes      ? 0
                      : isForwarded_ ? recorder.knownWeights(self_.network, value)
                                     : recorder.weights(self_.network, value);
  if (id != 0) {
    line_ += fmt::format("{{\"w\":{}}}", id);
    return value;
  }
  line_ += "{\"type\":";
  text::appendEnum(line_, kEnum_DataType, static_cast<int64_t>(value.type));
  line_ += fmt::format(",\"count\":{}}}", value.count);
  return value;
}

const nvinfer1::TimingCacheKey& Call::key(const nvinfer1::TimingCacheKey& value) {
  separate();
  line_ += '"';
  text::appendHex(line_, value.data, sizeof value.data);
  line_ += '"';
  return value;
}

const nvinfer1::TimingCacheValue& Call::value(const nvinfer1::TimingCacheValue& value) {
  separate();
  line_ += fmt::format("{{\"tactic\":{},\"ms\":", value.tacticHash);
  text::appendReal(line_, value.timingMSec);
  line_ += '}';
  return value;
}

cudaStream_t Call::stream(cudaStream_t value) {
  pointer(value);
  return value;
}

const void* Call::pointer(const void* value) {
  separate();
  line_ += value != nullptr ? "true" : "null";
  return value;
}

void Call::number(uint64_t id) {
  if (id == 0) {
    line_ += "null";
  } else {
    text::appendUnsigned(line_, id);
  }
}

void* Call::unwrapped(void* face) {
  const Object* wrapper = face != nullptr ? wrapperAt(face) : nullptr;
  separate();
  number(wrapper != nullptr ? wrapper->id : 0);
  return wrapper != nullptr ? wrapper->real : face;
}

nvinfer1::ITensor* const* Call::objects(nvinfer1::ITensor* const* faces, int64_t count) {
  separate();
  if (faces == nullptr || count <= 0) {
    line_ += faces == nullptr ? "null" : "[]";
    return faces;
  }
  auto& reals = arrays_.emplace_back();
  for (int64_t i = 0; i < count; ++i) {
    line_ += i > 0 ? ',' : '[';
    const Object* wrapper = faces[i] != nullptr ? wrapperAt(faces[i]) : nullptr;
    number(wrapper != nullptr ? wrapper->id : 0);
    reals.push_back(wrapper != nullptr ? static_cast<nvinfer1::ITensor*>(wrapper->real) : faces[i]);
  }
  line_ += ']';
  return reals.data();
}

template <typename T>
const T* Call::list(const T* values, int64_t count) {
  separate();
  if (values == nullptr) {
    line_ += "null";
    return values;
  }
  line_ += '[';
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) {
      line_ += ',';
    }
    if constexpr (std::is_floating_point_v<T>) {
      text::appendReal(line_, values[i]);
    } else {
      text::appendInteger(line_, values[i]);
    }
  }
  line_ += ']';
  return values;
}

template const int32_t* Call::list(const int32_t*, int64_t);
template const int64_t* Call::list(const int64_t*, int64_t);
template const float* Call::list(const float*, int64_t);

const char* const* Call::texts(const char* const* values, int64_t count) {
  separate();
  if (values == nullptr) {
    line_ += "null";
    return values;
  }
  line_ += '[';
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) {
      line_ += ',';
    }
    text::appendString(line_, values[i]);
  }
  line_ += ']';
  return values;
}

const void* Call::blob(const void* bytes, int64_t size) {
  separate();
  if (bytes == nullptr || size <= 0) {
    line_ += "null";
  } else {
    line_ += fmt::format("{{\"data\":{}}}", Recorder::instance().data(bytes, static_cast<size_t>(size)));
  }
  return bytes;
}

nvinfer1::IPluginV2& Call::plugin(nvinfer1::IPluginV2& value) {
  separate();
  if (isForwarded_) {
    line_ += "true";  // the library's copy, of which the application knows no more
  } else {
    number(pluginNumber(value));
  }
  return value;
}

nvinfer1::IPluginV3& Call::plugin(nvinfer1::IPluginV3& value) {
  separate();
  if (isForwarded_) {
    line_ += "true";  // the library's copy, of which the application knows no more
  } else {
    number(pluginNumber(value));
  }
  return value;
}

void* Call::wrapped(void* real, const ClassInfo& type) {
  if (!lock_.owns_lock()) {
    lock_.lock();
  }
  separate();
  if (real == nullptr) {
    number(0);
    return nullptr;
  }
  bool made = false;
  Object* wrapper = wrapperOf(real, type, &self_, method_.isFresh, made);
  number(wrapper->id);
  if (made) {
    extra_ += fmt::format(",\"new\":\"{}\"", wrapper->type.name);
    if (wrapper->network != 0) {
      extra_ += fmt::format(",\"network\":{}", wrapper->network);
    }
  }
  return wrapper->face;
}

nvinfer1::ILayer* Call::layerResult(nvinfer1::ILayer* real) {
  static const ClassInfo kNone{"ILayer", nullptr, false};
  return static_cast<nvinfer1::ILayer*>(wrapped(real, real != nullptr ? layerClass(*real) : kNone));
}

void Call::built(const nvinfer1::IHostMemory* real) {
  if (real != nullptr && settings().records()) {
    extra_ += fmt::format(",\"engine\":{}", engineText(real->data(), real->size()));
  }
}

void Call::objectOutput(nvinfer1::IHostMemory*& real, const ClassInfo& type) {
  if (real == nullptr) {
    return;
  }
  bool made = false;
  Object* wrapper = wrapperOf(real, type, &self_, true, made);
  extra_ += fmt::format(",\"out\":{}", wrapper->id);
  real = static_cast<nvinfer1::IHostMemory*>(wrapper->face);
}

void Call::floatsOutput(const float* values, int64_t count) {
  extra_ += ",\"out\":[";
  for (int64_t i = 0; values != nullptr && i < count; ++i) {
    if (i > 0) {
      extra_ += ',';
    }
    text::appendReal(extra_, values[i]);
  }
  extra_ += ']';
}

void Call::keysOutput(const nvinfer1::TimingCacheKey* keys, int64_t count) {
  extra_ += ",\"out\":[";
  for (int64_t i = 0; keys != nullptr && i < count; ++i) {
    extra_ += i > 0 ? ",\"" : "\"";
    text::appendHex(extra_, keys[i].data, sizeof keys[i].data);
    extra_ += '"';
  }
  extra_ += ']';
}

}  // namespace tenon::capture
