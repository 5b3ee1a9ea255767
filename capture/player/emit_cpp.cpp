// Writes a capture as a program.
#include "player/emit_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "player/emit_parts.h"
#include "player/emitter.h"
#include "player/public_names.h"

namespace tenon::capture {

Emitter::Emitter() {
  int index = 0;
  for (const MethodInfo& method : methods()) {
    methods_.emplace(method.name, index++);
  }
}

// Functions of a few hundred statements: compilers are slow with larger ones.
void Emitter::statement(const std::string& text) {
  constexpr int kPerPart = 250;
  if (statements_++ % kPerPart == 0) {
    body_ += fmt::format("{}void part{}() {{\n", statements_ > 1 ? "}\n\n" : "", parts_++);
  }
  body_ += std::exchange(before_, {}) + "  " + text + "\n";
}

std::string Emitter::list(const Json& value, const char* element) {
  if (!value.is_array()) {
    return "nullptr";
  }
  std::string entries;
  for (const Json& entry : value) {
    entries +=
        (entries.empty() ? "" : ", ") + (entry.is_number() || element[0] == 'f' ? cppNumber(entry) : cppText(entry));
  }
  globals_ += fmt::format("{} list{}[] = {{{}}};\n", element, arrays_, entries.empty() ? "0" : entries);
  return fmt::format("list{}", arrays_++);
}

std::string Emitter::object(uint64_t id, bool isReference) const {
  return types_.count(id) == 0 ? "nullptr" : fmt::format("{}o{}", isReference ? "*" : "", id);
}

std::string Emitter::userArgument(uint64_t id, bool isReference) const {
  return stood_.count(id) == 0 ? "nullptr" : fmt::format("{}user{}", isReference ? "" : "&", id);
}

std::string Emitter::argument(const Json& value, const ParameterInfo& parameter, int line) {
  const std::string type(parameter.type);
  const std::string_view kind = parameter.kind;
  const bool isReference = type.back() == '&';
  if (kind == "boolean") {
    return value.get<bool>() ? "true" : "false";
  }
  if (kind == "integer" || kind == "real") {
    return cppNumber(value);
  }
  if (kind == "text") {
    return cppText(value);
  }
  if (kind == "enumeration") {
    return value.is_string() ? type + "::" + cppName(value)
                             : fmt::format("static_cast<{}>({})", type, cppNumber(value));
  }
  if (kind == "dims") {
    return value.is_array() ? fmt::format("Dims{{{}, {{{}}}}}", value.size(), cppNumbers(value)) : "Dims{-1, {}}";
  }
  if (kind == "permutation") {
    return fmt::format("Permutation{{{{{}}}}}", cppNumbers(value));
  }
  if (kind == "key") {
    return fmt::format("TimingCacheKey{{{{{}}}}}", cppBytes(value));
  }
  if (kind == "value") {
    return fmt::format("TimingCacheValue{{{}, {}}}", cppNumber(value.at("tactic")), cppNumber(value.at("ms")));
  }
  if (kind == "weights") {
    const auto found = weights_.find(idOf(value.value("w", Json())));
    return found != weights_.end()
               ? found->second
               : fmt::format("Weights{{DataType::{}, nullptr, {}}}", cppName(value.value("type", Json("kFLOAT"))),
                             cppNumber(value.value("count", Json(0))));
  }
  if (kind == "object") {
    return object(idOf(value), isReference);
  }
  if (kind == "plugin2" || kind == "plugin3") {
    return fmt::format("*plugin{}", idOf(value));
  }
  if (kind == "user") {
    return userArgument(idOf(value), isReference);
  }
  if (kind == "objects") {
    if (value.is_null()) {
      return "nullptr";
    }
    std::string names;
    for (const Json& entry : value) {
      names += (names.empty() ? "" : ", ") + object(idOf(entry), false);
    }
    before_ += fmt::format("  ITensor* list{}[] = {{{}}};\n", arrays_, names.empty() ? "nullptr" : names);
    return fmt::format("list{}", arrays_++);
  }
  if (kind == "ints32" || kind == "ints64" || kind == "floats" || kind == "texts") {
    return list(value, kind == "ints32"   ? "int32_t"
                       : kind == "ints64" ? "int64_t"
                       : kind == "floats" ? "float"
                                          : "const char*");
  }
  if (kind == "blob") {
    const auto found = data_.find(idOf(value.is_object() ? value.at("data") : Json()));
    return found == data_.end() ? "nullptr" : fmt::format("&bin[{}]", found->second.offset);
  }
  if (kind == "out_object") {
    before_ += fmt::format("  IHostMemory* list{} = nullptr;\n", arrays_);
    return fmt::format("list{}", arrays_++);
  }
  if (kind == "stream") {
    return "nullptr";
  }
  throw CaptureError(fmt::format("line {}: --emit-cpp cannot write an argument of the type {}", line, type));
}

// The statement of a call, with what becomes of its result.
void Emitter::made(const Json& value, const MethodInfo& method, const std::string& expression,
                   const std::string& kernelText) {
  const uint64_t id = idOf(value.value("r", Json()));
  const uint64_t text = idOf(value.value("out", Json()));
  std::string tail;
  if (text != 0 && !kernelText.empty()) {
    types_[text] = "IHostMemory";
    globals_ += fmt::format("IHostMemory* o{};\n", text);
    tail = fmt::format(" o{} = {};", text, kernelText);
  }
  if (id == 0 || !value.contains("new")) {
    return statement((method.isBuild ? fmt::format("save({});", expression) : expression + ";") + tail);
  }
  const std::string type = cppName(value.at("new"));
  const char* cast = method.result.type.rfind("const ", 0) == 0 ? "const_cast" : "static_cast";
  types_[id] = type;
  globals_ += fmt::format("{}* o{};\n", type, id);
  statement(
      fmt::format("o{} = {}<{}*>({}{});", id, cast, type, method.result.type.back() == '&' ? "&" : "", expression) +
      tail);
  if (method.isBuild) {
    statement(fmt::format("save(o{});", id));
  }
}

void Emitter::call(const Line& line, const std::string& name) {
  const Json& value = line.value;
  const uint64_t id = idOf(value.value("r", Json()));
  if (name == "createInferBuilder") {
    if (id != 0) {
      types_[id] = "IBuilder";
      globals_ += fmt::format("IBuilder* o{};\n", id);
      statement(fmt::format("o{} = createInferBuilder(logger);", id));
    }
    return;
  }
  const uint64_t self = idOf(value.value("o", Json()));
  if (name.size() > 7 && name.compare(name.size() - 7, 7, ".delete") == 0) {
    if (types_.count(self) != 0) {
      statement(fmt::format("delete o{};", self));
    }
    return;
  }
  const auto found = methods_.find(name);
  const std::string function = name.substr(name.find('.') + 1);
  const auto begins = [&](const char* word) { return function.rfind(word, 0) == 0; };
  // What only asks and gives nothing new does not change the engine.
  const bool onlyAsks = begins("get") || begins("is") || begins("are") || begins("has") || begins("query") ||
                        name.rfind("IHostMemory.", 0) == 0;
  if (found == methods_.end() || types_.count(self) == 0 || (onlyAsks && !value.contains("new"))) {
    return;
  }
  const MethodInfo& method = methods()[static_cast<size_t>(found->second)];
  const Json& values = value.at("a");
  if (!values.is_array() || values.size() != method.parameters.size()) {
    throw CaptureError(fmt::format("line {}: {} takes {} arguments", line.number, name, method.parameters.size()));
  }
  std::string arguments, kernelText;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string written = argument(values[i], method.parameters[i], line.number);
    kernelText = method.parameters[i].kind == "out_object" ? written : kernelText;
    arguments += (i > 0 ? ", " : "") + written;
  }
  std::string expression =
      fmt::format("o{}->{}({})", self, publicNames()[static_cast<size_t>(found->second)], arguments);
  if (method.isBuild && method.result.kind == "boolean") {
    expression = fmt::format("user{}, {}", idOf(values.back()), expression);  // save() takes what was streamed
  }
  made(value, method, expression, kernelText);
}

