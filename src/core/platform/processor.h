// Facts about the processor that runs this process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::platform {

// Instruction sets of x86 that kernels tell apart; each includes those before it. kBaseline is what the compiler
// assumes.
enum class Isa { kBaseline, kSse4, kAvx2, kAvx512 };

std::string_view name(Isa isa);

// The best set that the processor has and TENON_MAX_ISA (sse4, avx2 or avx512, read once) allows.
Isa bestIsa();

// Whether it multiplies and adds four pairs of bytes at once in vectors of 512 bits (AVX512-VNNI), and may.
bool hasVnni();
// The same in vectors of 256 bits, encoded as AVX instructions are (AVX-VNNI).
bool hasNarrowVnni();
// Whether it multiplies matrices of bytes that lie in registers (AMX-INT8), the system lets this process do so (it is
// asked once), and TENON_MAX_ISA is not set.
bool hasByteTiles();
// Whether it looks up bytes in tables of 128 at once (AVX512-VBMI), and may.
bool hasByteTables();

// As the system names it, for messages and plans; "unknown processor" where it does not.
std::string processorName();

// Bytes of the last cache before memory; a usual size where the system does not say.
size_t sharedCacheBytes();

// Asks the system to back a range by large pages; only a hint.
void preferLargePages(void* memory, size_t bytes) noexcept;

}  // namespace tenon::platform
