// Whole files in and out; every failure names the file and the reason.
#pragma once

#include <files/input_file.h>

#include <string>
#include <string_view>

namespace tenon::trtexec {

//! `what` says in messages what the file is for: "engine", "input 'x'".
files::InputFile readFile(const std::string& path, std::string_view what);

//! An engine file that begins as those of this library do; `verdict` says in messages what others are.
files::InputFile readPlan(const std::string& path,
                          std::string_view verdict = "is not an engine that this library can load");

//! Leaves no cut-off file behind when it fails.
void writeFile(const std::string& path, const void* data, size_t bytes, std::string_view what);
void writeFile(const std::string& path, std::string_view text, std::string_view what);

//! Before the work of which the file is to be made: throws when it cannot be written there. `flag` named it.
void checkWritable(const std::string& path, std::string_view flag);

bool fileExists(const std::string& path);

//! The tensor's name with all but letters, digits, '.', '-' and '_' replaced, for use in a file name.
std::string fileNamePart(std::string_view name);

}  // namespace tenon::trtexec
