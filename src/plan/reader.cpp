// Bytes to plan. Nothing is believed: sections lie in the file and match their checksums, the manifest is verified as a
// FlatBuffer and read within a budget of its own size, and the plan that results is verified before anyone sees it.
#include <cstring>

#include "core/error.h"
#include "plan/checksum.h"
#include "plan/file.h"
#include "plan/header.h"
#include "plan/verify.h"
#include "plan_generated.h"

namespace tenon::plan {
namespace {

constexpr flatbuffers::uoffset_t kMaxDepth = 16;
constexpr flatbuffers::uoffset_t kMaxTables = 50'000'000;

void checkZeros(std::span<const std::byte> file, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) {
    checkUser(file[i] == std::byte{0}, "plan: it is damaged at byte {} (padding that is not zero)", i);
  }
}

// `at` is where the section must begin: sections follow one another without holes.
void checkPlace(std::span<const std::byte> file, const Section& section, uint64_t at, const char* what) {
  checkUser(section.offset == at, "plan: its section of {} begins at byte {}, expected {}", what, section.offset, at);
  checkUser(section.offset <= file.size() && section.bytes <= file.size() - section.offset,
            "plan: its section of {} ({} bytes at {}) reaches beyond the file of {} bytes", what, section.bytes,
            section.offset, file.size());
}

void checkBytes(std::span<const std::byte> file, const Section& section, const char* what) {
  checkUser(checksum(file.data() + section.offset, section.bytes) == section.checksum,
            "plan: its section of {} is damaged (checksum)", what);
}

void checkSection(std::span<const std::byte> file, const Section& section, uint64_t at, const char* what) {
  checkPlace(file, section, at, what);
  checkBytes(file, section, what);
}

constexpr uint64_t kManyConstants = 8 << 20;  // bytes, of which the checksum takes most of a millisecond

// Without the checksum of the constants where there are many and somebody calls `later`.
Header checkFile(const Blob& blob, std::function<void()>* later) {
  const auto file = blob.view();
  const Header header = decode(file);
  checkUser(header.facts.fileBytes == file.size(), "plan: it has {} bytes, its header says {}{}", file.size(),
            header.facts.fileBytes, file.size() < header.facts.fileBytes ? "; the file is cut off" : "");
  checkSection(file, header.manifest, kHeaderBytes, "the manifest");
  checkUser(header.manifest.bytes < (1ull << 31), "plan: its manifest has {} bytes, at most 2 GiB are possible",
            header.manifest.bytes);
  const uint64_t manifestEnd = header.manifest.offset + header.manifest.bytes;
  checkUser(alignSection(manifestEnd) <= file.size(), "plan: it ends within the padding after the manifest");
  checkZeros(file, manifestEnd, alignSection(manifestEnd));
  checkPlace(file, header.constants, alignSection(manifestEnd), "constants");
  if (later != nullptr && header.constants.bytes >= kManyConstants) {
    *later = [blob, section = header.constants] { checkBytes(blob.view(), section, "constants"); };
  } else {
    checkBytes(file, header.constants, "constants");
  }
  checkSection(file, header.nativeCode, header.constants.offset + header.constants.bytes, "native code");
  checkUser(header.nativeCode.offset + header.nativeCode.bytes == file.size(),
            "plan: it goes on after its last section");
  checkUser(header.constants.bytes % kSectionAlignment == 0 && header.nativeCode.bytes % kSectionAlignment == 0,
            "plan: a section does not end at a multiple of {} bytes", kSectionAlignment);
  return header;
}

// Reads tables. A forged manifest may refer to one text or table many times; what is read in all may not exceed the
// manifest itself, so that reading stays as cheap as the file is small.
class ManifestReader {
 public:
  ManifestReader(const Blob& blob, const Header& header)
      : blob_(blob), header_(header), budget_(header.manifest.bytes) {}

