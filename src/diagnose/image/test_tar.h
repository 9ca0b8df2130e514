// Archives made by hand.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::image {

// A header and a body, filled up to whole blocks; `type` as of ustar.
std::string TarFile(std::string_view path, std::string_view body, char type = '0');
// What ends an archive.
std::string TarEnd();

}  // namespace kgpu::image
