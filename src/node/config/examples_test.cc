// What the documentation shows is read as it stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/gke_config.h"
#include "src/node/config/node_config.h"
#include "src/node/config/nvidia_config.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

const std::filesystem::path kDocs = std::filesystem::path(KGPU_SOURCE_DIR) / "docs";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The blocks of a page that are marked as YAML.
std::vector<std::string> YamlBlocks(std::string_view page) {
  constexpr std::string_view kBegin = "```yaml\n";
  std::vector<std::string> blocks;
  for (size_t at = page.find(kBegin); at != std::string_view::npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    blocks.emplace_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

TEST(ExamplesTest, EveryExampleFileIsGood) {
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kDocs / "examples")) {
    if (!entry.is_regular_file()) {
      continue;  // a folder of examples of something else
    }
    const std::string text = ReadText(entry.path());
    const std::string file = entry.path().filename().string();
    if (file.starts_with("nvidia-")) {
      EXPECT_OK(ConvertNvidiaConfig(text, file));
    } else if (file.starts_with("gke-")) {
      EXPECT_OK(ConvertGkeConfig(text, file));
    } else {
      EXPECT_OK(ParseNodeConfig(text, file));
    }
    ++count;
  }
  EXPECT_GE(count, 5U);
}

TEST(ExamplesTest, EveryBlockOfTheReferenceIsGood) {
  const std::vector<std::string> blocks =
      YamlBlocks(ReadText(kDocs / "reference/configuration.md"));
  EXPECT_GE(blocks.size(), 3U);
  for (const std::string& block : blocks) {
    EXPECT_OK(ParseNodeConfig(block.starts_with("apiVersion")
                                  ? block
                                  : "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + block,
                              "configuration.md"))
        << block;
  }
}

TEST(ExamplesTest, TheReferenceShowsTheDefaults) {
  EXPECT_THAT(ReadText(kDocs / "reference/configuration.md"),
              ::testing::HasSubstr(PrintNodeConfig(DefaultNodeConfig())));
}

}  // namespace
}  // namespace kgpu::config