void Emitter::lookAhead(const Line& line) {
  const Json& value = line.value;
  users_.take(line);
  if (value.contains("offset")) {
    data_[idOf(value.at("data"))] = {idOf(value.at("offset")), idOf(value.at("bytes")), false};
    smallest_ = std::max(smallest_, idOf(value.at("offset")) + idOf(value.at("bytes")));
  }
}

void Emitter::take(const Line& line) {
  const Json& value = line.value;
  if (value.contains("m")) {
    call(line, value.at("m").get<std::string>());
  } else if (value.contains("weights")) {
    weights(value);
  } else if (value.contains("user")) {
    user(value);
  } else if (value.contains("plugin")) {
    plugin(value);
  }
}

std::string Emitter::text() const {
  std::string out = kEmittedPrologue;
  out += hasAllocators_ ? kEmittedAllocator : "";
  out += hasUsers_ ? kEmittedUsers : "";
  out += hasPlugins_ ? kEmittedPlugins : "";
  out += fmt::format("constexpr size_t smallestBin = {};\n", smallest_) + globals_ + "\n" + body_ +
         (parts_ > 0 ? "}\n" : "") + kEmittedEpilogue;
  for (int i = 0; i < parts_; ++i) {
    out += fmt::format("  part{}();\n", i);
  }
  return out + "  return failures == 0 ? 0 : 3;\n}\n";
}

std::string emitCpp(CaptureFile& capture) {
  Emitter emitter;
  Line line;
  try {
    while (capture.next(line)) {
      emitter.lookAhead(line);
    }
    capture.rewind();
    while (capture.next(line)) {
      emitter.take(line);
    }
  } catch (const Json::exception& error) {
    throw CaptureError(fmt::format("line {}: {}", line.number, error.what()));
  }
  capture.rewind();
  return emitter.text();
}

}  // namespace tenon::capture
