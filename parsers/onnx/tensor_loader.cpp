// Turns TensorProto into a constant and checks that type, shape and bytes fit each other.
#include "tensor_loader.h"

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "onnx_types.h"

namespace tenon::parsers::onnx {
namespace {

DataType typeOf(const pb::TensorProto& tensor, const std::string& name) {
  const auto type = toDataType(tensor.data_type());
  if (!type) {
    fail(
        FaultKind::kUnsupportedType,
        fmt::format("tensor '{}' has elements of {}; TensorRT has FLOAT, FLOAT16, BFLOAT16, INT32, INT64, INT8, UINT8, "
                    "BOOL, FLOAT8E4M3FN, INT4 and FLOAT4E2M1 (DOUBLE becomes FLOAT). Cast it before export",
                    name, onnxTypeName(tensor.data_type())));
  }
  return *type;
}

int64_t numberOption(const pb::StringStringEntryProto& entry, const std::string& name) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(entry.value().c_str(), &end, 10);
  if (entry.value().empty() || *end != '\0' || errno != 0 || number < 0) {
    fail(FaultKind::kInvalidValue, fmt::format("tensor '{}': external_data {} = '{}' is not a number of bytes", name,
                                               entry.key(), entry.value()));
  }
  return number;
}

}  // namespace

const WeightBytes& TensorLoader::load(const pb::TensorProto& tensor, const std::string& name) {
  typeOf(tensor, name);
  Dimensions shape(tensor.dims().begin(), tensor.dims().end());
  toDims(shape);
  elementCount(shape);
  if (supplied_ != nullptr && !name.empty()) {
    const auto found = supplied_->find(name);
    if (found != supplied_->end()) {
      return fromBytes(tensor, name, std::move(shape), found->second.data, found->second.size);
    }
  }
  if (tensor.data_location() == 1) {
    return external(tensor, name, std::move(shape));
  }
  if (tensor.has_segment()) {
    fail(FaultKind::kInvalidValue, fmt::format("tensor '{}' is stored in segments, which no exporter writes", name));
  }
  if (tensor.has_raw_data()) {
    return fromBytes(tensor, name, std::move(shape), tensor.raw_data().data(), tensor.raw_data().size());
  }
  return fromNumbers(tensor, name, std::move(shape));
}

const WeightBytes& TensorLoader::external(const pb::TensorProto& tensor, const std::string& name, Dimensions shape) {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
  for (const pb::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      offset = numberOption(entry, name);
    } else if (entry.key() == "length") {
      length = numberOption(entry, name);
    }
  }
  const bool isDouble = tensor.data_type() == static_cast<int32_t>(OnnxType::kDOUBLE);
  const int64_t expected = bytesFor(typeOf(tensor, name), elementCount(shape)) * (isDouble ? 2 : 1);
  if (length >= 0 && length != expected) {
    fail(FaultKind::kInvalidValue, fmt::format("tensor '{}' of shape {} needs {} bytes, but external_data gives {}",
                                               name, toString(shape), expected, length));
  }
  length = expected;
  const std::byte* bytes = files_.read(location, offset, length, store_);
  return fromBytes(tensor, name, std::move(shape), bytes, static_cast<uint64_t>(length));
}

const WeightBytes& TensorLoader::fromBytes(const pb::TensorProto& tensor, const std::string& name, Dimensions shape,
                                           const void* data, uint64_t size) {
  const DataType type = typeOf(tensor, name);
  const bool isDouble = tensor.data_type() == static_cast<int32_t>(OnnxType::kDOUBLE);
  const auto expected = static_cast<uint64_t>(bytesFor(type, elementCount(shape))) * (isDouble ? 2 : 1);
  if (size != expected) {
    fail(FaultKind::kInvalidValue, fmt::format("tensor '{}' of {}{} needs {} bytes, but has {}", name,
                                               onnxTypeName(tensor.data_type()), toString(shape), expected, size));
  }
  if (isDouble) {
    std::vector<double> aligned(static_cast<size_t>(size / sizeof(double)));
    if (size > 0) {
      std::memcpy(aligned.data(), data, size);
    }
    return fromDoubles(name, std::move(shape), aligned.data());
  }
  return store_.add(type, std::move(shape), data, name);
}

const WeightBytes& TensorLoader::fromDoubles(const std::string& name, Dimensions shape, const double* data) {
  const int64_t count = elementCount(shape);
  auto* floats = reinterpret_cast<float*>(store_.allocate(count * 4));
  for (int64_t i = 0; i < count; ++i) {
    const bool outside = std::isfinite(data[i]) && std::fabs(data[i]) > FLT_MAX;
    clampedDoubles_ += outside ? 1 : 0;
    floats[i] =
        outside ? std::copysign(FLT_MAX, static_cast<float>(data[i] < 0 ? -1 : 1)) : static_cast<float>(data[i]);
  }
  return store_.add(DataType::kFLOAT, std::move(shape), floats, name);
}

