// What a build produces and the runtime executes: programs of steps over tensors, constants, profiles. Plain data; the
// file form is plan/file.h. No ABI value (enum, mask, flag of the public headers) stands here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dims.h"
#include "core/dtype.h"
#include "core/extent.h"
#include "core/layout.h"
#include "core/shape_program.h"

namespace tenon::plan {

// How a backend makes a kernel. `name` and `version` are stable; `params` is text that the backend reads
// (fields of core/fields.h); nativeCode indexes Plan::nativeCode or is -1.
struct KernelRecord {
  std::string backend;  // ref, cpu, cuda, null
  std::string name;     // kernel within the backend, for example "dnnl.convolution"
  int32_t version = 1;
  std::string op;      // text of the operator that it computes
  std::string params;  // backend's own
  int32_t nativeCode = -1;
};

enum class Storage : uint8_t {
  kInput,     // address given by the user; index: of Plan::io
  kOutput,    // address given by the user; index: of Plan::io
  kArena,     // memory of the context; offset within the arena
  kConstant,  // index: of Plan::constants
  kView       // memory of tensor `index` (whose storage is no view), from viewOffset on
};

struct TensorRecord {
  std::string name;
  DataType dtype = DataType::kF32;
  Shape shape;  // over the program's symbols
  Layout layout;
  Storage storage = Storage::kArena;
  int32_t index = -1;
  uint64_t offset = 0;     // kArena: bytes from the arena's start, for the program's upper bounds
  uint64_t bytes = 0;      // upper bound over the profile
  int32_t firstStep = -1;  // lifetime, inclusive: written by firstStep, last used by lastStep
  int32_t lastStep = -1;
  bool onHost = false;    // shape tensors of a device engine
  bool debug = false;     // marked by the user: shown to the context's debug hook
  Extent viewOffset = 0;  // kView: bytes from the start of the tensor whose memory it is
  Extent pitch = 0;       // kView in kChannelsLast: elements from pixel to pixel; 0: as many as channels
};

enum class StepKind : uint8_t { kLaunch, kCopy, kView };

// A kernel that a step runs in the place of its own, for other extents than those that this was chosen for. It computes
// the same operator, on the same backend.
struct RangeKernel {
  Interval elements;  // of the step, as openElements() counts them: it runs from low to high
  KernelRecord kernel;
  std::string tactic;
  uint64_t tacticValue = 0;
};

// One step of a program. kLaunch runs a kernel on its tensors; kCopy copies inputs[0] to outputs[0], same bytes; kView
// does nothing, because its tensors share memory: profiler and inspector show the layer.
struct Step {
  StepKind kind = StepKind::kLaunch;
  KernelRecord kernel;
  std::string name;                  // layer name as profiler and inspector show it
  std::vector<std::string> origins;  // network layers computed here
  std::string layerType;             // for the inspector: operator's name
  std::string tactic;                // for the inspector: "<backend>.<kernel>" and variant
  uint64_t tacticValue = 0;     // for the inspector: of the candidate; what logs of a build and timing caches call it
  std::string metadata;         // for the inspector: of the network layers computed here
  std::vector<int32_t> inputs;  // tensors; -1 where an optional one is absent
  std::vector<int32_t> outputs;
  uint64_t workspaceOffset = 0;     // within the arena
  uint64_t workspaceBytes = 0;      // upper bound over the profile
  std::vector<RangeKernel> others;  // in the order of their ranges, which do not meet
};

struct Symbol {
  std::string name;
  bool fromContents = false;  // else an extent of the input
  int32_t io = 0;             // which network input
  int32_t index = 0;          // axis or element
};

// A symbol that the device computes: an integer tensor of each program, read between two phases.
struct Size {
  std::string name;
  std::string layer;  // for messages
  Extent opt = 0;     // over symbols that are known before it: what kernels are chosen for
  Extent upper = 0;   // what memory is planned for; a higher value is an error
};

// A network input or output.
struct Io {
  std::string name;
  bool isInput = true;
  DataType dtype = DataType::kF32;
  Shape shape;                              // over symbols; constant extents are fixed
  std::vector<std::string> dimensionNames;  // per axis, empty where unnamed
  Layout layout;
  bool isShapeTensor = false;  // host memory, contents bound symbols
};

// Bounds of one input in one profile; shape tensors have `values` instead of extents.
struct InputRange {
  Dims min, opt, max;
  std::vector<int64_t> minValues, optValues, maxValues;
};

struct Program {
  std::vector<TensorRecord> tensors;
  std::vector<Step> steps;
  std::vector<int32_t> ioTensors;  // tensor of each Plan::io
  uint64_t arenaBytes = 0;
  int32_t auxStreams = 0;  // beside the caller's, that independent steps may run on; lifetimes allow for them
  std::vector<Interval> shapeBounds;  // by symbol of Plan::shapes: what the steps and the memory are made for
  // Phases: steps that need no size come first. At a cut the stream is waited for, sizes are read, and what needs them
  // is configured and runs.
  std::vector<int32_t> cuts;  // first step of each phase behind the first; the number of steps where none is left
  std::vector<int32_t> sizeTensors;  // by Plan::sizes: the tensor with the number, which the host can read
};

constexpr int32_t kMaxAuxStreams = 31;

struct ConstantRecord {
  DataType dtype = DataType::kF32;
  Dims dims;
  uint64_t hash = 0;                 // of the bytes (XXH3-64); set by the plan writer
  std::string weights;               // refit name, or empty
  std::shared_ptr<const void> data;  // aligned to 64 bytes; in the loaded plan or in the builder's memory
  uint64_t bytes = 0;
};

// Facts about the machine and libraries that built the plan, checked before use.
struct Target {
  std::string device;                     // "cpu" or "cuda"
  std::string deviceName;                 // for messages
  std::vector<std::string> requirements;  // for example "isa:avx2"; each must hold on the loading machine
};

struct Plan {
  std::string name;          // of the network
  int32_t tenonVersion = 0;  // major * 10000 + minor * 100 + patch
  int32_t apiVersion = 0;    // as reported to getPlanVersionOnly
  Target target;
  std::vector<Io> io;
  std::vector<Symbol> symbols;  // several entries of one name: all must agree
  std::vector<Size> sizes;      // in the order in which they become known
  ShapeProgram shapes;          // symbols that are computed from these on the host
  std::vector<std::map<std::string, InputRange>> profiles;
  std::vector<Program> programs;  // one per profile
  std::vector<ConstantRecord> constants;
  std::vector<std::vector<std::byte>> nativeCode;
  int32_t profilingVerbosity = 0;  // 0 names, 1 none, 2 detailed
  bool refittable = false;
  std::map<std::string, std::string> facts;  // more for the inspector (build options, library versions); sorted
};

}  // namespace tenon::plan
