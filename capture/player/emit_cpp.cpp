// Writes a capture as a program.
#include "player/emit_cpp.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "common/method.h"
#include "player/public_names.h"

namespace tenon::capture {
namespace {

constexpr char kPrologue[] = R"(// Makes the calls of a captured build again. usage: program FILE.bin ENGINE
#include <NvInfer.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace nvinfer1;

namespace {

class Logger final : public ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
} logger;

std::vector<char> bin;
std::string engineName;
int engines = 0;
int failures = 0;

Weights weights(DataType type, const void* values, int64_t count) {
  Weights result{type, values, count};
  return result;
}

const void* copyOf(size_t offset, size_t size) {
  char* copy = new char[size];
  std::memcpy(copy, &bin[offset], size);
  return copy;
}

void save(IHostMemory* engine) {
  const std::string name = engineName + std::to_string(engines++);
  if (engine == nullptr) {
    std::printf("%s: no engine\n", name.c_str());
    ++failures;
    return;
  }
  std::ofstream(name, std::ios::binary).write(static_cast<const char*>(engine->data()), static_cast<std::streamsize>(engine->size()));
}

)";

constexpr char kEpilogue[] = R"(
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FILE.bin ENGINE\n", argv[0]);
    return 64;
  }
  std::ifstream file(argv[1], std::ios::binary);
  bin.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (bin.size() < smallestBin) {
    std::fprintf(stderr, "%s is too short\n", argv[1]);
    return 1;
  }
  engineName = argv[2];
)";

uint64_t idOf(const Json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; }

class Emitter {
 public:
  Emitter() {
    int index = 0;
    for (const MethodInfo& method : methods()) {
      methods_.emplace(method.name, index++);
    }
  }
  void take(const Line& line);
  std::string text() const;

 private:
  void call(const Line& line, const std::string& name);
  void remove(uint64_t id);
  std::string argument(const Json& value, const ParameterInfo& parameter, int line);
  std::string object(uint64_t id, const std::string& type, bool isReference) const;
  void statement(const std::string& text);
  std::string list(const Json& value, const char* element);

  struct Data {
    uint64_t offset = 0, bytes = 0;
    bool used = false;
  };
  std::unordered_map<std::string_view, int> methods_;
  std::map<uint64_t, Data> data_;
  std::map<uint64_t, std::string> types_;     // class of each object
  std::map<uint64_t, std::string> weights_;   // expression of each
  std::string globals_, body_;
  uint64_t smallest_ = 0;
  int statements_ = 0, parts_ = 0, arrays_ = 0;
};

// Functions of a few hundred statements: compilers are slow with larger ones.
void Emitter::statement(const std::string& text) {
  constexpr int kPerPart = 250;
  if (statements_++ % kPerPart == 0) {
    body_ += fmt::format("{}void part{}() {{\n", statements_ > 1 ? "}\n\n" : "", parts_++);
  }
  body_ += "  " + text + "\n";
}

std::string quotedText(const Json& value) {
  if (!value.is_string()) {
    return "nullptr";
  }
  std::string out = "\"";
  for (const char c : value.get<std::string>()) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f || c == '?') {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(const Json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return text.find("nan") != std::string::npos ? "std::nan(\"\")" : text[0] == '-' ? "-INFINITY" : "INFINITY";
  }
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() == INT64_MIN) {
    return "INT64_MIN";
  }
  return value.dump() + (value.is_number_integer() && (value > INT32_MAX || value < INT32_MIN) ? "LL" : "");
}

std::string joined(const Json& value) {
  std::string out;
  for (const Json& entry : value) {
    out += (out.empty() ? "" : ", ") + number(entry);
  }
  return out;
}

std::string Emitter::list(const Json& value, const char* element) {
  if (!value.is_array()) {
    return "nullptr";
  }
  globals_ += fmt::format("{} list{}[] = {{{}}};\n", element, arrays_, value.empty() ? "0" : joined(value));
  return fmt::format("list{}", arrays_++);
}

std::string Emitter::object(uint64_t id, const std::string&, bool isReference) const {
  const auto found = types_.find(id);
  return found == types_.end() ? "nullptr" : fmt::format("{}o{}", isReference ? "*" : "", id);
}

