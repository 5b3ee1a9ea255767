// SPDX-License-Identifier: Apache-2.0
// Questions to creators and plugin objects, each asked more than once, of clones too, and with wrong data.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "checks.h"

namespace tenon::check {
namespace {

[[noreturn]] void wrong(const std::string& text) { throw Wrong(text); }

void checkCreator(Creator& creator) {
  for (const auto& [what, text] :
       {std::pair{"getPluginName()", creator.name()}, std::pair{"getPluginVersion()", creator.version()}}) {
    if (text == nullptr || *text == '\0') wrong(fmt::format("{} returns no text", what));
  }
  if (creator.space() == nullptr) wrong("getPluginNamespace() returns null; expected a text, empty for none");
  const auto* fields = creator.fieldNames();
  if (fields == nullptr) wrong("getFieldNames() returns null; expected a list, empty for a plugin without fields");
  if (fields->nbFields < 0 || (fields->nbFields > 0 && fields->fields == nullptr))
    wrong(fmt::format("getFieldNames() returns {} fields at a null pointer", fields->nbFields));
  std::set<std::string> names;
  for (int32_t i = 0; i < fields->nbFields; ++i) {
    const auto& field = fields->fields[i];
    if (field.name == nullptr || *field.name == '\0') wrong(fmt::format("field {} of getFieldNames() has no name", i));
    if (!names.insert(field.name).second) wrong(fmt::format("getFieldNames() names '{}' twice", field.name));
    const auto type = static_cast<int32_t>(field.type);
    if (type < 0 || type > 13) wrong(fmt::format("field '{}' has the type {}; expected 0 to 13", field.name, type));
  }
  if (creator.fieldNames() != fields)
    wrong("getFieldNames() returns another list each time; the list belongs to the creator");
}

void checkIdentity(Creator& creator, const Request& request) {
  const auto plugin = makeOrFail(creator, request.fields);
  if (plugin->name() != creator.name() || plugin->version() != creator.version()) {
    wrong(fmt::format(
        "the plugin says that it is '{}' version '{}', its creator '{}' version '{}': an engine would not find "
        "the creator again",
        plugin->name(), plugin->version(), creator.name(), creator.version()));
  }
  const int32_t outputs = plugin->outputCount();
  if (outputs < 1) wrong(fmt::format("getNbOutputs() returns {}; expected 1 or more", outputs));
  if (plugin->outputCount() != outputs) wrong("getNbOutputs() returns another number the second time");
}

void checkClones(Creator& creator, const Request& request) {
  auto plugin = makeOrFail(creator, request.fields);
  auto copy = plugin->clone();
  const auto second = copy->clone();
  const std::string name = plugin->name(), version = plugin->version(), space = plugin->space();
  const int32_t outputs = plugin->outputCount();
  plugin.reset();
  copy.reset();
  if (second->name() != name || second->version() != version || second->space() != space) {
    wrong(fmt::format(
        "a clone is '{}' version '{}' namespace '{}', the plugin '{}' version '{}' namespace '{}': an engine would not find the "
        "creator again",
        second->name(), second->version(), second->space(), name, version, space));
  }
  if (second->outputCount() != outputs) wrong("a clone has another number of outputs");
}

// Fields as they may come from a file: what is not understood is refused by null, or left alone.
void checkOddFields(Creator& creator, const std::vector<nv::PluginField>& fields) {
  const nv::PluginFieldCollection collection{static_cast<int32_t>(fields.size()),
                                             fields.empty() ? nullptr : fields.data()};
  auto plugin = creator.make(collection);
  if (plugin != nullptr) (void)plugin->clone();
}

// One character at the end of the memory that may be read.
const char* guardedText() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Skipped("no memory with an end could be had");
  char* const last = static_cast<char*>(memory) + page - 1;
  *last = 'x';
  if (mprotect(static_cast<char*>(memory) + page, page, PROT_NONE) != 0)
    throw Skipped("no memory with an end could be had");
  return last;
}

void addFieldChecks(Creator& creator, const Request& request, std::vector<Check>& checks) {
  const auto natives = [&request] {
    std::vector<nv::PluginField> list;
    for (const auto& field : request.fields) list.push_back(field.native());
    return list;
  };
  checks.push_back({"creation without fields", [&creator] { checkOddFields(creator, {}); }});
  checks.push_back({"creation with a field that it does not know", [&creator, natives] {
                      static const float kOne = 1;
                      auto list = natives();
                      list.emplace_back("tenon_no_such_field", &kOne, nv::PluginFieldType::kFLOAT32, 1);
                      checkOddFields(creator, list);
                    }});
  for (size_t i = 0; i < request.fields.size(); ++i) {
    checks.push_back(
        {fmt::format("creation with no data in field '{}'", request.fields[i].name), [&creator, natives, i] {
           auto list = natives();
           list[i].data = nullptr;
           list[i].length = 0;
           checkOddFields(creator, list);
         }});
    checks.push_back(
        {fmt::format("creation with a text in field '{}'", request.fields[i].name), [&creator, natives, i] {
           // At the end of a page nobody may read beyond.
           static const char* const kText = guardedText();
           auto list = natives();
           list[i] = {list[i].name, kText, nv::PluginFieldType::kCHAR, 1};
           checkOddFields(creator, list);
         }});
  }
}

std::string described(const Descs& operands, int32_t count, int32_t inputs) {
  std::string result;
  for (int32_t i = 0; i < count; ++i) {
    const auto& desc = operands[static_cast<size_t>(i)].desc;
    result += fmt::format("{}{} {} {} {}", i > 0 ? ", " : "", i < inputs ? "input" : "output",
                          i < inputs ? i : i - inputs, name(desc.type), name(desc.format));
  }
  return result;
}

constexpr nv::TensorFormat kFormats[] = {nv::TensorFormat::kLINEAR, nv::TensorFormat::kCHW2,   nv::TensorFormat::kHWC8,
                                         nv::TensorFormat::kCHW4,   nv::TensorFormat::kCHW16,  nv::TensorFormat::kCHW32,
                                         nv::TensorFormat::kDHWC8,  nv::TensorFormat::kCDHW32, nv::TensorFormat::kHWC,
                                         nv::TensorFormat::kHWC16,  nv::TensorFormat::kDHWC};

// All combinations that the plugin takes, as the builder finds them: position by position, given those before.
class Formats {
 public:
  Formats(Plugin& plugin, Plugin& copy, Descs operands, int32_t inputs)
      : plugin_(plugin), copy_(copy), operands_(std::move(operands)), inputs_(inputs) {}
  std::vector<Descs> find() {
    descend(0);
    return std::move(found_);
  }

