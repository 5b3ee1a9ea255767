// A program that lives and ends as users' programs do; process_test.cpp runs it and reads what it prints.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, CUstream_st*);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
}

namespace {

void sleepLong(void*) { std::this_thread::sleep_for(std::chrono::seconds(100)); }
void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

// Ends with everything alive: memory, events, graphs, a stream whose host function sleeps and one that never starts.
int exitWithLiveObjects() {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaMalloc(&memory, 1 << 20);
  cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  cudaGraphCreate(&graph, 0);
  cudaLaunchHostFunc(stream, &sleepLong, nullptr);
  cudaLaunchHostFunc(stream, &sleepLong, nullptr);
  cudaEventRecord(event, stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return 0;
}

struct FreesLate {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  ~FreesLate() {
    cudaError_t first = cudaFree(memory);
    cudaError_t second = cudaStreamDestroy(stream);
    std::printf("late %d %d\n", first, second);
  }
};

int useInStaticDestructor() {
  static FreesLate late;
  cudaMalloc(&late.memory, 100);
  cudaStreamCreate(&late.stream);
  return 0;
}

int work() {
  std::atomic<int> counter{0};
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 10;
  for (int i = 0; i < 20; ++i) cudaLaunchHostFunc(stream, &count, &counter);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 11;
  cudaLaunchHostFunc(stream, &count, &counter);
  for (int i = 0; i < 5000 && cudaStreamQuery(stream) != cudaSuccess; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a worker must do it
  }
  cudaGetLastError();
  int source = 5;
  int copied = 0;
  cudaMemcpy(&copied, &source, sizeof source, cudaMemcpyDefault);
  if (cudaStreamDestroy(stream) != cudaSuccess) return 12;
  return counter == 21 && copied == 5 ? 0 : 13;
}

// Forks while worker threads exist and one of them is inside a host function.
int forkWhileBusy() {
  cudaStream_t busy = nullptr;
  cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking);
  cudaLaunchHostFunc(busy, &sleepLong, nullptr);
  cudaLaunchHostFunc(busy, &sleepLong, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (const int code = work(); code != 0) return code;
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return work();
}

int tellMode() {
  int count = -1;
  void* memory = nullptr;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  const cudaError_t allocated = cudaMalloc(&memory, 64);
  std::printf("count %d %d malloc %d last %s\n", counted, count, allocated, cudaGetErrorName(cudaGetLastError()));
  return 0;
}

// Eight arguments: some travel in registers, some on the stack.
int forwardArguments() {
  char a[8] = "";
  char b[8] = "";
  for (int i = 0; i < 2; ++i) {
    std::printf("copy %d\n",
                cudaMemcpy2DAsync(a, 11, b, 22, 33, 44, cudaMemcpyDeviceToHost, reinterpret_cast<cudaStream_t>(55)));
  }
  return 0;
}

int registerKernels() {
  int image = 0;
  void** handle = __cudaRegisterFatBinary(&image);
  __cudaRegisterFatBinaryEnd(handle);
  std::printf("registered %d\n", handle != nullptr);
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  void* stream = nullptr;
  __cudaPushCallConfiguration(dim3(2, 3, 4), dim3(5, 6, 7), 8, reinterpret_cast<CUstream_st*>(9));
  const cudaError_t popped = __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
  std::printf("popped %d: %u %u %u %u %u %u %zu %p\n", popped, grid.x, grid.y, grid.z, block.x, block.y, block.z,
              shared, stream);
  std::printf("again %d\n", __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  __cudaUnregisterFatBinary(handle);
  return 0;
}

int launchKernel() {
  const cudaError_t error = cudaLaunchKernel(static_cast<const void*>("kernel"), dim3(1), dim3(1), nullptr, 0, nullptr);
  std::printf("launch %s\n", cudaGetErrorName(error));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> commands{{"exit-live", &exitWithLiveObjects},
                                                  {"exit-static", &useInStaticDestructor},
                                                  {"fork", &forkWhileBusy},
                                                  {"mode", &tellMode},
                                                  {"forward", &forwardArguments},
                                                  {"register", &registerKernels},
                                                  {"launch", &launchKernel}};
  const auto command = commands.find(argc > 1 ? argv[1] : "");
  return command != commands.end() ? command->second() : 99;
}
