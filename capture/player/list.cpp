// Counts what the lines of a capture tell.
#include "player/list.h"

#include <fmt/format.h>
#include <tenon/printable.h>

#include <map>

namespace tenon::capture {
namespace {

struct Network {
  std::string name;
  int64_t layers = 0, inputs = 0, outputs = 0, weights = 0, weightElements = 0;
  std::map<std::string, int64_t> kinds;
};

struct Build {
  int line = 0;
  int64_t network = 0;
  std::string result;
};

class Listing {
 public:
  void take(const Line& line);
  std::string text(const Json& header) const;

 private:
  static uint64_t id(const Json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; }
  void takeCall(const Line& line, const std::string& name);

  std::map<int64_t, Network> networks_;
  std::map<uint64_t, int64_t> numbers_;  // of networks by object
  std::vector<Build> builds_;
  int64_t calls_ = 0, dataBytes_ = 0, random_ = 0;
};

void Listing::take(const Line& line) {
  const Json& value = line.value;
  if (value.contains("m") && value.at("m").is_string()) {
    takeCall(line, value.at("m").get<std::string>());
  } else if (value.contains("weights")) {
    Network& network = networks_[static_cast<int64_t>(id(value.value("network", Json())))];
    ++network.weights;
    network.weightElements += static_cast<int64_t>(id(value.value("count", Json())));
    random_ += value.value("random", Json()) == true ? 1 : 0;
  } else if (value.contains("offset")) {
    dataBytes_ += static_cast<int64_t>(id(value.value("bytes", Json())));
  }
}

void Listing::takeCall(const Line& line, const std::string& name) {
  const Json& value = line.value;
  const Json arguments = value.value("a", Json::array());
  const auto self = numbers_.find(id(value.value("o", Json())));
  ++calls_;
  if (name == "IBuilder.createNetworkV2" && value.contains("network")) {
    numbers_[id(value.value("r", Json()))] = static_cast<int64_t>(id(value.at("network")));
    networks_[static_cast<int64_t>(id(value.at("network")))];
  } else if (value.contains("build")) {
    const auto network = numbers_.find(arguments.empty() ? 0 : id(arguments[0]));
    const Json engine = value.value("engine", Json());
    const Json result = value.value("r", Json(false));
    builds_.push_back({line.number, network == numbers_.end() ? 0 : network->second,
                       !value.contains("r") ? "did not end"
                       : engine.is_object() ? fmt::format("{} bytes", id(engine.value("bytes", Json())))
                       : result.is_null() || result == false ? "failed"
                                                             : "an engine"});
  } else if (self != numbers_.end()) {
    Network& network = networks_[self->second];
    if (name == "INetworkDefinition.setName" && !arguments.empty() && arguments[0].is_string()) {
      network.name = arguments[0].get<std::string>();
    }
    network.inputs += name == "INetworkDefinition.addInput" ? 1 : 0;
    network.outputs += name == "INetworkDefinition.markOutput" ? 1 : 0;
  }
  const std::string made = value.value("new", Json("")).is_string() ? value.value("new", std::string()) : "";
  if (made.find("Layer") != std::string::npos) {
    Network& network = networks_[static_cast<int64_t>(id(value.value("network", Json())))];
    ++network.layers;
    ++network.kinds[made];
  }
}

std::string Listing::text(const Json& header) const {
  std::string out = fmt::format(
      "capture of the interface {}, library {}: {} calls, {} bytes of data, {} weights without values\n",
      header.value("api", Json()).dump(), header.value("library", Json()).dump(), calls_, dataBytes_, random_);
  for (const auto& [number, network] : networks_) {
    if (number == 0) {
      continue;
    }
    out += fmt::format("network {} '{}': {} layers, {} inputs, {} outputs, {} weights of {} elements\n", number,
                       printable(network.name), network.layers, network.inputs, network.outputs, network.weights,
                       network.weightElements);
    for (const auto& [kind, count] : network.kinds) {
      out += fmt::format("  {:6} {}\n", count, printable(kind));
    }
  }
  for (size_t i = 0; i < builds_.size(); ++i) {
    out += fmt::format("build {} of network {} (line {}): {}\n", i, builds_[i].network, builds_[i].line,
                       builds_[i].result);
  }
  return out;
}

}  // namespace

std::string listing(CaptureFile& capture) {
  Listing list;
  Line line;
  while (capture.next(line)) {
    list.take(line);
  }
  capture.rewind();
  return list.text(capture.header());
}

}  // namespace tenon::capture
