# cmake -DOUT=f.cc -DDIR=deploy/chart "-DPATTERNS=*.yaml *.json" -DHEADER=h -DFUNCTION=chart::ChartFiles -P …:
# the files below a folder as a C++ table, sorted by path, so that one program has all it needs.
string(REPLACE " " ";" patterns "${PATTERNS}")
list(TRANSFORM patterns PREPEND "${DIR}/")
file(GLOB_RECURSE files RELATIVE "${DIR}" FOLLOW_SYMLINKS ${patterns})
list(FILTER files EXCLUDE REGEX "__pycache__")  # of a Python that ran a worker from here
list(SORT files)
string(REGEX REPLACE "::[^:]*$" "" namespace "${FUNCTION}")
string(REGEX REPLACE "^.*::" "" function "${FUNCTION}")
list(LENGTH files count)
set(text "#include <array>\n\n#include \"${HEADER}\"\n\nnamespace kgpu::${namespace} {\n\n")
string(APPEND text "std::span<const EmbeddedFile> ${function}() {\n")
string(APPEND text "  static constexpr std::array<EmbeddedFile, ${count}> kFiles = {{\n")
foreach(file IN LISTS files)
  file(READ "${DIR}/${file}" content)
  string(APPEND text "      {\"${file}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "  }};\n  return kFiles;\n}\n\n}  // namespace kgpu::${namespace}\n")
file(WRITE "${OUT}" "${text}")
