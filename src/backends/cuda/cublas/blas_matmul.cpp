// Descriptors, heuristics and launches of cuBLASLt.
#include "backends/cuda/cublas/blas_matmul.h"

#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "core/error.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr std::array<cublasLtMatmulAlgoConfigAttributes_t, 8> kSettings{
    CUBLASLT_ALGO_CONFIG_TILE_ID,          CUBLASLT_ALGO_CONFIG_STAGES_ID,       CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,   CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,   CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID};

constexpr size_t kTile = 0, kStages = 1, kSplit = 2, kReduction = 3, kCluster = 7;  // among the settings
// The last two are 16 bits wide.
constexpr size_t settingBytes(size_t i) { return i < 6 ? sizeof(uint32_t) : sizeof(uint16_t); }

cublasLtHandle_t handle() {
  static const auto kHandle = [] {
    makeCurrent();
    cublasLtHandle_t h = nullptr;
    check(blasLt().create(&h), "cublasLtCreate");
    return h;
  }();
  return kHandle;
}

cudaDataType_t blasType(DataType type) {
  if (type == DataType::kF32) return CUDA_R_32F;
  if (type == DataType::kF16) return CUDA_R_16F;
  if (type == DataType::kBF16) return CUDA_R_16BF;
  throw Unsupported("cuBLASLt: operands of {}; f32, f16 and bf16 are supported", name(type));
}

// What an algorithm may be set to.
struct BlasRange {
  std::vector<int32_t> tiles, stages;
  std::vector<int32_t> clusters{0, 2, 3, 4, 5, 6, 7};  // automatic, none, 2x1, 4x1, 1x2, 1x4, 2x2
  std::vector<int32_t> splits{1};
  int32_t reduction = 0;  // of splits

  BlasRange(cublasLtHandle_t lt, int32_t id, cublasComputeType_t compute, cudaDataType_t type, cudaDataType_t result) {
    cublasLtMatmulAlgo_t algorithm{};
    if (blasLt().algoInit(lt, compute, CUDA_R_32F, type, type, result, result, id, &algorithm) != CUBLAS_STATUS_SUCCESS)
      return;
    const auto list = [&](cublasLtMatmulAlgoCapAttributes_t attribute) {
      std::array<uint32_t, 1024> values{};
      size_t bytes = 0;
      const auto status = blasLt().algoCapGet(&algorithm, attribute, values.data(), sizeof values, &bytes);
      const size_t count = status == CUBLAS_STATUS_SUCCESS ? std::min(bytes / sizeof(uint32_t), values.size()) : 0;
      return std::vector<int32_t>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    };
    tiles = list(CUBLASLT_ALGO_CAP_TILE_IDS);
    stages = list(CUBLASLT_ALGO_CAP_STAGES_IDS);
    if (tiles.empty()) tiles = {0};  // the algorithm has no choice
    if (stages.empty()) stages = {0};
    const auto canSplit = list(CUBLASLT_ALGO_CAP_SPLITK_SUPPORT);
    const auto schemes = list(CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
    if (canSplit.empty() || canSplit[0] == 0 || schemes.empty()) return;
    for (const int32_t scheme : {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_INPLACE}) {
      if (reduction == 0 && (schemes[0] & scheme) != 0) reduction = scheme;
    }
    if (reduction != 0) splits = {1, 2, 3, 4, 6, 8};
  }
};

int64_t batchOf(const Dims& dims) { return dims.count(0, dims.rank - 2); }

}  // namespace

std::string BlasShape::text() const {
  const auto types = result == type ? std::string(name(type)) : fmt::format("{}>{}", name(type), name(result));
  return fmt::format("{}x{}x{}x{} {} {}{}{}{}", batch, m, n, k, types, transposeA, transposeB, batchedA, batchedB);
}