std::string Emitter::argument(const Json& value, const ParameterInfo& parameter, int line) {
  const std::string type(parameter.type);
  const std::string_view kind = parameter.kind;
  if (kind == "boolean") {
    return value.dump();
  }
  if (kind == "integer" || kind == "real") {
    return number(value);
  }
  if (kind == "text") {
    return quotedText(value);
  }
  if (kind == "enumeration") {
    return value.is_string() ? type + "::" + value.get<std::string>() : fmt::format("static_cast<{}>({})", type, value.dump());
  }
  if (kind == "dims") {
    return value.is_array() ? fmt::format("Dims{{{}, {{{}}}}}", value.size(), joined(value)) : "Dims{-1, {}}";
  }
  if (kind == "permutation") {
    return fmt::format("Permutation{{{{{}}}}}", joined(value));
  }
  if (kind == "weights") {
    const auto found = weights_.find(idOf(value.value("w", Json())));
    return found != weights_.end() ? found->second
                                   : fmt::format("Weights{{DataType::{}, nullptr, {}}}", value.value("type", std::string("kFLOAT")),
                                                 value.value("count", Json(0)).dump());
  }
  if (kind == "object") {
    return object(idOf(value), type, type.back() == '&');
  }
  if (kind == "objects") {
    std::string names;
    for (const Json& entry : value) {
      names += (names.empty() ? "" : ", ") + object(idOf(entry), type, false);
    }
    const std::string array = fmt::format("list{}", arrays_++);
    statement(fmt::format("ITensor* {}[] = {{{}}};", array, names.empty() ? "nullptr" : names));
    return array;
  }
  if (kind == "ints32" || kind == "ints64" || kind == "floats") {
    return list(value, kind == "ints32" ? "int32_t" : kind == "ints64" ? "int64_t" : "float");
  }
  if (kind == "blob") {
    const auto found = data_.find(idOf(value.is_object() ? value["data"] : Json()));
    return found == data_.end() ? "nullptr" : fmt::format("&bin[{}]", found->second.offset);
  }
  if (kind == "out_object") {
    statement(fmt::format("IHostMemory* list{} = nullptr;", arrays_));
    return fmt::format("list{}", arrays_++);
  }
  if (kind == "user" || kind == "stream" || kind == "texts") {
    return "nullptr";
  }
  throw CaptureError(fmt::format("line {}: --emit-cpp cannot write an argument of the type {}", line, type));
}

void Emitter::remove(uint64_t id) {
  if (types_.count(id) != 0) {
    statement(fmt::format("delete o{};", id));
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
    return remove(self);
  }
  const auto found = methods_.find(name);
  const std::string function = name.substr(name.find('.') + 1);
  // What only asks and gives nothing new does not change the engine.
  const bool onlyAsks = function.rfind("get", 0) == 0 || function.rfind("is", 0) == 0 || function.rfind("are", 0) == 0 ||
                        function.rfind("has", 0) == 0 || function.rfind("query", 0) == 0 ||
                        name.rfind("IHostMemory.", 0) == 0;
  if (found == methods_.end() || types_.count(self) == 0 || (onlyAsks && !value.contains("new"))) {
    return;
  }
  const MethodInfo& method = methods()[static_cast<size_t>(found->second)];
  const Json& values = value.at("a");
  const bool isStream = name == "IBuilder.buildSerializedNetworkToStream";  // the same engine, which save() writes
  std::string arguments;
  for (size_t i = 0; i < (isStream ? 2 : method.parameters.size()) && i < values.size(); ++i) {
    arguments += (i > 0 ? ", " : "") + argument(values[i], method.parameters[i], line.number);
  }
  const std::string_view offered = isStream ? "buildSerializedNetwork" : publicNames()[static_cast<size_t>(found->second)];
  const std::string expression = fmt::format("o{}->{}({})", self, offered, arguments);
  if (id != 0 && value.contains("new")) {
    const std::string made = value["new"].get<std::string>();
    const char* cast = method.result.type.rfind("const ", 0) == 0 ? "const_cast" : "static_cast";
    types_[id] = made;
    globals_ += fmt::format("{}* o{};\n", made, id);
    statement(fmt::format("o{} = {}<{}*>({}{});", id, cast, made, method.result.type.back() == '&' ? "&" : "", expression));
    if (method.isBuild) {
      statement(fmt::format("save(o{});", id));
    }
  } else if (method.isBuild) {
    statement(method.name == "IBuilder.buildEngineWithConfig" ? expression + ";" : fmt::format("save({});", expression));
  } else {
    statement(expression + ";");
  }
}

void Emitter::take(const Line& line) {
  const Json& value = line.value;
  if (value.contains("m")) {
    return call(line, value["m"].get<std::string>());
  }
  if (value.contains("offset")) {
    data_[idOf(value["data"])] = {idOf(value["offset"]), idOf(value["bytes"]), false};
    smallest_ = std::max(smallest_, idOf(value["offset"]) + idOf(value["bytes"]));
  } else if (value.contains("weights")) {
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
      const std::string hex = value["inline"].get<std::string>();
      std::string bytes;
      for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += (i > 0 ? ", 0x" : "0x") + hex.substr(i, 2);
      }
      globals_ += fmt::format("alignas(8) const unsigned char bytes{}[] = {{{}}};\n", id, bytes);
      address = fmt::format("bytes{}", id);
    } else {
      globals_ += fmt::format("std::vector<char> zeros{}({} * 8);  // values were not captured\n", id, value["count"].dump());
      address = fmt::format("zeros{}.data()", id);
    }
    weights_[id] = fmt::format("weights(DataType::{}, {}, {})", value["type"].get<std::string>(), address, value["count"].dump());
  } else if (value.contains("plugin")) {
    throw CaptureError(fmt::format("line {}: --emit-cpp does not write programs with plugins", line.number));
  }
}

std::string Emitter::text() const {
  std::string out = kPrologue + fmt::format("constexpr size_t smallestBin = {};\n", smallest_) + globals_ + "\n" + body_ +
                    (parts_ > 0 ? "}\n" : "") + kEpilogue;
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
      emitter.take(line);
    }
  } catch (const Json::exception& error) {
    throw CaptureError(fmt::format("line {}: {}", line.number, error.what()));
  }
  capture.rewind();
  return emitter.text();
}

}  // namespace tenon::capture