 private:
  void descend(size_t position) {
    constexpr int kMostQuestions = 20000;
    if (position == operands_.size()) {
      found_.push_back(operands_);
      return;
    }
    const auto linear = operands_[position].desc.format;
    for (const auto format : kFormats) {
      if (++questions_ > kMostQuestions) return;
      operands_[position].desc.format = format;
      if (ask(position)) descend(position + 1);
    }
    operands_[position].desc.format = linear;
  }
  bool ask(size_t position) {
    const auto at = static_cast<int32_t>(position);
    const bool answer = plugin_.supports(at, operands_, inputs_);
    const auto words = [&] { return described(operands_, at + 1, inputs_); };
    if (plugin_.supports(at, operands_, inputs_) != answer)
      wrong("supportsFormatCombination() answers otherwise when it is asked again: " + words());
    if (copy_.supports(at, operands_, inputs_) != answer) wrong("a clone answers otherwise: " + words());
    Descs later = operands_;
    for (size_t i = position + 1; i < later.size(); ++i) {
      later[i].desc.format = nv::TensorFormat::kDLA_HWC4;
      later[i].desc.type = nv::DataType::kBOOL;
    }
    if (plugin_.supports(at, later, inputs_) != answer) {
      wrong(fmt::format("supportsFormatCombination({}) looks at operands behind {}, which are not decided yet: {}", at,
                        at, words()));
    }
    return answer;
  }
  Plugin& plugin_;
  Plugin& copy_;
  Descs operands_;
  const int32_t inputs_;
  int questions_ = 0;
  std::vector<Descs> found_;
};

std::vector<Descs> combinations(Plugin& plugin, const Request& request, const Layer& layer) {
  const auto copy = plugin.clone();
  auto found = Formats(plugin, *copy, layer.operands, static_cast<int32_t>(request.inputs.size())).find();
  if (found.empty()) {
    wrong(fmt::format(
        "supportsFormatCombination() takes nothing of {}, in no format: no engine can be built of these inputs",
        described(layer.operands, static_cast<int32_t>(layer.operands.size()),
                  static_cast<int32_t>(request.inputs.size()))));
  }
  return found;
}

void checkShapes(Creator& creator, const Request& request) {
  const auto plugin = makeOrFail(creator, request.fields);
  const auto copy = plugin->clone();
  const auto first = layerOf(*plugin, request), second = layerOf(*copy, request);
  for (size_t i = request.inputs.size(); i < first.operands.size(); ++i) {
    const auto &a = first.operands[i].desc, &b = second.operands[i].desc;
    if (a.type != b.type || text(a.dims) != text(b.dims)) {
      wrong(fmt::format("output {} is {} {} of the plugin and {} {} of its clone", i - request.inputs.size(),
                        name(a.type), text(a.dims), name(b.type), text(b.dims)));
    }
    if (std::any_of(a.dims.d, a.dims.d + std::max(a.dims.nbDims, 0), [](int64_t extent) { return extent < 0; }))
      wrong(fmt::format("output {} has the shape {} for inputs of fixed shapes", i - request.inputs.size(),
                        text(a.dims)));
  }
}

void checkConfigurations(Creator& creator, const Request& request) {
  const auto plugin = makeOrFail(creator, request.fields);
  const auto layer = layerOf(*plugin, request);
  const auto inputs = static_cast<std::ptrdiff_t>(request.inputs.size());
  for (const auto& operands : combinations(*plugin, request, layer)) {
    const auto asked = plugin->clone();
    const Descs in(operands.begin(), operands.begin() + inputs), out(operands.begin() + inputs, operands.end());
    const auto words = described(operands, static_cast<int32_t>(operands.size()), static_cast<int32_t>(inputs));
    asked->configure(in, out);
    const auto tactics = asked->tactics();
    if (std::set<int32_t>(tactics.begin(), tactics.end()).size() != tactics.size() ||
        std::any_of(tactics.begin(), tactics.end(), [](int32_t tactic) { return tactic <= 0; }))
      wrong("getValidTactics() gives a tactic twice, or one below 1, or leaves one unwritten: " + words);
    const size_t bytes = asked->workspace(in, out);
    if (asked->workspace(in, out) != bytes)
      wrong("getWorkspaceSize() answers otherwise when it is asked again: " + words);
    if (bytes > size_t{1} << 40U) wrong(fmt::format("getWorkspaceSize() returns {} bytes: {}", bytes, words));
    plugin->configure(in, out);
    if (plugin->state() != asked->state())
      wrong("a clone that is configured like the plugin has another state: " + words);
    const auto copy = asked->clone();
    copy->configure(in, out);
    if (copy->state() != asked->state()) wrong("the clone of a configured plugin has another state: " + words);
  }
}

void checkState(Creator& creator, const Request& request) {
  auto plugin = makeOrFail(creator, request.fields);
  const auto layer = layerOf(*plugin, request);
  const auto operands = combinations(*plugin, request, layer).front();
  const auto inputs = static_cast<std::ptrdiff_t>(request.inputs.size());
  const Descs in(operands.begin(), operands.begin() + inputs), out(operands.begin() + inputs, operands.end());
  plugin->configure(in, out);
  const std::string state = plugin->state();
  if (plugin->state() != state) wrong("the state is another one when it is asked for again");
  const auto restored = creator.restore(state);
  if (restored == nullptr)
    wrong(fmt::format("the creator returns null for the {} bytes of state that its plugin gave", state.size()));
  if (restored->name() != plugin->name())
    wrong(fmt::format("the plugin from the state has the name '{}'", restored->name()));
  if (restored->state() != state) wrong("the plugin from the state has another state than the one it was made from");
  const auto copy = restored->clone();
  if (copy->state() != state) wrong("the clone of the plugin from the state has another state");
  const auto last = plugin->clone();
  last->configure(in, out);
  plugin.reset();
  if (last->state() != state) wrong("the state of a clone changes when the plugin it was made from is gone");
}

}  // namespace

