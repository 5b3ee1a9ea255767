// Constants of a model: where their bytes live, and how TensorProto becomes one.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model.h"
#include "value.h"

namespace tenon::onnxparser {

// Owns computed and converted bytes. The network holds pointers into it, so it lives as long as the parser does.
class WeightStore {
 public:
  static constexpr int64_t kComputedLimit = int64_t{1} << 29;
  static constexpr int64_t kAlwaysComputed = 4096;
  // Fails with kMEM_ALLOC_FAILED. Aligned to 64 bytes.
  std::byte* allocate(int64_t bytes);
  const Constant& add(DataType type, Shape shape, const void* data, std::string name = {});
  // Takes integers or reals and stores them as `type`.
  const Constant& ofInts(DataType type, Shape shape, const std::vector<int64_t>& values);
  const Constant& ofReals(DataType type, Shape shape, const std::vector<double>& values);
  // Whether a constant of that size may be computed while parsing. A few nodes can ask for any number of them: what is
  // beyond kComputedLimit and four times the model's initializers in all is left to the builder, except for lists as
  // shape arithmetic needs them.
  bool allows(int64_t bytes);
  void countInitializer(int64_t bytes) { computable_ += 4 * bytes; }
  // One value everywhere. Constants of one value share the bytes of the largest.
  const Constant& uniform(DataType type, const Shape& shape, double value);

 private:
  struct Uniform {
    DataType type;
    double value;
    int64_t count;
    const std::byte* bytes;
  };
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  std::deque<Constant> constants_;
  std::vector<Uniform> uniform_;
  int64_t computable_ = kComputedLimit;
};

// Elements of a constant as numbers; fails for a type without a numeric reading (FP8, INT4).
std::vector<int64_t> toInts(const Constant& constant);
std::vector<double> toReals(const Constant& constant);

// Reads the files that TensorProto.external_data names. Only regular files below the model's own folder are read.
class ExternalFiles {
 public:
  // Without the path of a model every external tensor is an error that says so.
  explicit ExternalFiles(const char* modelPath);
  // The bytes [offset, offset + length) of `location`; length -1: to the end of the file. Read once, whoever shares
  // them. Fails when tensors overlap so that a file would be read more than four times.
  const std::byte* read(const std::string& location, int64_t offset, int64_t& length, WeightStore& store) const;

 private:
  using Place = std::tuple<std::string, int64_t, int64_t>;  // location, offset, length
  mutable std::map<Place, const std::byte*> places_;
  mutable std::map<std::string, int64_t> bytesRead_;
  std::string folder_;
  bool known_ = false;
};

// Bytes that the caller supplies for an initializer instead of those in the model.
struct SuppliedBytes {
  const void* data = nullptr;
  size_t size = 0;
};
using SuppliedInitializers = std::unordered_map<std::string, SuppliedBytes>;

class TensorLoader {
 public:
  TensorLoader(WeightStore& store, const ExternalFiles& files, const SuppliedInitializers* supplied)
      : store_(store), files_(files), supplied_(supplied) {}

  // Fails when type, shape and bytes do not fit each other, before anything is allocated for them.
  const Constant& load(const pb::TensorProto& tensor, const std::string& name);
  int64_t clampedDoubles() const { return clampedDoubles_; }

 private:
  const Constant& fromBytes(const pb::TensorProto& tensor, const std::string& name, Shape shape, const void* data,
                            uint64_t size);
  const Constant& fromNumbers(const pb::TensorProto& tensor, const std::string& name, Shape shape);
  const Constant& fromDoubles(const std::string& name, Shape shape, const double* data);
  const Constant& external(const pb::TensorProto& tensor, const std::string& name, Shape shape);

  WeightStore& store_;
  const ExternalFiles& files_;
  const SuppliedInitializers* supplied_;
  int64_t clampedDoubles_ = 0;
};

}  // namespace tenon::onnxparser
