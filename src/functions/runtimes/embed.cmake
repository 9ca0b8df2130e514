# cmake -DOUT=f.cc -DDIR=deploy/functions -P embed.cmake: the runtimes' files as a C++ table, so that one
# program makes and builds functions.
file(GLOB_RECURSE files RELATIVE "${DIR}" FOLLOW_SYMLINKS "${DIR}/*/template/*" "${DIR}/*/worker/*")
list(FILTER files EXCLUDE REGEX "__pycache__")  # of a Python that ran the worker from here
list(SORT files)
set(text "#include <array>\n\n#include \"src/functions/runtimes/embedded_files.h\"\n\n")
string(APPEND text "namespace kgpu::functions {\n\nstd::span<const EmbeddedFile> EmbeddedFiles() {\n")
list(LENGTH files count)
string(APPEND text "  static constexpr std::array<EmbeddedFile, ${count}> kFiles = {{\n")
foreach(file IN LISTS files)
  file(READ "${DIR}/${file}" content)
  string(APPEND text "      {\"${file}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "  }};\n  return kFiles;\n}\n\n}  // namespace kgpu::functions\n")
file(WRITE "${OUT}" "${text}")