std::string blasRefusal(const ops::MatMul&, const runtime::Shapes& shapes) {
  const auto& y = shapes.outputs[0];
  const auto type = shapes.inputs[0].dtype;
  for (const auto& input : shapes.inputs) {
    if (input.dtype != type) return fmt::format("operands of {} and {}", name(type), name(input.dtype));
  }
  if (type != DataType::kF32 && type != DataType::kF16 && type != DataType::kBF16) {
    return fmt::format("operands of {}; f32, f16 and bf16 are supported", name(type));
  }
  if (y.dtype != type && (y.dtype != DataType::kF32 || shapes.inputs.size() != 2))
    return fmt::format("a result of {} for operands of {} is not supported", name(y.dtype), name(type));
  for (size_t i = 0; i < 2; ++i) {
    const auto& dims = shapes.inputs[i].dims;
    if (dims.count() == 0) return fmt::format("operand {} is empty", i);
    if (batchOf(dims) != 1 && batchOf(dims) != batchOf(y.dims))
      return fmt::format("operand {} broadcasts only some of the batch axes", i);
    if (shapes.inputs[i].layout != Layout::kLinear) return "an operand is not in a linear layout";
  }
  return {};
}

BlasShape blasShape(const ops::MatMul& op, const runtime::Shapes& shapes) {
  const auto& a = shapes.inputs[0].dims;
  const auto& b = shapes.inputs[1].dims;
  const auto& y = shapes.outputs[0].dims;
  BlasShape shape;
  shape.type = shapes.inputs[0].dtype;
  shape.result = shapes.outputs[0].dtype;
  shape.transposeA = op.transposeA;
  shape.transposeB = op.transposeB;
  shape.m = y[y.rank - 2];
  shape.n = y[y.rank - 1];
  shape.k = a[a.rank - (op.transposeA ? 2 : 1)];
  shape.batch = batchOf(y);
  shape.batchedA = batchOf(a) != 1;
  shape.batchedB = batchOf(b) != 1;
  if (shape.batchedA && !shape.batchedB && !op.transposeA) {
    shape.m *= shape.batch;
    shape.batch = 1;
    shape.batchedA = false;
  }
  return shape;
}

std::string BlasAlgorithm::text() const { return fmt::format("{}:{}", id, fmt::join(settings, ",")); }

BlasAlgorithm BlasAlgorithm::parse(std::string_view text) {
  TextReader in(text, "an algorithm of cuBLASLt");
  BlasAlgorithm algorithm;
  algorithm.id = static_cast<int32_t>(in.integer());
  for (size_t i = 0; i < algorithm.settings.size(); ++i) {
    in.expect(i == 0 ? ":" : ",");
    algorithm.settings[i] = static_cast<int32_t>(in.integer());
  }
  return algorithm;
}

std::string BlasChoice::text() const {
  const char* how = whole ? "whole" : "bare";
  return fmt::format("{},{},{}", parted ? "parted" : how, tf32 ? "tf32" : "exact", algorithm.text());
}

BlasChoice BlasChoice::parse(std::string_view text) {
  TextReader in(text, "parameters of a cuBLASLt matmul");
  BlasChoice choice;
  const auto how = in.identifier();
  choice.parted = how == "parted";
  choice.whole = how == "whole" || choice.parted;
  in.expect(",");
  choice.tf32 = in.identifier() == "tf32";
  in.expect(",");
  choice.algorithm = BlasAlgorithm::parse(text.substr(in.position()));
  return choice;
}

int64_t wholeColumns(const BlasShape& shape) {
  constexpr int64_t kLeast = int64_t{1} << 20;  // bytes of the result
  const int64_t pack = 16 / std::min(bits(shape.type) / 8, bits(shape.result) / 8);
  const bool apart = shape.transposeB && shape.batch == 1 && shape.n % pack != 0;
  return apart && shape.m * shape.n * (bits(shape.result) / 8) >= kLeast ? shape.n / pack * pack : 0;
}

BlasShape wholeProduct(BlasShape shape) {
  shape.n = wholeColumns(shape);
  shape.result = shape.type;
  return shape;
}

