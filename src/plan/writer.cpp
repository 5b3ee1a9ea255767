// Plan to bytes: sections are laid out first, then the manifest that names their offsets, then all is put together.
#include <algorithm>
#include <cstring>
#include <map>

#include "core/error.h"
#include "plan/checksum.h"
#include "plan/file.h"
#include "plan/header.h"
#include "plan/verify.h"
#include "plan_generated.h"

namespace tenon::plan {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T>
using Offsets = std::vector<Offset<T>>;

struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Constants of equal type of bytes share their place; the checksum finds them, comparing decides.
class ConstantSection {
 public:
  explicit ConstantSection(const std::vector<ConstantRecord>& constants) {
    for (const auto& constant : constants) add(constant);
  }

  std::vector<Place> places;
  std::vector<uint64_t> hashes;
  std::vector<const ConstantRecord*> stored;  // in order of offsets
  uint64_t bytes = 0;

 private:
  void add(const ConstantRecord& constant) {
    const uint64_t hash = checksum(constant.data.get(), constant.bytes);
    hashes.push_back(hash);
    for (const auto& [index, place] : known_[hash]) {
      const auto* other = stored[index];
      if (other->bytes == constant.bytes &&
          (constant.bytes == 0 || std::memcmp(other->data.get(), constant.data.get(), constant.bytes) == 0)) {
        places.push_back(place);
        return;
      }
    }
    places.push_back({bytes, constant.bytes});
    known_[hash].emplace_back(stored.size(), places.back());
    stored.push_back(&constant);
    bytes = alignSection(bytes + constant.bytes);
  }

  std::map<uint64_t, std::vector<std::pair<size_t, Place>>> known_;
};

class ManifestWriter {
 public:
  ManifestWriter(const Plan& plan, const ConstantSection& constants) : plan_(plan), constants_(constants) {}

  std::span<const uint8_t> write(const std::vector<Place>& nativePlaces) {
    const auto io = all<fbs::Io>(plan_.io, [&](const Io& x) { return one(x); });
    const auto symbols = all<fbs::Symbol>(plan_.symbols, [&](const Symbol& x) {
      return fbs::CreateSymbol(fb_, text(x.name), x.fromContents, x.io, x.index);
    });
    const auto profiles = all<fbs::Profile>(plan_.profiles, [&](const auto& x) { return one(x); });
    const auto programs = all<fbs::Program>(plan_.programs, [&](const Program& x) { return one(x); });
    size_t index = 0;
    const auto constants =
        all<fbs::Constant>(plan_.constants, [&](const ConstantRecord& x) { return one(x, index++); });
    const auto native = all<fbs::NativeCode>(
        nativePlaces, [&](const Place& x) { return fbs::CreateNativeCode(fb_, x.offset, x.bytes); });
    const auto facts = all<fbs::Fact>(plan_.facts, [&](const auto& x) {
      const auto key = text(x.first);
      return fbs::CreateFact(fb_, key, text(x.second));
    });
    const auto shapeSteps = all<fbs::ShapeStep>(plan_.shapes.steps, [&](const ShapeStep& x) { return one(x); });
    const auto shapeSymbols = all<fbs::ShapeSymbol>(plan_.shapes.symbols, [&](const ShapeSymbol& x) {
      return fbs::CreateShapeSymbol(fb_, text(x.name), x.value, x.element);
    });
    const auto sizes = all<fbs::Size>(plan_.sizes, [&](const Size& x) {
      const auto itsName = text(x.name);
      const auto layer = text(x.layer);
      const auto opt = text(x.opt.text());
      return fbs::CreateSize(fb_, itsName, layer, opt, text(x.upper.text()));
    });
    const auto name = text(plan_.name);
    const auto device = text(plan_.target.device);
    const auto deviceName = text(plan_.target.deviceName);
    const auto requirements = texts(plan_.target.requirements);
    fb_.Finish(
        fbs::CreateManifest(fb_, name, device, deviceName, requirements, io, symbols, profiles, programs, constants,
                            native, plan_.profilingVerbosity, plan_.refittable, facts, shapeSteps, shapeSymbols, sizes),
        fbs::ManifestIdentifier());
    return {fb_.GetBufferPointer(), fb_.GetSize()};
  }

 private:
  using Texts = Offset<flatbuffers::Vector<Offset<flatbuffers::String>>>;

  // FlatBuffers ends at 2 GiB without a word; what is written so far is looked at before each table.
  void checkSize() const {
    checkUser(fb_.GetSize() < (1u << 30),
              "plan '{}': its manifest exceeds 1 GiB; the network has too many layers for one engine", plan_.name);
  }

