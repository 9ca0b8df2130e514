#include "src/functions/runtimes/runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace kgpu::functions {
namespace {

TEST(RuntimesTest, AreFoundByNameAndByAlias) {
  for (const Runtime& runtime : Runtimes()) {
    EXPECT_EQ(FindRuntime(runtime.name), &runtime);
    if (!runtime.alias.empty()) {
      EXPECT_EQ(FindRuntime(runtime.alias), &runtime);
    }
  }
  EXPECT_EQ(FindRuntime("python")->name, "python3");
  EXPECT_EQ(FindRuntime("cobol"), nullptr);
  EXPECT_EQ(FindRuntime(""), nullptr);
}

TEST(RuntimesTest, NoNameIsGivenTwice) {
  std::set<std::string_view> names;
  for (const Runtime& runtime : Runtimes()) {
    EXPECT_TRUE(names.insert(runtime.name).second) << runtime.name;
    EXPECT_TRUE(runtime.alias.empty() || names.insert(runtime.alias).second) << runtime.alias;
  }
}

TEST(RuntimesTest, TemplatesHaveTheHandlerThatTheTablePromises) {
  for (const Runtime& runtime : Runtimes()) {
    const auto files = TemplateFiles(runtime);
    const std::string path = "src/" + std::string(runtime.handler_file);
    const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
    ASSERT_NE(found, files.end()) << path;
    EXPECT_THAT(std::string(found->text), ::testing::HasSubstr(std::string(runtime.signature)));
    EXPECT_TRUE(std::ranges::is_sorted(files, {}, &EmbeddedFile::path));
  }
}

TEST(RuntimesTest, FilesOfTheWorkerAreNotInTheTemplate) {
  for (const Runtime& runtime : Runtimes()) {
    for (const EmbeddedFile& file : TemplateFiles(runtime)) {
      EXPECT_FALSE(file.path.starts_with("worker/")) << file.path;
      EXPECT_FALSE(file.text.empty()) << file.path;
    }
  }
}

}  // namespace
}  // namespace kgpu::functions
