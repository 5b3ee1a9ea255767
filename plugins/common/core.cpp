// Plugin objects: types, shapes, formats, expansion.
#include "common/core.h"

#include <map>

#include "common/own_engine.h"

namespace tenon::plugins {
namespace {

struct Live {
  std::mutex mutex;
  std::map<const void*, const Core*> objects;
};
Live& live() {
  static auto* const kLive = new Live;  // objects of a program may outlive main
  return *kLive;
}

bool isWide(nv::DataType type) {
  return type == nv::DataType::kFLOAT || type == nv::DataType::kHALF || type == nv::DataType::kBF16;
}

char letterOf(const std::string& letters, int index) {
  return letters.empty() ? 'a' : letters[std::min(static_cast<size_t>(index), letters.size() - 1)];
}

// The type that the operands with the letter x have: that of the first of them.
nv::DataType wideType(const std::string& letters, const nv::DataType* inputs, int count) {
  for (int i = 0; i < count; ++i) {
    if (letterOf(letters, i) == 'x') return inputs[i];
  }
  return nv::DataType::kFLOAT;
}

// Values with numbers of their own: the inputs stand for others, and outputs are changed before they are given away.
class BatchWriter final : public ExpansionWriter {
 public:
  BatchWriter(ExpansionWriter& inner, const Fields& fields) : inner_(inner), layers_(inner, fields) {
    for (int32_t i = 0; i < inner.inputCount(); ++i) inputs_.push_back(Value(layers_, i).unsqueeze(0).id());
  }
  int32_t inputCount() const noexcept override { return inner_.inputCount(); }
  nv::DataType type(int32_t value) const noexcept override { return inner_.type(at(value)); }
  int32_t rank(int32_t value) const noexcept override { return inner_.rank(at(value)); }
  const char* extent(int32_t value, int32_t axis) noexcept override { return inner_.extent(at(value), axis); }
  int32_t add(const char* op, const int32_t* inputs, int32_t count) noexcept override {
    try {
      std::vector<int32_t> ids;
      for (int32_t i = 0; i < count; ++i) ids.push_back(at(inputs[i]));
      return inner_.add(op, ids.data(), count);
    } catch (const std::bad_alloc&) {
      inner_.fail("out of memory");
      return -1;
    }
  }
  int32_t constant(nv::DataType type, const nv::Dims& dims, const void* elements) noexcept override {
    return inner_.constant(type, dims, elements);
  }
  void output(int32_t index, int32_t value) noexcept override {
    try {
      inner_.output(index, Value(layers_, at(value)).squeeze(0).id());
    } catch (const Layers::Failed&) {
    } catch (const std::exception& error) {
      inner_.fail(error.what());
    }
  }
  void fail(const char* message) noexcept override { inner_.fail(message); }

