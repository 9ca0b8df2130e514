#include "src/functions/spec/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kWithFiles[] =
    "functions: {a: {runtime: go, environment: {A: file, B: file},\n"
    "environment_file: [one.yaml, env/two.yaml]}}";

// Files by path.
ReadFile From(const std::map<std::string, std::string>& files) {
  return [files](const std::string& path, size_t) -> StatusOr<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? StatusOr<std::string>(NotFound("{}: no such file", path))
                                : StatusOr<std::string>(found->second);
  };
}

TEST(LoadFunctionsTest, LaterFilesWinAndFilesWinOverTheFunctionsOwn) {
  const auto file = LoadFunctionsFile(
      "dir/config.yaml", From({{"dir/config.yaml", kWithFiles},
                               {"dir/one.yaml", "environment: {B: one, C: one, D: one}"},
                               {"dir/env/two.yaml", "environment: {C: two, E: 007}"}}));
  ASSERT_OK(file);
  EXPECT_THAT(file->functions.front().environment,
              ElementsAre(Pair("A", "file"), Pair("B", "one"), Pair("C", "two"), Pair("D", "one"),
                          Pair("E", "007")));
}

TEST(LoadFunctionsTest, AMissingFileIsNamedWithTheFieldThatNamesIt) {
  EXPECT_THAT(LoadFunctionsFile("config.yaml", From({{"config.yaml", kWithFiles}})),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("config.yaml: functions.a.environment_file: one.yaml: one.yaml: "
                                 "no such file")));
}

TEST(LoadFunctionsTest, FilesAreReadAsStrictly) {
  EXPECT_THAT(
      LoadFunctionsFile("config.yaml", From({{"config.yaml", kWithFiles},
                                             {"one.yaml", "environment: {KGPU_FN_LISTEN: x}"},
                                             {"env/two.yaml", ""}})),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("one.yaml:1:15: environment.KGPU_FN_LIS")));
  EXPECT_THAT(LoadFunctionsFile("config.yaml", From({{"config.yaml", kWithFiles},
                                                     {"one.yaml", "environmnt: {}"},
                                                     {"env/two.yaml", ""}})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean \"environment\"?")));
}

TEST(LoadFunctionsTest, ReadsThisMachinesFiles) {
  const TempDir dir;
  dir.WriteFile("config.yaml", "functions: {a: {runtime: go, environment_file: [env.yaml]}}");
  dir.WriteFile("env.yaml", "environment: {A: b}");
  const auto file = LoadFunctionsFile(dir.At("config.yaml"));
  ASSERT_OK(file);
  EXPECT_THAT(file->functions.front().environment, ElementsAre(Pair("A", "b")));
  EXPECT_THAT(LoadFunctionsFile(dir.At("other.yaml")), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::functions
