// Drives a fuzz target without libFuzzer: changes files of the given folders at random and hands them over.
//
//   fuzz_<target> [--seconds N] [--seed N] FILE_OR_FOLDER ...
//
// Without --seconds each file is handed over once, as it is. An input that ends the process is left in failure-<time>
// of the working directory.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "support.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr unsigned kSecondsPerInput = 20;
constexpr size_t kMaxBytes = 1 << 16;

Bytes current;

extern "C" void keepInput(int number) {
  char name[40] = "failure-";
  long value = static_cast<long>(std::time(nullptr));
  char* end = name + std::strlen(name);
  for (; value != 0; value /= 10) *end++ = static_cast<char>('0' + value % 10);
  *end = '\0';
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data(), current.size()) >= 0) close(file);
  const char* const message = number == SIGALRM ? "the input takes too long\n" : "the input ended the process\n";
  (void)!write(STDERR_FILENO, message, std::strlen(message));
  (void)!write(STDERR_FILENO, name, std::strlen(name));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(1);
}

class Mutator {
 public:
  Mutator(std::vector<Bytes> seeds, uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  void next(Bytes& bytes) {
    if (bytes.empty() || bytes.size() > kMaxBytes || random_() % 4 != 0) bytes = pick();
    for (uint64_t changes = 1 + random_() % 6; changes > 0; --changes) change(bytes);
  }

 private:
  const Bytes& pick() { return seeds_[random_() % seeds_.size()]; }
  size_t place(const Bytes& bytes) { return random_() % (bytes.size() + 1); }

  void change(Bytes& bytes) {
    if (bytes.empty()) bytes.push_back(static_cast<uint8_t>(random_()));
    uint8_t& one = bytes[random_() % bytes.size()];
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes));
    const auto rest = static_cast<uint64_t>(bytes.end() - at);
    switch (random_() % 8) {
      case 0: one ^= static_cast<uint8_t>(1U << random_() % 8); break;
      case 1: one = static_cast<uint8_t>(random_()); break;
      case 2: one = static_cast<uint8_t>(random_() % 2 == 0 ? one + 1 : one - 1); break;
      case 3: one = std::to_array<uint8_t>({0, 1, 0x7f, 0x80, 0xff, '0', '9', '-'})[random_() % 8]; break;
      case 4: bytes.erase(at, at + static_cast<std::ptrdiff_t>(std::min<uint64_t>(rest, 1 + random_() % 16))); break;
      case 5: bytes.insert(at, 1 + random_() % 4, static_cast<uint8_t>(random_())); break;
      case 6: insertPart(bytes, place(bytes), pick()); break;
      default: insertPart(bytes, place(bytes), Bytes(bytes)); break;
    }
  }

  // A piece of another input, or of the same one, over or between what is there.
  void insertPart(Bytes& bytes, size_t at, const Bytes& from) {
    if (from.empty()) return;
    const size_t begin = random_() % from.size();
    const size_t count = std::min<size_t>(from.size() - begin, 1 + random_() % 64);
    const auto in = [](auto& all, size_t index) { return all.begin() + static_cast<std::ptrdiff_t>(index); };
    const Bytes piece(in(from, begin), in(from, begin + count));
    if (random_() % 2 == 0) bytes.erase(in(bytes, at), in(bytes, std::min(at + count, bytes.size())));
    bytes.insert(in(bytes, at), piece.begin(), piece.end());
  }

  std::vector<Bytes> seeds_;
  std::mt19937_64 random_;
};

Bytes readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<Bytes> readAll(const fs::path& path) {
  if (!fs::is_directory(path)) return {readFile(path)};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());  // the same seed gives the same inputs
  std::vector<Bytes> result;
  for (const auto& file : files) result.push_back(readFile(file));
  return result;
}

void handOver() {
  alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      for (auto& bytes : readAll(argument)) seeds.push_back(std::move(bytes));
    }
  }
  tenon::fuzz::require(!seeds.empty(), "at least one file to begin with");
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) signal(number, &keepInput);
  uint64_t executions = 0;
  for (const Bytes& bytes : seeds) {
    current = bytes;
    handOver();
    ++executions;
  }
  Mutator mutator(std::move(seeds), seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    mutator.next(current);
    handOver();
    ++executions;
  }
  std::printf("%llu executions in %.0f seconds\n", static_cast<unsigned long long>(executions), seconds);
  return 0;
}
