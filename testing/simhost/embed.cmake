# cmake -DOUT=f.cc -DDIR=testing/profiles -P embed.cmake: the YAML files as C++ tables, so that the
# program works wherever it lies.
function(table out folder function_name)
  file(GLOB files "${folder}/*.yaml")
  list(SORT files)
  set(text "const std::map<std::string_view, std::string_view>& ${function_name}() {\n")
  string(APPEND text "  static const std::map<std::string_view, std::string_view> kFiles = {\n")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WLE)
    file(READ "${file}" content)
    string(APPEND text "      {\"${name}\", R\"yaml(${content})yaml\"},\n")
  endforeach()
  string(APPEND text "  };\n  return kFiles;\n}\n")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

table(profiles "${DIR}" BuiltinProfiles)
table(models "${DIR}/models" BuiltinModels)
file(WRITE "${OUT}" "#include \"testing/simhost/profile.h\"\n\nnamespace kgpu::simhost {\n\n"
  "${profiles}\n${models}\n}  // namespace kgpu::simhost\n")
