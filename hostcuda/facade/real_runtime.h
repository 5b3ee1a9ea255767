// NVIDIA's own runtime library, where a GPU is in use.
#pragma once

namespace tenon::facade {

// The handle of the real library of this facade's major version, or null. Searched once: TENON_CUDART (a file), the
// folders of LD_LIBRARY_PATH, of CUDA_PATH and CUDA_HOME, of the loader's configuration, and the usual ones. Never
// this library or another copy of it. Says on stderr once when none is found.
void* realRuntime();

}  // namespace tenon::facade
