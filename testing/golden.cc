#include "testing/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kgpu {

void ExpectGolden(std::string_view path, std::string_view text) {
  const std::filesystem::path file = std::filesystem::path(KGPU_SOURCE_DIR) / path;
  // Tests are single-threaded here.
  if (std::getenv("KGPU_UPDATE_GOLDENS") != nullptr) {  // NOLINT(concurrency-mt-unsafe): see above
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  std::ifstream in(file, std::ios::binary);
  ASSERT_TRUE(in) << path << " is not there: run tools/update_goldens and read the diff";
  const std::string golden{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(golden, text) << path << " differs: run tools/update_goldens and read the diff";
}

}  // namespace kgpu
