#include "src/platform/compress/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/shell.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::compress {
namespace {

// As GNU tar reads it.
TEST(TarTest, OtherProgramsReadIt) {
  const std::vector<TarFile> files = {{.path = "a/empty", .text = ""},
                                      {.path = "a/line", .text = "text\n"},
                                      {.path = "b", .text = std::string(5000, 'x')}};
  const auto archive = Tar(files, WallTime(std::chrono::seconds(1'700'000'000)));
  ASSERT_OK(archive);
  EXPECT_EQ(archive->size() % 512, 0U);
  TempDir dir;
  dir.WriteFile("a.tar", *archive);
  ASSERT_EQ(Shell("cd " + dir.path() + " && tar -xf a.tar").code, 0);
  for (const TarFile& file : files) {
    EXPECT_EQ(dir.ReadFile(file.path), file.text) << file.path;
  }
}

TEST(TarTest, RefusesPathsThatOthersWouldNotRead) {
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string(101, 'x')}) {
    EXPECT_EQ(Tar(std::vector<TarFile>{{.path = path}}, {}).status().code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kgpu::compress
