# cmake -DOUT=f.cc -DDIR=deploy/chart -P embed.cmake: the chart's files as a C++ table, so that one program
# installs everything.
file(GLOB_RECURSE files RELATIVE "${DIR}" FOLLOW_SYMLINKS "${DIR}/*.yaml" "${DIR}/*.json")
list(SORT files)
set(text "#include <array>\n\n#include \"src/cluster/chart/chart_files.h\"\n\nnamespace kgpu::chart {\n\n")
string(APPEND text "std::span<const ChartFile> ChartFiles() {\n")
list(LENGTH files count)
string(APPEND text "  static constexpr std::array<ChartFile, ${count}> kFiles = {{\n")
foreach(file IN LISTS files)
  file(READ "${DIR}/${file}" content)
  string(APPEND text "      {\"${file}\", R\"chart(${content})chart\"},\n")
endforeach()
string(APPEND text "  }};\n  return kFiles;\n}\n\n}  // namespace kgpu::chart\n")
file(WRITE "${OUT}" "${text}")
