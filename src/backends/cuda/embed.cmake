# Writes OUTPUT: a C++ file that holds the text of each of FILES, by the name with which code includes it: headers that the
# host's compiler reads as well (*.h) by their path below ROOT, as it does; files for NVRTC alone by their base names.
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  if(name MATCHES "\\.h$")
    file(RELATIVE_PATH name ${ROOT} ${file})
  endif()
  file(READ ${file} text)
  string(APPEND rows "      {\"${name}\", R\"cuda(${text})cuda\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from the kernels' files.
#include \"backends/cuda/driver/compiler.h\"
namespace tenon::backends::cuda {
std::span<const EmbeddedFile> embeddedFiles() {
  static const EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}
}  // namespace tenon::backends::cuda
")
