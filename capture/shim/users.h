// Stand-ins for the interfaces that the application implements (docs/capture_format.md: what is kept of their answers).
#pragma once

#include <NvInfer.h>

#include <cstdint>

namespace tenon::capture {

// What the library is given in place of the application's object, with its number in the capture; null for null. One
// stand-in per object, which lives as long as the process.
nvinfer1::ILogger* standInFor(nvinfer1::ILogger* user, uint64_t& id);
nvinfer1::IErrorRecorder* standInFor(nvinfer1::IErrorRecorder* user, uint64_t& id);
nvinfer1::IGpuAllocator* standInFor(nvinfer1::IGpuAllocator* user, uint64_t& id);
nvinfer1::IProgressMonitor* standInFor(nvinfer1::IProgressMonitor* user, uint64_t& id);
nvinfer1::IAlgorithmSelector* standInFor(nvinfer1::IAlgorithmSelector* user, uint64_t& id);
nvinfer1::IInt8Calibrator* standInFor(nvinfer1::IInt8Calibrator* user, uint64_t& id);
nvinfer1::IStreamWriter* standInFor(nvinfer1::IStreamWriter* user, uint64_t& id);

// The other way, for getters: the application gets what it set.
nvinfer1::ILogger* originalOf(nvinfer1::ILogger* standIn, uint64_t& id);
nvinfer1::IErrorRecorder* originalOf(nvinfer1::IErrorRecorder* standIn, uint64_t& id);
nvinfer1::IGpuAllocator* originalOf(nvinfer1::IGpuAllocator* standIn, uint64_t& id);
nvinfer1::IProgressMonitor* originalOf(nvinfer1::IProgressMonitor* standIn, uint64_t& id);
nvinfer1::IAlgorithmSelector* originalOf(nvinfer1::IAlgorithmSelector* standIn, uint64_t& id);
nvinfer1::IInt8Calibrator* originalOf(nvinfer1::IInt8Calibrator* standIn, uint64_t& id);
nvinfer1::IStreamWriter* originalOf(nvinfer1::IStreamWriter* standIn, uint64_t& id);

}  // namespace tenon::capture