BlasProduct::BlasProduct(const BlasShape& shape, const BlasEpilogue& epilogue, bool tf32, int64_t pitch)
    : shape_(shape),
      epilogue_(epilogue),
      compute_(tf32 && shape.type == DataType::kF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
      type_(blasType(shape.type)),
      resultType_(blasType(shape.result)) {
  const auto& lt = blasLt();
  check(lt.matmulDescCreate(&operation_, compute_, CUDA_R_32F), "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(lt.matmulDescSetAttribute(operation_, attribute, &value, sizeof value), "an attribute of a matmul");
  };
  const cublasOperation_t first = shape.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = shape.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, second);
  using Activation = BlasEpilogue::Activation;
  const bool bias = epilogue.bias >= 0;
  cublasLtEpilogue_t kind = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (epilogue.activation == Activation::kRelu) kind = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (epilogue.activation == Activation::kGeluTanh) kind = bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, kind);
  layout(layouts_[0], type_, shape.transposeB ? shape.n : shape.k, shape.transposeB ? shape.k : shape.n,
         shape.batchedB);
  layout(layouts_[1], type_, shape.transposeA ? shape.k : shape.m, shape.transposeA ? shape.m : shape.k,
         shape.batchedA);
  layout(layouts_[2], resultType_, shape.m, shape.n, true, pitch);
}

BlasProduct::~BlasProduct() {
  if (operation_ != nullptr) blasLt().matmulDescDestroy(operation_);
  for (auto* layout : layouts_) {
    if (layout != nullptr) blasLt().matrixLayoutDestroy(layout);
  }
}

// Rows of a row-major matrix are columns of a column-major one.
void BlasProduct::layout(cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows, int64_t columns,
                         bool batched, int64_t pitch) const {
  const auto& lt = blasLt();
  if (pitch == 0) pitch = columns;
  check(lt.matrixLayoutCreate(&layout, type, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), pitch),
        "cublasLtMatrixLayoutCreate");
  const auto batch = static_cast<int32_t>(shape_.batch);
  const int64_t stride = batched ? rows * pitch : 0;
  check(lt.matrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "a batch");
  check(lt.matrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "a batch's stride");
}