std::unique_ptr<Plugin> makeOrFail(Creator& creator, const std::vector<Field>& fields) {
  std::vector<nv::PluginField> natives;
  for (const auto& field : fields) natives.push_back(field.native());
  auto plugin = creator.make({static_cast<int32_t>(natives.size()), natives.empty() ? nullptr : natives.data()});
  if (plugin == nullptr) {
    std::string known;
    const auto* names = creator.fieldNames();
    for (int32_t i = 0; names != nullptr && i < names->nbFields; ++i)
      known += fmt::format("{}{}", i > 0 ? ", " : "", names->fields[i].name);
    throw Skipped(
        fmt::format("createPlugin() returns null for the fields that were given; it names: {}. Give them with --field",
                    known.empty() ? "none" : known));
  }
  return plugin;
}

std::vector<Check> objectChecks(Creator& creator, const Request& request) {
  std::vector<Check> checks{{"creator", [&] { checkCreator(creator); }},
                            {"identity", [&] { checkIdentity(creator, request); }}};
  addFieldChecks(creator, request, checks);
  checks.push_back({"clones", [&] { checkClones(creator, request); }});
  checks.push_back({"types and shapes", [&] { checkShapes(creator, request); }});
  checks.push_back({"formats, tactics, workspace", [&] { checkConfigurations(creator, request); }});
  checks.push_back({"state and its creator", [&] { checkState(creator, request); }});
  return checks;
}

}  // namespace tenon::check
