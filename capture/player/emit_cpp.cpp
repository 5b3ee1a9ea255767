// Writes a capture as a program.
#include "player/emit_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "common/method.h"
#include "player/emit_parts.h"
#include "player/public_names.h"
#include "player/users.h"

namespace tenon::capture {
namespace {

uint64_t idOf(const Json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; }

std::string textAt(const Json& value, const char* key) {
  const Json found = value.value(key, Json());
  return found.is_string() ? found.get<std::string>() : std::string();
}

class Emitter {
 public:
  Emitter() {
    int index = 0;
    for (const MethodInfo& method : methods()) {
      methods_.emplace(method.name, index++);
    }
  }
  void lookAhead(const Line& line);  // at all lines, before take() at all lines
  void take(const Line& line);
  std::string text() const;

 private:
  void call(const Line& line, const std::string& name);
  void made(const Json& value, const MethodInfo& method, const std::string& expression, const std::string& kernelText);
  void weights(const Json& value);
  void user(const Json& value);
  void plugin(const Json& value);
  std::string fields(const Json& list) const;
  std::string argument(const Json& value, const ParameterInfo& parameter, int line);
  std::string userArgument(uint64_t id, bool isReference) const;
  std::string object(uint64_t id, bool isReference) const;
  void statement(const std::string& text);
  std::string list(const Json& value, const char* element);

