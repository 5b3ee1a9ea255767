// Weights, plugins and what stands in for the application's objects, in an emitted program.
#include <fmt/format.h>

#include <utility>

#include "player/emit_parts.h"
#include "player/emitter.h"

namespace tenon::capture {
namespace {

std::string textAt(const Json& value, const char* key) {
  const Json found = value.value(key, Json());
  return found.is_string() ? found.get<std::string>() : std::string();
}

}  // namespace

void Emitter::weights(const Json& value) {
  const uint64_t id = idOf(value.at("weights"));
  std::string address;
  if (value.contains("data")) {
    Data& row = data_[idOf(value.at("data"))];
    address = fmt::format("&bin[{}]", row.offset);
    if (std::exchange(row.used, true)) {
      // The same content at another address: weights are named by address.
      globals_ += fmt::format("const void* copy{};\n", id);
      statement(fmt::format("copy{} = copyOf({}, {});", id, row.offset, row.bytes));
      address = fmt::format("copy{}", id);
    }
  } else if (value.contains("inline")) {
    const std::string bytes = cppBytes(value.at("inline"));
    globals_ += fmt::format("alignas(8) const unsigned char bytes{}[] = {{{}}};\n", id, bytes);
    address = fmt::format("bytes{}", id);
  } else {
    globals_ += fmt::format("std::vector<char> zeros{}({} * 8);  // values were not captured\n", id,
                            cppNumber(value.at("count")));
    address = fmt::format("zeros{}.data()", id);
  }
  weights_[id] =
      fmt::format("weights(DataType::{}, {}, {})", cppName(value.at("type")), address, cppNumber(value.at("count")));
}

// The object that stands in place of one of the application's.
void Emitter::user(const Json& value) {
  const uint64_t id = idOf(value.at("user"));
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
                         return fmt::format("{{{}, {}, {}}}", cppText(std::get<0>(stop)), std::get<1>(stop),
                                            std::get<2>(stop));
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
    made = fmt::format(
        "Writer user{}(std::map<int64_t, int64_t>{{{}}});\n", id,
        each(answers.refusedWrites, [](const auto& row) { return fmt::format("{{{}, {}}}", row.first, row.second); }));
  } else if (answers.interface == "IInt8Calibrator") {
    const auto cache = data_.find(answers.calibrationCache);
    made =
        fmt::format("Calibrator user{}({}, {}, {}, {});\n", id, answers.batchSize, static_cast<int>(answers.algorithm),
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
      const auto found = data_.find(idOf(entry.at("data")));
      address = found != data_.end() ? fmt::format("&bin[{}]", found->second.offset) : address;
    } else if (!textAt(entry, "hex").empty()) {
      address = fmt::format("std::vector<unsigned char>{{{}}}.data()", cppBytes(entry.at("hex")));
    }
    const Json& type = entry.at("type");
    out += fmt::format("{}PluginField({}, {}, {}, {})", out.empty() ? "" : ", ", cppText(entry.at("name")), address,
                       type.is_string() ? "PluginFieldType::" + cppName(type)
                                        : fmt::format("static_cast<PluginFieldType>({})", cppNumber(type)),
                       cppNumber(entry.at("length")));
  }
  return "{" + out + "}";
}

void Emitter::plugin(const Json& value) {
  hasPlugins_ = true;
  const uint64_t id = idOf(value.at("plugin"));
  const bool isThird = textAt(value, "interface") == "IPluginV3";
  const Json list = value.contains("fields") ? value.at("fields") : value.value("state", Json());
  std::string how = fields(list.is_array() ? list : Json::array());
  if (!list.is_array()) {
    const auto found = data_.find(idOf(list));
    how = found != data_.end() ? fmt::format("&bin[{}], {}", found->second.offset, found->second.bytes) : how;
  }
  if (value.contains("request")) {
    how += ", " + cppNumber(value.at("request"));
  }
  globals_ += fmt::format("IPlugin{}* plugin{};\n", isThird ? "V3" : "V2", id);
  statement(fmt::format("plugin{} = plugin{}({}, {}, {}, {}, {});", id, isThird ? 3 : 2, cppText(textAt(value, "type")),
                        cppText(textAt(value, "version")), cppText(textAt(value, "namespace")),
                        cppText(textAt(value, "name")), how));
}

}  // namespace tenon::capture