  Offset<flatbuffers::String> text(const std::string& value) {
    checkUser(value.size() < (1u << 28), "plan '{}': a text of {} bytes exceeds 256 MiB", plan_.name, value.size());
    checkSize();
    return fb_.CreateString(value);
  }

  Texts texts(const std::vector<std::string>& values) {
    Offsets<flatbuffers::String> offsets;
    for (const auto& value : values) offsets.push_back(text(value));
    return fb_.CreateVector(offsets);
  }

  Texts texts(const Shape& shape) {
    std::vector<std::string> values;
    for (const auto& extent : shape) values.push_back(extent.text());
    return texts(values);
  }

  Offset<flatbuffers::Vector<int64_t>> longs(const Dims& dims) {
    return fb_.CreateVector(dims.begin(), static_cast<size_t>(dims.rank));
  }

  template <typename Table, typename Range, typename Make>
  Offset<flatbuffers::Vector<Offset<Table>>> all(const Range& values, Make make) {
    Offsets<Table> offsets;
    for (const auto& value : values) {
      checkSize();
      offsets.push_back(make(value));
    }
    return fb_.CreateVector(offsets);
  }

  Offset<fbs::ShapeStep> one(const ShapeStep& step) {
    const auto layer = text(step.layer);
    const auto op = text(step.op);
    const auto inputs = fb_.CreateVector(step.inputs);
    const auto dtype = text(std::string(tenon::name(step.dtype)));
    const auto dims = longs(step.dims);
    const auto extents = texts(step.extents);
    const auto numbers = fb_.CreateVector(step.numbers);
    return fbs::CreateShapeStep(fb_, layer, op, inputs, step.outputs, dtype, dims, extents, numbers);
  }

  Offset<fbs::Io> one(const Io& io) {
    const auto itsName = text(io.name);
    const auto dtype = text(std::string(tenon::name(io.dtype)));
    const auto shape = texts(io.shape);
    const auto names = texts(io.dimensionNames);
    const auto format = text(tenon::name(io.layout));
    return fbs::CreateIo(fb_, itsName, io.isInput, dtype, shape, names, format, io.isShapeTensor);
  }

  Offset<fbs::Profile> one(const std::map<std::string, InputRange>& profile) {
    const auto ranges = all<fbs::Range>(profile, [&](const auto& entry) {
      const InputRange& range = entry.second;
      const auto input = text(entry.first);
      const auto min = longs(range.min), opt = longs(range.opt), max = longs(range.max);
      const auto minValues = fb_.CreateVector(range.minValues);
      const auto optValues = fb_.CreateVector(range.optValues);
      const auto maxValues = fb_.CreateVector(range.maxValues);
      return fbs::CreateRange(fb_, input, min, opt, max, minValues, optValues, maxValues);
    });
    return fbs::CreateProfile(fb_, ranges);
  }

  Offset<fbs::Tensor> one(const TensorRecord& tensor) {
    const auto itsName = text(tensor.name);
    const auto dtype = text(std::string(tenon::name(tensor.dtype)));
    const auto shape = texts(tensor.shape);
    const auto format = text(tenon::name(tensor.layout));
    const auto extent = [&](const Extent& value) {
      return value.isConstant(0) ? Offset<flatbuffers::String>() : text(value.text());
    };
    const auto viewOffset = extent(tensor.viewOffset);
    const auto pitch = extent(tensor.pitch);
    return fbs::CreateTensor(fb_, itsName, dtype, shape, format, static_cast<uint8_t>(tensor.storage), tensor.index,
                             tensor.offset, tensor.bytes, tensor.firstStep, tensor.lastStep, tensor.onHost,
                             tensor.debug, viewOffset, pitch);
  }

  Offset<fbs::Kernel> one(const KernelRecord& kernel) {
    const auto backend = text(kernel.backend);
    const auto itsName = text(kernel.name);
    const auto op = text(kernel.op);
    const auto params = text(kernel.params);
    return fbs::CreateKernel(fb_, backend, itsName, kernel.version, op, params, kernel.nativeCode);
  }

  Offset<fbs::RangeKernel> one(const RangeKernel& other) {
    const auto kernel = one(other.kernel);
    const auto tactic = text(other.tactic);
    return fbs::CreateRangeKernel(fb_, kernel, tactic, other.tacticValue, other.elements.low, other.elements.high);
  }