  struct Data {
    uint64_t offset = 0, bytes = 0;
    bool used = false;
  };
  Users users_;
  std::unordered_map<std::string_view, int> methods_;
  std::map<uint64_t, Data> data_;
  std::map<uint64_t, std::string> types_;     // class of each object
  std::map<uint64_t, std::string> weights_;   // expression of each
  std::set<uint64_t> stood_;                  // objects of the application that have one in their place
  std::string globals_, body_;
  std::string before_;  // declarations that the next statement needs
  uint64_t smallest_ = 0;
  int statements_ = 0, parts_ = 0, arrays_ = 0;
  bool hasUsers_ = false, hasAllocators_ = false, hasPlugins_ = false;
};

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
    entries += (entries.empty() ? "" : ", ") + (entry.is_number() || element[0] == 'f' ? cppNumber(entry) : cppText(entry));
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
    return value.dump();
  }
  if (kind == "integer" || kind == "real") {
    return cppNumber(value);
  }
  if (kind == "text") {
    return cppText(value);
  }
  if (kind == "enumeration") {
    return value.is_string() ? type + "::" + value.get<std::string>() : fmt::format("static_cast<{}>({})", type, value.dump());
  }
  if (kind == "dims") {
    return value.is_array() ? fmt::format("Dims{{{}, {{{}}}}}", value.size(), cppNumbers(value)) : "Dims{-1, {}}";
  }
  if (kind == "permutation") {
    return fmt::format("Permutation{{{{{}}}}}", cppNumbers(value));
  }
  if (kind == "key") {
    return fmt::format("TimingCacheKey{{{{{}}}}}", cppBytes(value.get<std::string>()));
  }
  if (kind == "value") {
    return fmt::format("TimingCacheValue{{{}, {}}}", cppNumber(value.at("tactic")), cppNumber(value.at("ms")));
  }
  if (kind == "weights") {
    const auto found = weights_.find(idOf(value.value("w", Json())));
    return found != weights_.end() ? found->second
                                   : fmt::format("Weights{{DataType::{}, nullptr, {}}}", value.value("type", std::string("kFLOAT")),
                                                 value.value("count", Json(0)).dump());
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
    return list(value, kind == "ints32" ? "int32_t" : kind == "ints64" ? "int64_t" : kind == "floats" ? "float" : "const char*");
  }
  if (kind == "blob") {
    const auto found = data_.find(idOf(value.is_object() ? value["data"] : Json()));
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
void Emitter::made(const Json& value, const MethodInfo& method, const std::string& expression, const std::string& kernelText) {
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
  const std::string type = value["new"].get<std::string>();
  const char* cast = method.result.type.rfind("const ", 0) == 0 ? "const_cast" : "static_cast";
  types_[id] = type;
  globals_ += fmt::format("{}* o{};\n", type, id);
  statement(fmt::format("o{} = {}<{}*>({}{});", id, cast, type, method.result.type.back() == '&' ? "&" : "", expression) + tail);
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
  std::string arguments, kernelText;
  for (size_t i = 0; i < method.parameters.size() && i < values.size(); ++i) {
    const std::string written = argument(values[i], method.parameters[i], line.number);
    kernelText = method.parameters[i].kind == "out_object" ? written : kernelText;
    arguments += (i > 0 ? ", " : "") + written;
  }
  std::string expression = fmt::format("o{}->{}({})", self, publicNames()[static_cast<size_t>(found->second)], arguments);
  if (method.isBuild && method.result.kind == "boolean") {
    expression = fmt::format("user{}, {}", idOf(values.back()), expression);  // save() takes what was streamed
  }
  made(value, method, expression, kernelText);
}

void Emitter::weights(const Json& value) {
  const uint64_t id = idOf(value["weights"]);
  std::string address;
  if (value.contains("data")) {
    Data& row = data_[idOf(value["data"])];
    address = fmt::format("&bin[{}]", row.offset);
    if (std::exchange(row.used, true)) {
      // The same content at another address: weights are named by address.
      globals_ += fmt::format("const void* copy{};\n", id);
      statement(fmt::format("copy{} = copyOf({}, {});", id, row.offset, row.bytes));
      address = fmt::format("copy{}", id);
    }
  } else if (value.contains("inline")) {
    const std::string bytes = cppBytes(value["inline"].get<std::string>());
    globals_ += fmt::format("alignas(8) const unsigned char bytes{}[] = {{{}}};\n", id, bytes);
    address = fmt::format("bytes{}", id);
  } else {
    globals_ += fmt::format("std::vector<char> zeros{}({} * 8);  // values were not captured\n", id, value["count"].dump());
    address = fmt::format("zeros{}.data()", id);
  }
  weights_[id] = fmt::format("weights(DataType::{}, {}, {})", value["type"].get<std::string>(), address, value["count"].dump());
}

// The object that stands in place of one of the application's.
void Emitter::user(const Json& value) {
  const uint64_t id = idOf(value["user"]);
  const Answers& answers = users_.answers(id);
  const auto each = [](const auto& entries, const auto& write) {
    std::string out;
    for (const auto& entry : entries) {
      out += (out.empty() ? "" : ", ") + write(entry);
    }
    return out;
  };
  std::string made;
  if (answers.interface == "IProgressMonitor") {
    made = fmt::format("Monitor user{}(Stops{{{}}});\n", id, each(answers.stops, [](const auto& stop) {
                         return fmt::format("{{{}, {}, {}}}", cppText(std::get<0>(stop)), std::get<1>(stop), std::get<2>(stop));
                       }));
  } else if (answers.interface == "IErrorRecorder") {
    made = fmt::format("ErrorRecorder user{}(std::vector<bool>{{{}}});\n", id,
                       each(answers.errorAnswers, [](bool answer) { return std::string(answer ? "true" : "false"); }));
  } else if (answers.interface == "IAlgorithmSelector") {
    made = fmt::format("Selector user{}(Selections{{{}}});\n", id, each(answers.selections, [](const auto& row) {
                         return fmt::format("{{{{{}, {}}}, {{{}}}}}", cppText(row.first.first), row.first.second,
                                            cppNumbers(row.second));
                       }));
  } else if (answers.interface == "IStreamWriter") {
    made = fmt::format("Writer user{}(std::map<int64_t, int64_t>{{{}}});\n", id, each(answers.refusedWrites, [](const auto& row) {
                         return fmt::format("{{{}, {}}}", row.first, row.second);
                       }));
  } else if (answers.interface == "IInt8Calibrator") {
    const auto cache = data_.find(answers.calibrationCache);
    made = fmt::format("Calibrator user{}({}, {}, {}, {});\n", id, answers.batchSize, static_cast<int>(answers.algorithm),
                       cache != data_.end() ? cache->second.offset : 0, cache != data_.end() ? cache->second.bytes : 0);
  } else if (answers.interface == "IGpuAllocator" && !answers.refusedRequests.empty()) {
    made = fmt::format("Allocator user{}(std::set<uint64_t>{{{}}});\n", id,
                       each(answers.refusedRequests, [](uint64_t request) { return std::to_string(request); }));
    hasAllocators_ = true;
  }
  if (!made.empty()) {
    globals_ += made;
    stood_.insert(id);
    hasUsers_ = true;
  } else if (answers.interface == "ILogger") {
    globals_ += fmt::format("ILogger& user{} = logger;\n", id);
    stood_.insert(id);
  }
}

std::string Emitter::fields(const Json& list) const {
  std::string out;
  for (const Json& entry : list) {
    std::string address = "nullptr";
    if (entry.contains("data")) {
      const auto found = data_.find(idOf(entry["data"]));
      address = found != data_.end() ? fmt::format("&bin[{}]", found->second.offset) : address;
    } else if (!textAt(entry, "hex").empty()) {
      address = fmt::format("std::vector<unsigned char>{{{}}}.data()", cppBytes(textAt(entry, "hex")));
    }
    const Json& type = entry.at("type");
    out += fmt::format("{}PluginField({}, {}, {}, {})", out.empty() ? "" : ", ", cppText(entry.at("name")), address,
                       type.is_string() ? "PluginFieldType::" + type.get<std::string>()
                                        : fmt::format("static_cast<PluginFieldType>({})", type.dump()),
                       entry.at("length").dump());
  }
  return "{" + out + "}";
}

void Emitter::plugin(const Json& value) {
  hasPlugins_ = true;
  const uint64_t id = idOf(value["plugin"]);
  const bool isThird = textAt(value, "interface") == "IPluginV3";
  const Json list = value.contains("fields") ? value["fields"] : value.value("state", Json());
  std::string how = fields(list.is_array() ? list : Json::array());
  if (!list.is_array()) {
    const auto found = data_.find(idOf(list));
    how = found != data_.end() ? fmt::format("&bin[{}], {}", found->second.offset, found->second.bytes) : how;
  }
  if (value.contains("request")) {
    how += ", " + value["request"].dump();
  }
  globals_ += fmt::format("IPlugin{}* plugin{};\n", isThird ? "V3" : "V2", id);
  statement(fmt::format("plugin{} = plugin{}({}, {}, {}, {}, {});", id, isThird ? 3 : 2, cppText(textAt(value, "type")),
                        cppText(textAt(value, "version")), cppText(textAt(value, "namespace")), cppText(textAt(value, "name")),
                        how));
}

void Emitter::lookAhead(const Line& line) {
  const Json& value = line.value;
  users_.take(line);
  if (value.contains("offset")) {
    data_[idOf(value["data"])] = {idOf(value["offset"]), idOf(value["bytes"]), false};
    smallest_ = std::max(smallest_, idOf(value["offset"]) + idOf(value["bytes"]));
  }
}

void Emitter::take(const Line& line) {
  const Json& value = line.value;
  if (value.contains("m")) {
    call(line, value["m"].get<std::string>());
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
  out += fmt::format("constexpr size_t smallestBin = {};\n", smallest_) + globals_ + "\n" + body_ + (parts_ > 0 ? "}\n" : "") +
         kEmittedEpilogue;
  for (int i = 0; i < parts_; ++i) {
    out += fmt::format("  part{}();\n", i);
  }
  return out + "  return failures == 0 ? 0 : 3;\n}\n";
}

}  // namespace

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
