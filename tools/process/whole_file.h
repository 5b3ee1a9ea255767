// Files that appear as a whole or not at all.
#pragma once

#include <cstddef>
#include <string>

namespace tenon::tools {

//! Writes the file under another name beside its place, waits until the disk has it, and renames it: whatever ends the
//! process leaves the old file or the new one. What is no regular file, such as a pipe, is written in place. Empty when
//! it is done, else the reason why not; nothing is left then.
std::string writeWholeFile(const std::string& path, const void* data, size_t bytes);

}  // namespace tenon::tools
