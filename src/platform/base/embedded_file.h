// A file that is part of the program: kgpu_embed of cmake/KgpuModule.cmake makes tables of them.
#pragma once

#include <string_view>

namespace kgpu {

struct EmbeddedFile {
  std::string_view path;  // below its folder: "templates/agent.yaml"
  std::string_view text;
};

}  // namespace kgpu
