#include "src/functions/provider/secret_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SecretFilesTest : public ::testing::Test {
 protected:
  SecretFilesTest() {
    dir_.MakeDir("run/4f1c");
    dir_.MakeDir("secrets");
    function_.name = "hello";
    function_.secrets = {"token"};
  }
  void Store(const std::string& bytes, mode_t mode) {
    dir_.WriteFile("secrets/token", bytes);
    ASSERT_EQ(chmod(dir_.At("secrets/token").c_str(), mode), 0);
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  TempDir dir_;
  const ProviderFolders folders_{.run = dir_.At("run"), .secrets = dir_.At("secrets"), .logs = ""};
  Function function_;
};

TEST_F(SecretFilesTest, AMissingOneIsNamedWithItsPlace) {
  EXPECT_THAT(CheckSecrets(folders_, function_),
              StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("hello: secret token"),
                                                    HasSubstr(dir_.At("secrets/token")))));
  dir_.MakeDir("secrets/token");
  EXPECT_THAT(CheckSecrets(folders_, function_), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(CopySecrets(folders_, function_, "4f1c"), StatusIs(StatusCode::kNotFound));
}

TEST_F(SecretFilesTest, CopiesBytesThatTheContainersUserCanRead) {
  const std::string bytes("line1\nline2 \n\n\0\xff", 17);
  Store(bytes, 0600);
  ASSERT_OK(CheckSecrets(folders_, function_));
  ASSERT_OK(CopySecrets(folders_, function_, "4f1c"));
  EXPECT_EQ(dir_.ReadFile("run/4f1c/secrets/token"), bytes);
  EXPECT_EQ(ModeOf(dir_.At("run/4f1c/secrets")), 0755U);
  EXPECT_EQ(ModeOf(dir_.At("run/4f1c/secrets/token")), 0444U);
  EXPECT_EQ(ModeOf(dir_.At("secrets/token")), 0600U) << "the host's stays closed";
}

TEST_F(SecretFilesTest, ASecretThatIsReplacedTakesThePlaceOfTheOther) {
  Store("old", 0600);
  ASSERT_OK(CopySecrets(folders_, function_, "4f1c"));
  dir_.WriteFile("secrets/new", "new");
  std::filesystem::rename(dir_.At("secrets/new"), dir_.At("secrets/token"));
  ASSERT_OK(RefreshSecrets(folders_, function_, "4f1c"));
  EXPECT_EQ(dir_.ReadFile("run/4f1c/secrets/token"), "new");
  std::filesystem::remove(dir_.At("secrets/token"));
  EXPECT_THAT(RefreshSecrets(folders_, function_, "4f1c"), StatusIs(StatusCode::kNotFound));
  EXPECT_EQ(dir_.ReadFile("run/4f1c/secrets/token"), "new") << "one that is gone is kept";
}

TEST_F(SecretFilesTest, ReplicasWithoutAFolderAreLeftAlone) {
  Store("s", 0600);
  EXPECT_OK(RefreshSecrets(folders_, function_, "4f1c"));
  EXPECT_FALSE(std::filesystem::exists(dir_.At("run/4f1c/secrets")));
  function_.secrets = {};
  EXPECT_OK(CopySecrets(folders_, function_, "4f1c"));
  EXPECT_FALSE(std::filesystem::exists(dir_.At("run/4f1c/secrets")));
}

TEST_F(SecretFilesTest, RefusesAHugeOne) {
  Store(std::string(kMaxSecret + 1, 'x'), 0600);
  EXPECT_FALSE(CheckSecrets(folders_, function_).ok());
}

}  // namespace
}  // namespace kgpu::functions