 private:
  int32_t at(int32_t value) const noexcept {
    return value >= 0 && value < inner_.inputCount() ? inputs_[static_cast<size_t>(value)] : value;
  }
  ExpansionWriter& inner_;
  Layers layers_;
  std::vector<int32_t> inputs_;
};

}  // namespace

void checkRequired(const Spec& spec, const Fields& fields) {
  for (const FieldSpec& field : spec.fields) {
    if (field.required && !fields.has(field.name)) {
      throw PluginError(fmt::format("field '{}' is missing", field.name));
    }
  }
}

void report(const std::string& message) noexcept {
  nv::ILogger* const logger = getLogger();
  if (logger != nullptr) logger->log(nv::ILogger::Severity::kERROR, message.c_str());
}

Core::Core(const Spec& spec, Fields fields) : spec_(spec), fields_(std::move(fields)) {
  checkRequired(spec, fields_);
  if (spec.check) spec.check(fields_);
  outputs_ = spec.outputsOf ? spec.outputsOf(fields_) : spec.outputs;
}

Core::Core(const Core& other)
    : PluginExpansion(), spec_(other.spec_), fields_(other.fields_), outputs_(other.outputs_), space_(other.space_) {}

Core::~Core() {
  const std::lock_guard lock(live().mutex);
  live().objects.erase(address_);
}

void Core::known(const void* address) {
  address_ = address;
  const std::lock_guard lock(live().mutex);
  live().objects[address] = this;
}

const PluginExpansion* LiveExpansions::find(const void* plugin) const noexcept {
  const std::lock_guard lock(live().mutex);
  const auto found = live().objects.find(plugin);
  return found != live().objects.end() ? found->second : nullptr;
}

nv::DataType Core::outputType(int index, const nv::DataType* inputs, int inputCount) const {
  switch (letterOf(outputs_, index)) {
    case 'i': return nv::DataType::kINT32;
    case 'l': return nv::DataType::kINT64;
    case 'h': return nv::DataType::kHALF;
    case 'a': return inputCount > 0 ? inputs[0] : nv::DataType::kFLOAT;
    case 'x': return wideType(spec_.inputs, inputs, inputCount);
    default: return nv::DataType::kFLOAT;
  }
}

std::vector<Dims> Core::shapes(const std::vector<Dims>& inputs) const {
  const bool isSample =
      spec_.sampleRank > 0 && !inputs.empty() && inputs[0].size() == static_cast<size_t>(spec_.sampleRank);
  if (!isSample) return spec_.shapes(fields_, inputs);
  auto batched = inputs;
  for (Dims& dims : batched) dims.insert(dims.begin(), Dim(1));
  auto outputs = spec_.shapes(fields_, batched);
  for (Dims& dims : outputs) dims.erase(dims.begin());
  return outputs;
}

bool Core::takes(int position, const nv::PluginTensorDesc* operands, int inputCount) const {
  const auto& asked = operands[position];
  if (asked.format != nv::TensorFormat::kLINEAR) return false;
  std::vector<nv::DataType> types;
  for (int i = 0; i < std::min(position, inputCount); ++i) types.push_back(operands[i].type);
  if (position >= inputCount) {
    return asked.type == outputType(position - inputCount, types.data(), static_cast<int>(types.size()));
  }
  switch (letterOf(spec_.inputs, position)) {
    case 'f': return asked.type == nv::DataType::kFLOAT;
    case 'i': return asked.type == nv::DataType::kINT32;
    case 'l': return asked.type == nv::DataType::kINT64;
    case 'n': return asked.type == nv::DataType::kINT32 || asked.type == nv::DataType::kINT64;
    case 'q': return asked.type == nv::DataType::kINT8 || isWide(asked.type);
    case 'x': {
      for (int i = 0; i < position; ++i) {
        if (letterOf(spec_.inputs, i) == 'x') return asked.type == operands[i].type;
      }
      return isWide(asked.type);
    }
    default: return true;
  }
}

void Core::expand(ExpansionWriter& writer) const noexcept {
  try {
    const bool isSample = spec_.sampleRank > 0 && writer.inputCount() > 0 && writer.rank(0) == spec_.sampleRank;
    if (isSample) {
      BatchWriter batched(writer, fields_);
      Layers layers(batched, fields_);
      spec_.expand(layers);
    } else {
      Layers layers(writer, fields_);
      spec_.expand(layers);
    }
  } catch (const Layers::Failed&) {  // the writer knows
  } catch (const std::exception& error) {
    writer.fail(error.what());
  }
}

int32_t Core::run(const Operands& operands, cudaStream_t stream) const noexcept {
  try {
    std::shared_ptr<OwnEngine> engine;
    {
      const std::lock_guard lock(mutex_);
      if (engine_ == nullptr || !engine_->isFor(operands)) {
        engine_ = std::make_shared<OwnEngine>(
            operands, [this](auto& network, auto* inputs, int count) { return addTo(network, inputs, count); });
      }
      engine = engine_;
    }
    engine->run(operands, stream);
    return 0;
  } catch (const std::exception& error) {
    report(fmt::format("plugin '{}', version '{}': enqueue: {}", spec_.name, spec_.version, error.what()));
    return 1;
  }
}

}  // namespace tenon::plugins
