// kgpu doctor manifest: what it prints, writes and exits with; its manifests are read by kubectl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "testing/temp_dir.h"
#include "tests/e2e/kubectl.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::minutes kPatience{5};

std::string OldManifest() {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) +
                     "/src/diagnose/manifest/testdata/deployment.old.yaml");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DoctorManifestTest, AnOldManifestIsReported) {
  const TempDir dir;
  dir.WriteFile("m.yaml", OldManifest());
  const Result result = RunProgram({"kgpu", "doctor", "manifest", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, AllOf(HasSubstr("m.yaml:2:1: "),
                                HasSubstr("Deployment train: apiVersion: extensions/v1beta1"),
                                HasSubstr("--print fixes 11")));
}

TEST(DoctorManifestTest, TheModernOneTakesItsPlaceAndKubectlReadsIt) {
  const TempDir dir;
  dir.WriteFile("m.yaml", OldManifest());
  Result result =
      RunProgram({"kgpu", "doctor", "manifest", "--in-place", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(dir.ReadFile("m.yaml.before-kgpu"), OldManifest());
  result = RunProgram({"kgpu", "doctor", "manifest", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(result.code, 0) << result.out;
  dir.WriteFile("m.yaml", OldManifest() + "# again\n");
  result = RunProgram({"kgpu", "doctor", "manifest", "--in-place", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(dir.ReadFile("m.yaml.before-kgpu"), OldManifest()) << "the first text stays";
  EXPECT_EQ(dir.ReadFile("m.yaml.before-kgpu.2"), OldManifest() + "# again\n");
  if (!HasKubectl()) {
    GTEST_SKIP() << "there is no kubectl here: the rest was not seen";
  }
  result = RunProgram(KubectlCommand(dir.path(), {"set", "image", "--local", "-f", dir.At("m.yaml"),
                                                  "*=x:2", "-o", "name"}),
                      kPatience);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "deployment.apps/train\ncronjob.batch/nightly\n");
}

TEST(DoctorManifestTest, PrintAndDiffAreNotGivenTogether) {
  const TempDir dir;
  dir.WriteFile("m.yaml", OldManifest());
  const Result result =
      RunProgram({"kgpu", "doctor", "manifest", "--print", "--diff", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("--print and --diff"));
}

TEST(DoctorManifestTest, WhatIsNoManifestIsRefusedWithItsPlace) {
  const TempDir dir;
  dir.WriteFile("m.yaml", "a: [\n");
  const Result result = RunProgram({"kgpu", "doctor", "manifest", dir.At("m.yaml")}, kPatience);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("m.yaml:2"));
}

}  // namespace
}  // namespace kgpu::e2e