  Plan read() {
    const auto* bytes = reinterpret_cast<const uint8_t*>(blob_.data() + header_.manifest.offset);
    flatbuffers::Verifier verifier(bytes, header_.manifest.bytes, kMaxDepth, kMaxTables);
    checkUser(header_.manifest.bytes > 8 && fbs::VerifyManifestBuffer(verifier), "plan: its manifest is malformed");
    const auto* manifest = fbs::GetManifest(bytes);
    Plan plan;
    plan.tenonVersion = header_.facts.tenonVersion;
    plan.apiVersion = header_.facts.apiVersion;
    plan.name = text(manifest->name());
    plan.target = {text(manifest->device()), text(manifest->device_name()), texts(manifest->requirements())};
    all(manifest->io(), [&](const fbs::Io& x) { plan.io.push_back(one(x)); });
    all(manifest->symbols(), [&](const fbs::Symbol& x) {
      plan.symbols.push_back({text(x.name()), x.from_contents(), x.io(), x.index()});
    });
    all(manifest->profiles(), [&](const fbs::Profile& x) { plan.profiles.push_back(one(x)); });
    all(manifest->programs(), [&](const fbs::Program& x) { plan.programs.push_back(one(x)); });
    all(manifest->constants(), [&](const fbs::Constant& x) { plan.constants.push_back(one(x)); });
    all(manifest->native_code(), [&](const fbs::NativeCode& x) { plan.nativeCode.push_back(one(x)); });
    plan.profilingVerbosity = manifest->profiling_verbosity();
    plan.refittable = manifest->refittable();
    all(manifest->facts(), [&](const fbs::Fact& x) { plan.facts[text(x.key())] = text(x.value()); });
    all(manifest->shape_steps(), [&](const fbs::ShapeStep& x) { plan.shapes.steps.push_back(one(x)); });
    all(manifest->shape_symbols(), [&](const fbs::ShapeSymbol& x) {
      plan.shapes.symbols.push_back({text(x.name()), x.value(), x.element()});
    });
    all(manifest->sizes(), [&](const fbs::Size& x) {
      plan.sizes.push_back({text(x.name()), text(x.layer()), extent(x.opt()), extent(x.upper())});
    });
    return plan;
  }

 private:
  void charge(uint64_t bytes) {
    checkUser(bytes <= budget_, "plan: its manifest refers to its parts more than once");
    budget_ -= bytes;
  }

  std::string text(const flatbuffers::String* value) {
    if (value == nullptr) return {};
    charge(value->size() + 4);
    return value->str();
  }

  template <typename Vector, typename Take>
  void all(const Vector* values, Take take) {
    if (values == nullptr) return;
    charge(4 + 4ull * values->size());
    for (const auto* value : *values) {
      charge(4);
      take(*value);
    }
  }

  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* values) {
    std::vector<std::string> result;
    if (values == nullptr) return result;
    charge(4 + 4ull * values->size());
    for (const auto* value : *values) result.push_back(text(value));
    return result;
  }

  Shape shape(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* values) {
    Shape result;
    for (const auto& extent : texts(values)) result.push_back(Extent::parse(extent));
    return result;
  }