const WeightBytes& TensorLoader::fromNumbers(const pb::TensorProto& tensor, const std::string& name, Dimensions shape) {
  const DataType type = typeOf(tensor, name);
  const int64_t count = elementCount(shape);
  const auto check = [&](int64_t got, int64_t expected, const char* field) {
    if (got != expected) {
      fail(FaultKind::kInvalidValue,
           fmt::format("tensor '{}' of {}{} needs {} numbers in {}, but has {}", name, onnxTypeName(tensor.data_type()),
                       toString(shape), expected, field, got));
    }
  };
  switch (static_cast<OnnxType>(tensor.data_type())) {
    case OnnxType::kFLOAT:
      check(tensor.float_data_size(), count, "float_data");
      return store_.add(type, std::move(shape), tensor.float_data().data(), name);
    case OnnxType::kDOUBLE:
      check(tensor.double_data_size(), count, "double_data");
      return fromDoubles(name, std::move(shape), tensor.double_data().data());
    case OnnxType::kINT64:
      check(tensor.int64_data_size(), count, "int64_data");
      return store_.add(type, std::move(shape), tensor.int64_data().data(), name);
    case OnnxType::kINT32:
      check(tensor.int32_data_size(), count, "int32_data");
      return store_.add(type, std::move(shape), tensor.int32_data().data(), name);
    default: break;
  }
  // The narrow types: one int32 for each element, or for each pair of 4-bit elements.
  const int64_t width = bitsOfType(type) == 16 ? 2 : 1;
  const int64_t bytes = bytesFor(type, count);
  check(tensor.int32_data_size(), bytes / width, "int32_data");
  std::byte* out = store_.allocate(bytes);
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    const int32_t number = tensor.int32_data(i);
    std::memcpy(out + i * width, &number, static_cast<size_t>(width));
  }
  return store_.add(type, std::move(shape), out, name);
}

// Places are numbers of elements, or one index for each axis.
const WeightBytes& TensorLoader::loadSparse(const pb::SparseTensorProto& tensor, const std::string& name) {
  const WeightBytes& values = load(tensor.values(), "");
  const WeightBytes& places = load(tensor.indices(), "");
  Dimensions shape(tensor.dims().begin(), tensor.dims().end());
  toDims(shape);
  const int64_t count = elementCount(shape);
  const int64_t known = values.count();
  const bool linear = places.shape.size() == 1;
  const auto rank = static_cast<int64_t>(shape.size());
  if (values.shape.size() != 1 || places.type != DataType::kINT64 || bitsOfType(values.type) < 8 ||
      !(linear ? places.shape == Dimensions{known} : places.shape == Dimensions{known, rank})) {
    fail(
        FaultKind::kInvalidValue,
        fmt::format("sparse tensor '{}' of shape {} has values {} of {} and indices {}; expected values of rank 1 with "
                    "8 bits or more, and INT64 indices [{}] or [{}, {}]",
                    name, toString(shape), toString(values.shape), typeName(values.type), toString(places.shape), known,
                    known, rank));
  }
  if (!store_.allows(bytesFor(values.type, count))) {
    fail(FaultKind::kOutOfMemory,
         fmt::format("sparse tensor '{}' of shape {} has too many zeros to write out: {} bytes", name, toString(shape),
                     bytesFor(values.type, count)));
  }
  const int64_t width = bitsOfType(values.type) / 8;
  std::byte* out = store_.allocate(count * width);
  std::memset(out, 0, static_cast<size_t>(count * width));
  const std::vector<int64_t> indices = toInts(places);
  for (int64_t i = 0; i < known; ++i) {
    int64_t at = 0;
    for (int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      const int64_t index = indices[static_cast<size_t>(linear ? i : i * rank + axis)];
      const int64_t extent = linear ? count : shape[static_cast<size_t>(axis)];
      if (index < 0 || index >= extent) {
        fail(FaultKind::kInvalidValue, fmt::format("sparse tensor '{}' of shape {} has an index {}; expected 0 to {}",
                                                   name, toString(shape), index, extent - 1));
      }
      at = linear ? index : at * extent + index;
    }
    std::memcpy(out + at * width, static_cast<const std::byte*>(values.data) + i * width, static_cast<size_t>(width));
  }
  return store_.add(values.type, std::move(shape), out, name);
}

}  // namespace tenon::parsers::onnx
