// A libcublasLt that multiplies on the host, one number after another: one algorithm, and the
// attributes that products are made of.
#include <cublasLt.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "core/dtype.h"
#include "graphs.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Layout {
  cudaDataType_t type;
  uint64_t rows;
  uint64_t columns;
  int64_t pitch;
  int32_t batch = 1;
  int64_t batchStride = 0;
};
struct Operation {
  cublasOperation_t transposeA = CUBLAS_OP_N;
  cublasOperation_t transposeB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

const Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Layout*>(layout); }
Operation& of(cublasLtMatmulDesc_t operation) { return *reinterpret_cast<Operation*>(operation); }

tenon::DataType typeOf(cudaDataType_t type) {
  if (type == CUDA_R_16F) return tenon::DataType::kF16;
  return type == CUDA_R_16BF ? tenon::DataType::kBF16 : tenon::DataType::kF32;
}

double element(const Layout& layout, const void* data, int32_t batch, uint64_t row, uint64_t column) {
  const auto at = batch * layout.batchStride + static_cast<int64_t>(column) * layout.pitch + static_cast<int64_t>(row);
  return tenon::loadDouble(typeOf(layout.type), data, at);
}

double activate(cublasLtEpilogue_t epilogue, double x) {
  if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) return std::fmax(x, 0);
  if (epilogue != CUBLASLT_EPILOGUE_GELU && epilogue != CUBLASLT_EPILOGUE_GELU_BIAS) return x;
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

bool hasBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

}  // namespace

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t, cudaDataType_t) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return delete &of(operation), CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                                     cublasLtMatmulDescAttributes_t attribute, const void* value,
                                                     size_t bytes) {
  auto& o = of(operation);
  void* place = nullptr;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) place = &o.transposeA;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) place = &o.transposeB;
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) place = &o.epilogue;
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER) place = &o.bias;
  if (place == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::memcpy(place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t pitch) {
  if (pitch < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, pitch});
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return delete &of(layout), CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                       size_t) {
  auto& l = *reinterpret_cast<Layout*>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) std::memcpy(&l.batch, value, sizeof l.batch);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    std::memcpy(&l.batchStride, value, sizeof l.batchStride);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return *preference = nullptr, CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t, const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// Questions for algorithms so far; no function of the library.
