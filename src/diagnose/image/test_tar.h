// Handmade archives.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::image {

// A header and a body, padded to whole blocks; `type` as in ustar.
std::string TarFile(std::string_view path, std::string_view body, char type = '0');
// The end of an archive.
std::string TarEnd();

}  // namespace kgpu::image