  Offset<fbs::Step> one(const Step& step) {
    const auto kernel = one(step.kernel);
    const auto itsName = text(step.name);
    const auto origins = texts(step.origins);
    const auto layerType = text(step.layerType);
    const auto tactic = text(step.tactic);
    const auto metadata = text(step.metadata);
    const auto inputs = fb_.CreateVector(step.inputs);
    const auto outputs = fb_.CreateVector(step.outputs);
    const auto others = step.others.empty()
                            ? Offset<flatbuffers::Vector<Offset<fbs::RangeKernel>>>()
                            : all<fbs::RangeKernel>(step.others, [&](const RangeKernel& x) { return one(x); });
    return fbs::CreateStep(fb_, static_cast<uint8_t>(step.kind), kernel, itsName, origins, layerType, tactic, inputs,
                           outputs, step.workspaceOffset, step.workspaceBytes, step.tacticValue, metadata, others);
  }

  Offset<fbs::Program> one(const Program& program) {
    const auto tensors = all<fbs::Tensor>(program.tensors, [&](const TensorRecord& x) { return one(x); });
    const auto steps = all<fbs::Step>(program.steps, [&](const Step& x) { return one(x); });
    const auto ioTensors = fb_.CreateVector(program.ioTensors);
    std::vector<int64_t> low, high;
    for (const auto& bounds : program.shapeBounds) {
      low.push_back(bounds.low);
      high.push_back(bounds.high);
    }
    const auto shapeLow = fb_.CreateVector(low);
    const auto shapeHigh = fb_.CreateVector(high);
    const auto cuts = fb_.CreateVector(program.cuts);
    const auto sizeTensors = fb_.CreateVector(program.sizeTensors);
    return fbs::CreateProgram(fb_, tensors, steps, ioTensors, program.arenaBytes, program.auxStreams, shapeLow,
                              shapeHigh, cuts, sizeTensors);
  }

  Offset<fbs::Constant> one(const ConstantRecord& constant, size_t index) {
    const auto dtype = text(std::string(tenon::name(constant.dtype)));
    const auto dims = longs(constant.dims);
    const auto weights = text(constant.weights);
    const auto& place = constants_.places[index];
    return fbs::CreateConstant(fb_, dtype, dims, constants_.hashes[index], weights, place.offset, place.bytes);
  }

  const Plan& plan_;
  const ConstantSection& constants_;
  FlatBufferBuilder fb_;
};

Section finish(const LargeVector<std::byte>& bytes, uint64_t offset, uint64_t size) {
  return {offset, size, checksum(bytes.data() + offset, size)};
}

// Sections are written in order and the gaps between them cleared: the memory is touched once.
class SectionWriter {
 public:
  explicit SectionWriter(LargeVector<std::byte>& bytes) : bytes_(bytes) {}
  void put(uint64_t offset, const void* data, uint64_t size) {
    fill(offset);
    if (size != 0) std::memcpy(bytes_.data() + offset, data, size);
    done_ = offset + size;
  }
  void fill(uint64_t end) {
    if (end > done_) std::memset(bytes_.data() + done_, 0, end - done_);
    done_ = std::max(done_, end);
  }

 private:
  LargeVector<std::byte>& bytes_;
  uint64_t done_ = 0;
};

}  // namespace

LargeVector<std::byte> write(const Plan& plan) {
  verify(plan);
  const ConstantSection constants(plan.constants);
  std::vector<Place> nativePlaces;
  uint64_t nativeBytes = 0;
  for (const auto& code : plan.nativeCode) {
    nativePlaces.push_back({nativeBytes, code.size()});
    nativeBytes = alignSection(nativeBytes + code.size());
  }
  ManifestWriter writer(plan, constants);
  const auto manifest = writer.write(nativePlaces);

  const uint64_t constantsAt = alignSection(kHeaderBytes + manifest.size());
  const uint64_t nativeAt = constantsAt + constants.bytes;
  LargeVector<std::byte> bytes(nativeAt + nativeBytes);
  SectionWriter sections(bytes);
  sections.put(kHeaderBytes, manifest.data(), manifest.size());
  uint64_t offset = constantsAt;
  for (const auto* constant : constants.stored) {
    sections.put(offset, constant->data.get(), constant->bytes);
    offset += alignSection(constant->bytes);
  }
  for (size_t i = 0; i < nativePlaces.size(); ++i) {
    sections.put(nativeAt + nativePlaces[i].offset, plan.nativeCode[i].data(), plan.nativeCode[i].size());
  }
  sections.fill(bytes.size());

  Header header;
  header.facts = {kFormatVersion, plan.tenonVersion, plan.apiVersion, bytes.size()};
  header.manifest = finish(bytes, kHeaderBytes, manifest.size());
  header.constants = finish(bytes, constantsAt, constants.bytes);
  header.nativeCode = finish(bytes, nativeAt, nativeBytes);
  const auto head = encode(header);
  std::memcpy(bytes.data(), head.data(), head.size());
  return bytes;
}

}  // namespace tenon::plan