std::atomic<unsigned long> questions = 0;
EXPORT unsigned long emulatedQuestions() { return questions; }
EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int most,
                                                     cublasLtMatmulHeuristicResult_t* results, int* count) {
  ++questions;
  *count = most > 0 ? 1 : 0;
  if (most > 0) results[0] = cublasLtMatmulHeuristicResult_t{};
  if (most > 0) results[0].workspaceSize = 1000;  // none that is aligned
  return CUBLAS_STATUS_SUCCESS;
}
// An algorithm is its tile, stages and split; three tiles, two stages, and no third tile with the second of these.
EXPORT cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                             cudaDataType_t, cudaDataType_t, cudaDataType_t, int,
                                             cublasLtMatmulAlgo_t* algorithm) {
  *algorithm = cublasLtMatmulAlgo_t{};
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*,
                                                        cublasLtMatmulAlgoCapAttributes_t attribute, void* value,
                                                        size_t bytes, size_t* written) {
  const auto give = [&](std::initializer_list<uint32_t> values) {
    *written = values.size() * sizeof(uint32_t);
    if (bytes < *written) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, values.begin(), *written);
    return CUBLAS_STATUS_SUCCESS;
  };
  if (attribute == CUBLASLT_ALGO_CAP_TILE_IDS) return give({0, 5, 6});
  if (attribute == CUBLASLT_ALGO_CAP_STAGES_IDS) return give({0, 3});
  if (attribute == CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) return give({1});
  if (attribute == CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK) return give({CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              const cublasLtMatmulAlgo_t* algorithm,
                                              cublasLtMatmulHeuristicResult_t* result) {
  *result = cublasLtMatmulHeuristicResult_t{};
  result->workspaceSize = 1000;
  const auto setting = [&](int attribute) {
    return algorithm->data[attribute / 2] >> (attribute % 2 * 32) & 0xffffffff;
  };
  const bool isPair = setting(CUBLASLT_ALGO_CONFIG_TILE_ID) != 6 || setting(CUBLASLT_ALGO_CONFIG_STAGES_ID) != 3;
  return isPair ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                           cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                           size_t bytes, size_t* written) {
  const uint64_t setting = algorithm->data[attribute / 2] >> (attribute % 2 * 32) & 0xffffffff;
  std::memcpy(value, &setting, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                           cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                           const void* value, size_t bytes) {
  uint64_t setting = 0;
  std::memcpy(&setting, value, bytes);
  auto& place = algorithm->data[attribute / 2];
  const int shift = attribute % 2 * 32;
  place = (place & ~(uint64_t{0xffffffff} << shift)) | setting << shift;
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

// What is computed when the stream comes to it: descriptors and factors as they were.
struct Product {
  Operation o;
  Layout la, lb, lc, ld;
  double scale, keep;
  const void *a, *b, *c;
  void *d, *workspace;
  size_t workspaceBytes;
};

void multiply(void* argument) {
  const auto& p = *static_cast<Product*>(argument);
  const bool ta = p.o.transposeA != CUBLAS_OP_N;
  const bool tb = p.o.transposeB != CUBLAS_OP_N;
  const uint64_t inner = ta ? p.la.rows : p.la.columns;
  if (p.workspaceBytes > 0) std::memset(p.workspace, 0x5a, p.workspaceBytes);
  for (int32_t batch = 0; batch < p.ld.batch; ++batch) {
    for (uint64_t column = 0; column < p.ld.columns; ++column) {
      for (uint64_t row = 0; row < p.ld.rows; ++row) {
        double sum = 0;
        for (uint64_t k = 0; k < inner; ++k) {
          sum += element(p.la, p.a, batch, ta ? k : row, ta ? row : k) *
                 element(p.lb, p.b, batch, tb ? column : k, tb ? k : column);
        }
        sum *= p.scale;
        if (p.keep != 0) sum += p.keep * element(p.lc, p.c, batch, row, column);
        if (hasBias(p.o.epilogue)) sum += tenon::loadDouble(typeOf(p.ld.type), p.o.bias, static_cast<int64_t>(row));
        const auto at =
            batch * p.ld.batchStride + static_cast<int64_t>(column) * p.ld.pitch + static_cast<int64_t>(row);
        tenon::storeDouble(typeOf(p.ld.type), p.d, at, activate(p.o.epilogue, sum));
      }
    }
  }
}

}  // namespace

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                                     cublasLtMatrixLayout_t aLayout, const void* b, cublasLtMatrixLayout_t bLayout,
                                     const void* beta, const void* c, cublasLtMatrixLayout_t cLayout, void* d,
                                     cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t*, void* workspace,
                                     size_t workspaceBytes, cudaStream_t stream) {
  const auto& o = of(operation);
  const auto& la = of(aLayout);
  const auto& lb = of(bLayout);
  const auto& ld = of(dLayout);
  const bool ta = o.transposeA != CUBLAS_OP_N;
  const bool tb = o.transposeB != CUBLAS_OP_N;
  const uint64_t inner = ta ? la.rows : la.columns;
  if ((ta ? la.columns : la.rows) != ld.rows || (tb ? lb.rows : lb.columns) != ld.columns ||
      (tb ? lb.columns : lb.rows) != inner) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Product product{o,
                        la,
                        lb,
                        cLayout != nullptr ? of(cLayout) : ld,
                        ld,
                        *static_cast<const float*>(alpha),
                        *static_cast<const float*>(beta),
                        a,
                        b,
                        c,
                        d,
                        workspace,
                        workspaceBytes};
  emulatedEnqueue(reinterpret_cast<CUstream>(stream), &multiply, std::make_shared<Product>(product));
  return CUBLAS_STATUS_SUCCESS;
}
