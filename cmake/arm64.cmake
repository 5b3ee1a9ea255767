# Cross compilation to 64-bit ARM, whose programs run under emulation. scripts/arm64.sh makes the folder of libraries that
# TENON_ARM64_SYSTEM names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(TENON_ARM64_SYSTEM "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-system" CACHE PATH "Libraries and headers for ARM64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_ARM64_SYSTEM)
set(CMAKE_FIND_ROOT_PATH ${TENON_ARM64_SYSTEM})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu
  -E LD_LIBRARY_PATH=${TENON_ARM64_SYSTEM}/usr/lib/aarch64-linux-gnu)
add_link_options(-Wl,-rpath-link,${TENON_ARM64_SYSTEM}/usr/lib/aarch64-linux-gnu)
