#include "testing/documentation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace kgpu {

std::string ReadDocument(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> YamlBlocks(std::string_view page) {
  constexpr std::string_view kBegin = "```yaml\n";
  std::vector<std::string> blocks;
  for (size_t at = page.find(kBegin); at != std::string_view::npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    blocks.emplace_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

}  // namespace kgpu
