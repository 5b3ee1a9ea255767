// Results of one recorded call beside those of the application, and the objects that it gives.
#include <fmt/format.h>

#include <cmath>

#include "player/replay.h"
#include "player/step.h"
#include "player/values.h"

namespace tenon::capture {

void Step::resultIs(const Json& value) {
  const auto found = line_.value.find("r");
  if (found != line_.value.end() && *found != value) {
    replay_.differs(line_, fmt::format("{} gave {} in the application and gives {} here", method_.name,
                                       found->dump().substr(0, 200), value.dump().substr(0, 200)));
  }
}

void Step::booleanResult(bool value) {
  resultIs(value);
  if (method_.isBuild) {
    replay_.finishStream(line_, value);
  }
}

void Step::realResult(double value) {
  double then = 0;
  const auto found = line_.value.find("r");
  if (found == line_.value.end() || !asReal(*found, then)) {
    return resultIs(value);
  }
  if (then != value && !(std::isnan(then) && std::isnan(value)) &&
      static_cast<float>(then) != static_cast<float>(value)) {
    resultIs(value);
  }
}

void Step::textResult(const char* value) {
  const auto found = line_.value.find("r");
  if (found != line_.value.end() && (found->is_string() || found->is_null())) {
    resultIs(value != nullptr ? Json(value) : Json());
  }
}

void Step::enumerationResult(int type, int64_t value) {
  const std::string_view name = enumName(type, value);
  resultIs(name.empty() ? Json(value) : Json(name));
}

void Step::dimsResult(const nvinfer1::Dims& value) { resultIs(dimsJson(value)); }

void Step::permutationResult(const nvinfer1::Permutation& value) {
  resultIs(Json(std::vector<int32_t>(std::begin(value.order), std::end(value.order))));
}

void Step::weightsResult(const nvinfer1::Weights& value) {
  const auto found = line_.value.find("r");
  if (found != line_.value.end() && found->is_object() && found->contains("count")) {
    if ((*found)["count"] != value.count) {
      resultIs(Json{{"count", value.count}});
    }
  }
}

void Step::engineResult(nvinfer1::ICudaEngine* engine) {
  presence(engine != nullptr);
  const std::unique_ptr<nvinfer1::ICudaEngine> owned(engine);
  const std::unique_ptr<nvinfer1::IHostMemory> bytes(engine != nullptr ? engine->serialize() : nullptr);
  replay_.finishBuild(line_, bytes.get());
}

void Step::presence(bool isThere) {
  const auto found = line_.value.find("r");
  if (found != line_.value.end() && found->is_null() == isThere) {
    replay_.differs(line_, fmt::format("{} gave {} in the application, not so here", method_.name,
                                       found->is_null() ? "nothing" : "something"));
  }
}

void Step::objectResult(const void* constFace, int type) {
  void* face = const_cast<void*>(constFace);
  if (method_.isBuild) {
    replay_.finishBuild(line_, static_cast<nvinfer1::IHostMemory*>(face));
  }
  const auto found = line_.value.find("r");
  if (found == line_.value.end()) {
    return;  // a build that did not end in the application
  }
  if (found->is_null() || face == nullptr) {
    if (!found->is_null() && !method_.isBuild) {
      throw CaptureError(fmt::format("line {}: {} fails here, but not in the application: {}", line_.number,
                                     method_.name, replay_.lastError()));
    }
    if (found->is_null() && face == nullptr && method_.isFresh && !method_.isBuild) {
      replay_.failsAgain(line_, method_.name);
    }
    return presence(face != nullptr);
  }
  if (!found->is_number_unsigned()) {
    throw CaptureError(fmt::format("line {}: the result must be the number of an object", line_.number));
  }
  if (playedClasses()[static_cast<size_t>(type)].name == "ILayer") {
    type = layerIndex(static_cast<nvinfer1::ILayer*>(face)->getType());
  }
  const uint64_t self = line_.value.value("o", Json()).is_number_unsigned() ? line_.value["o"].get<uint64_t>() : 0;
  const Json network = line_.value.value("network", Json());
  const Replay::Entry* owner = replay_.find(self);
  const int64_t number = network.is_number_integer() ? network.get<int64_t>() : owner != nullptr ? owner->network : 0;
  if (const Replay::Entry* known = replay_.find(found->get<uint64_t>())) {
    if (known->face != face) {
      replay_.differs(line_, fmt::format("{} gives another object than in the application", method_.name));
    }
    return;
  }
  const bool isOwned = method_.isFresh && playedClasses()[static_cast<size_t>(type)].destroy != nullptr;
  replay_.bind(found->get<uint64_t>(), {face, type, number, self, isOwned});
}

}  // namespace tenon::capture
