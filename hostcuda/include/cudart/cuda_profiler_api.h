/* cudaProfilerStart and cudaProfilerStop, under the name of header that programs include for them. */
#pragma once

#include "cuda_runtime_api.h"
