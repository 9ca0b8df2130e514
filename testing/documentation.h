// Reads pages of docs/, so that tests take what they show as it stands there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu {

// Fails the running test if it cannot be read.
std::string ReadDocument(const std::filesystem::path& path);

// The blocks of a page that are marked as YAML.
std::vector<std::string> YamlBlocks(std::string_view page);

}  // namespace kgpu