  // Zero where it is absent.
  Extent extent(const flatbuffers::String* value) { return value == nullptr ? Extent(0) : Extent::parse(text(value)); }

  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* values) {
    if (values == nullptr) return {};
    charge(4 + sizeof(T) * values->size());
    return {values->begin(), values->end()};
  }

  Dims dims(const flatbuffers::Vector<int64_t>* values) {
    const auto extents = numbers(values);
    checkUser(extents.size() <= static_cast<size_t>(kMaxRank),
              "plan: a tensor has {} dimensions, at most {} are possible", extents.size(), kMaxRank);
    return Dims::of(extents);
  }

  Layout layout(const flatbuffers::String* value) {
    const auto wanted = text(value);
    const auto layout = parseLayout(wanted);
    checkUser(layout.has_value(), "plan: unknown memory layout '{}'", wanted);
    return *layout;
  }

  DataType dtype(const flatbuffers::String* value) { return parseDataType(text(value)); }

  template <typename E>
  E enumeration(uint8_t value, E last, const char* what) {
    checkUser(value <= static_cast<uint8_t>(last), "plan: unknown {} {}", what, value);
    return static_cast<E>(value);
  }

  ShapeStep one(const fbs::ShapeStep& x) {
    return {text(x.layer()),  text(x.op()),   numbers(x.inputs()), x.outputs(),
            dtype(x.dtype()), dims(x.dims()), shape(x.extents()),  numbers(x.numbers())};
  }

  Io one(const fbs::Io& x) {
    return {text(x.name()),     x.is_input(),       dtype(x.dtype()), shape(x.shape()), texts(x.dimension_names()),
            layout(x.format()), x.is_shape_tensor()};
  }

  std::map<std::string, InputRange> one(const fbs::Profile& x) {
    std::map<std::string, InputRange> result;
    all(x.ranges(), [&](const fbs::Range& r) {
      result[text(r.input())] = {dims(r.min()),           dims(r.opt()),           dims(r.max()),
                                 numbers(r.min_values()), numbers(r.opt_values()), numbers(r.max_values())};
    });
    return result;
  }

  TensorRecord one(const fbs::Tensor& x) {
    TensorRecord tensor;
    tensor.name = text(x.name());
    tensor.dtype = dtype(x.dtype());
    tensor.shape = shape(x.shape());
    tensor.layout = layout(x.format());
    tensor.storage = enumeration(x.storage(), Storage::kView, "tensor storage");
    tensor.index = x.index();
    tensor.offset = x.offset();
    tensor.bytes = x.bytes();
    tensor.firstStep = x.first_step();
    tensor.lastStep = x.last_step();
    tensor.onHost = x.on_host();
    tensor.debug = x.debug();
    tensor.viewOffset = extent(x.view_offset());
    tensor.pitch = extent(x.pitch());
    return tensor;
  }

  KernelRecord one(const fbs::Kernel& x) {
    return {text(x.backend()), text(x.name()), x.version(), text(x.op()), text(x.params()), x.native_code()};
  }

  RangeKernel one(const fbs::RangeKernel& x) {
    RangeKernel other;
    other.elements = {x.low(), x.high()};
    if (x.kernel() != nullptr) other.kernel = one(*x.kernel());
    other.tactic = text(x.tactic());
    other.tacticValue = x.tactic_value();
    return other;
  }

  Step one(const fbs::Step& x) {
    Step step;
    step.kind = enumeration(x.kind(), StepKind::kView, "step kind");
    if (x.kernel() != nullptr) step.kernel = one(*x.kernel());
    step.name = text(x.name());
    step.origins = texts(x.origins());
    step.layerType = text(x.layer_type());
    step.tactic = text(x.tactic());
    step.inputs = numbers(x.inputs());
    step.outputs = numbers(x.outputs());
    step.workspaceOffset = x.workspace_offset();
    step.workspaceBytes = x.workspace_bytes();
    step.tacticValue = x.tactic_value();
    step.metadata = text(x.metadata());
    all(x.others(), [&](const fbs::RangeKernel& k) { step.others.push_back(one(k)); });
    return step;
  }

  Program one(const fbs::Program& x) {
    Program program;
    all(x.tensors(), [&](const fbs::Tensor& t) { program.tensors.push_back(one(t)); });
    all(x.steps(), [&](const fbs::Step& s) { program.steps.push_back(one(s)); });
    program.ioTensors = numbers(x.io_tensors());
    program.arenaBytes = x.arena_bytes();
    program.auxStreams = x.aux_streams();
    const auto low = numbers(x.shape_low());
    const auto high = numbers(x.shape_high());
    checkUser(low.size() == high.size(), "plan: {} lower and {} upper bounds of computed sizes", low.size(),
              high.size());
    for (size_t i = 0; i < low.size(); ++i) program.shapeBounds.push_back({low[i], high[i]});
    program.cuts = numbers(x.cuts());
    program.sizeTensors = numbers(x.size_tensors());
    return program;
  }

  // Where bytes of a section stand in the file.
  uint64_t locate(const Section& section, uint64_t offset, uint64_t bytes, const char* what) {
    checkUser(offset % kSectionAlignment == 0 && offset <= section.bytes && bytes <= section.bytes - offset,
              "plan: {} of {} bytes at {} reaches outside its section of {} bytes", what, bytes, offset, section.bytes);
    return section.offset + offset;
  }

  ConstantRecord one(const fbs::Constant& x) {
    ConstantRecord constant{dtype(x.dtype()), dims(x.dims()), x.hash(), text(x.weights()), nullptr, x.bytes()};
    constant.data = blob_.share(locate(header_.constants, x.offset(), x.bytes(), "a constant"));
    return constant;
  }

  std::vector<std::byte> one(const fbs::NativeCode& x) {
    const uint64_t at = locate(header_.nativeCode, x.offset(), x.bytes(), "native code");
    checkUser(x.offset() >= nativeEnd_, "plan: its native code overlaps");
    nativeEnd_ = x.offset() + x.bytes();
    return {blob_.data() + at, blob_.data() + at + x.bytes()};
  }

  const Blob& blob_;
  const Header& header_;
  uint64_t budget_;
  uint64_t nativeEnd_ = 0;
};

}  // namespace

Plan read(const Blob& blob, std::function<void()>* later) {
  const Header header = checkFile(blob, later);
  Plan plan = ManifestReader(blob, header).read();
  verify(plan);
  return plan;
}

}  // namespace tenon::plan