std::vector<cublasLtMatmulHeuristicResult_t> BlasProduct::ask(int most) const {
  const auto& lt = blasLt();
  cublasLtMatmulPreference_t preference = nullptr;
  check(lt.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  lt.preferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kBlasWorkspaceBytes,
                            sizeof kBlasWorkspaceBytes);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(most));
  int count = 0;
  const auto& [b, a, y] = layouts_;
  const auto status = lt.getHeuristic(handle(), operation_, b, a, y, y, preference, most, found.data(), &count);
  lt.preferenceDestroy(preference);
  found.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<size_t>(count) : 0);
  std::erase_if(found, [](const cublasLtMatmulHeuristicResult_t& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
  return found;
}

std::vector<BlasAlgorithm> BlasProduct::propose(int most) const {
  makeCurrent();  // any thread of a build asks
  const auto& lt = blasLt();
  std::vector<BlasAlgorithm> result;
  for (const auto& one : ask(most)) {
    BlasAlgorithm algorithm;
    size_t written = 0;
    bool complete = lt.algoConfigGet(&one.algo, CUBLASLT_ALGO_CONFIG_ID, &algorithm.id, sizeof algorithm.id,
                                     &written) == CUBLAS_STATUS_SUCCESS;
    for (size_t s = 0; s < kSettings.size(); ++s) {
      uint32_t value = 0;
      complete = complete &&
                 lt.algoConfigGet(&one.algo, kSettings[s], &value, settingBytes(s), &written) == CUBLAS_STATUS_SUCCESS;
      algorithm.settings[s] = static_cast<int32_t>(value);
    }
    if (complete && std::find(result.begin(), result.end(), algorithm) == result.end()) result.push_back(algorithm);
  }
  return result;
}

std::vector<BlasAlgorithm> BlasProduct::search(int most, size_t more) const {
  auto result = propose(most);
  if (more == 0) return result;
  const size_t offered = result.size();
  std::vector<BlasAlgorithm> found;
  const auto offer = [&](const BlasAlgorithm& one) {
    cublasLtMatmulAlgo_t made{};
    size_t workspaceBytes = 0;
    const auto known = [&](const auto& list) { return std::find(list.begin(), list.end(), one) != list.end(); };
    if (!known(result) && !known(found) && make(one, made, workspaceBytes)) found.push_back(one);
  };
  std::vector<int32_t> ids;
  for (size_t i = 0; i < offered; ++i) {
    const auto& base = result[i];
    const BlasRange range(handle(), base.id, compute_, type_, resultType_);
    auto one = base;
    for (const int32_t split : range.splits) {
      one.settings[kSplit] = split;
      one.settings[kReduction] = split == 1                       ? 0
                                 : base.settings[kReduction] != 0 ? base.settings[kReduction]
                                                                  : range.reduction;
      offer(one);
    }
    if (std::find(ids.begin(), ids.end(), base.id) != ids.end()) continue;
    ids.push_back(base.id);
    for (const int32_t tile : range.tiles) {
      for (const int32_t stages : range.stages) {
        for (const int32_t cluster : range.clusters) {
          one = base;
          one.settings[kTile] = tile;
          one.settings[kStages] = stages;
          one.settings[kCluster] = cluster;
          one.settings[kSplit] = 1;
          one.settings[kReduction] = 0;
          offer(one);
        }
      }
    }
  }
  for (size_t i = 0; i < std::min(more, found.size()); ++i)
    result.push_back(found[i * found.size() / std::min(more, found.size())]);
  return result;
}

bool BlasProduct::make(const BlasAlgorithm& algorithm, cublasLtMatmulAlgo_t& made, size_t& workspaceBytes) const {
  const auto& lt = blasLt();
  if (lt.algoInit(handle(), compute_, CUDA_R_32F, type_, type_, resultType_, resultType_, algorithm.id, &made) !=
      CUBLAS_STATUS_SUCCESS)
    return false;
  for (size_t s = 0; s < kSettings.size(); ++s) {
    // Not every algorithm lets every attribute be set, not even to what it is.
    const auto value = static_cast<uint32_t>(algorithm.settings[s]);
    uint32_t present = 0;
    size_t written = 0;
    const bool known =
        lt.algoConfigGet(&made, kSettings[s], &present, settingBytes(s), &written) == CUBLAS_STATUS_SUCCESS;
    if (known && present == value) continue;
    if (lt.algoConfigSet(&made, kSettings[s], &value, settingBytes(s)) != CUBLAS_STATUS_SUCCESS) return false;
  }
  cublasLtMatmulHeuristicResult_t facts{};
  const auto& [b, a, y] = layouts_;
  if (lt.algoCheck(handle(), operation_, b, a, y, y, &made, &facts) != CUBLAS_STATUS_SUCCESS) return false;
  workspaceBytes = facts.workspaceSize;
  return workspaceBytes <= kBlasWorkspaceBytes;
}

bool BlasProduct::use(const BlasAlgorithm& algorithm) { return make(algorithm, algorithm_, workspaceBytes_); }

bool BlasProduct::useFirst() {
  const auto found = ask(1);
  if (found.empty()) return false;
  algorithm_ = found[0].algo;
  workspaceBytes_ = found[0].workspaceSize;
  return true;
}

void BlasProduct::run(const void* a, const void* b, const void* bias, const void* residual, void* y, void* workspace,
                      void* stream) {
  const auto& lt = blasLt();
  if (epilogue_.bias >= 0 && bias != boundBias_) {
    check(lt.matmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias), "a bias");
    boundBias_ = bias;
  }
  const float beta = residual != nullptr ? 1.0f : 0.0f;
  check(lt.matmul(handle(), operation_, &epilogue_.alpha, b, layouts_[0], a, layouts_[1], &beta,
                  residual != nullptr ? residual : y, layouts_[2], y, layouts_[2], &algorithm_, workspace,
                  workspaceBytes_, static_cast<cudaStream_t>(stream)),
        "cublasLtMatmul");
}

void askBlasAhead(std::string_view params) {
  if (!blasLt().missing.empty()) return;
  makeCurrent();
  constexpr int64_t kExtent = 64;
  const BlasShape shape{DataType::kF16, DataType::kF16, false, false, kExtent, kExtent, kExtent, 1, false, false};
  BlasProduct product(shape, {}, false);
  // Whether it is one for this product does not matter; the heuristics take 30 ms longer.
  (void)product.use(BlasChoice::parse(params.substr(0, params.find(';'))).algorithm);
}

}  // namespace tenon::backends::cuda
