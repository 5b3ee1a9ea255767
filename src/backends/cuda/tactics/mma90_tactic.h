// What the tactics of products by warpgroups share.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/kernels/mma90/mma90.h"
#include "compile/tactics/tactic.h"

namespace tenon::backends::cuda {

constexpr int kMma90Rank = 13;  // behind the vendor's products where nothing is measured

// Whether products by warpgroups, which have any epilogue, may be candidates beside those of a library.
bool hasOwnProducts(const compile::Problem& problem);
// Whether a product of halves is one that ours were faster for, whatever a library proposed, in a build of the usual
// level: then the library is not asked. On an H200: of few rows that cuBLASLt's epilogues stand behind, and with other
// epilogues all.
bool isForOwnProducts(const compile::Problem& problem, bool isEpilogueOfBlas);
// `shapes`: of the product.
compile::Support mma90Support(const ops::MatMul& op, const runtime::Shapes& shapes, const compile::Problem& problem);
std::vector<Mma90Shape> mma90Candidates(const runtime::Shapes& shapes, const Mma90Weights& weights,
                                        const compile::Problem& problem, bool keeps = false);
// And those in which blocks take tile after tile; TENON_CUDA_PERSISTENT_PRODUCTS=0 takes these away. Those of f32 that
// may not be rounded to TF32 have one tile each.
std::vector<Mma90Shape> mma90AllCandidates(const runtime::Shapes& shapes, Mma90Weights weights,
                                           const compile::Problem& problem, bool keeps = false);
// The candidate in each of these shapes.
std::vector<compile::Candidate> mma90Variants(const compile::Candidate& candidate, std::span<const Mma90Shape> shapes);

}  // namespace tenon::backends::cuda
