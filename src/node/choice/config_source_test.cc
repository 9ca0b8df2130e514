#include "src/node/choice/config_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "src/platform/base/log.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::choice {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGood[] =
    "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n  - resource: nvidia.com/gpu\n";
constexpr char kOther[] =
    "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n  - resource: example.com/gpu\n";
constexpr char kBad[] = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npool: []\n";

class ConfigSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([](LogLevel, std::string_view) {});
  }
  void TearDown() override { SetLogSink({}); }

  std::unique_ptr<ConfigSource> Open(bool must_exist) {
    return std::make_unique<ConfigSource>(
        loop_, ConfigSourceOptions{.file = dir_.At("etc/config.yaml"), .must_exist = must_exist},
        [this] { ++changes_; });
  }
  void Settle() {
    loop_.RunUntilIdle();
    loop_.Advance(milliseconds(100));
  }

  TempDir dir_;
  FakeLoop loop_;
  int changes_ = 0;
};

TEST_F(ConfigSourceTest, HasTheDefaultsWithoutAFile) {
  const auto source = Open(false);
  ASSERT_NE(source->config(), nullptr);
  EXPECT_EQ(*source->config(), config::DefaultNodeConfig());
  EXPECT_THAT(source->problem(), IsEmpty());
}

TEST_F(ConfigSourceTest, KnowsNothingWhileTheFileAskedForIsMissing) {
  const auto source = Open(true);
  EXPECT_EQ(source->config(), nullptr);
  EXPECT_THAT(source->problem(), HasSubstr("config.yaml"));
  // The folder itself comes later, too.
  dir_.WriteFile("etc/config.yaml", kGood);
  Settle();
  loop_.Advance(std::chrono::seconds(3));
  EXPECT_NE(source->config(), nullptr);
  EXPECT_THAT(source->problem(), IsEmpty());
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigSourceTest, ReadsAFileThatChanges) {
  dir_.WriteFile("etc/config.yaml", kGood);
  const auto source = Open(true);
  dir_.WriteFile("etc/config.yaml", kOther);
  Settle();
  ASSERT_NE(source->config(), nullptr);
  EXPECT_EQ(source->config()->pools.at(0).resource, "example.com/gpu");
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigSourceTest, FollowsTheLinksOfAConfigMapVolume) {
  dir_.WriteFile("etc/..1/config.yaml", kGood);
  dir_.Symlink("..1", "etc/..data");
  dir_.Symlink("..data/config.yaml", "etc/config.yaml");
  const auto source = Open(true);
  dir_.WriteFile("etc/..2/config.yaml", kOther);
  dir_.Symlink("..2", "etc/..data_tmp");
  std::filesystem::rename(dir_.At("etc/..data_tmp"), dir_.At("etc/..data"));
  Settle();
  ASSERT_NE(source->config(), nullptr);
  EXPECT_EQ(source->config()->pools.at(0).resource, "example.com/gpu");
}

TEST_F(ConfigSourceTest, KeepsTheFormerConfigurationWhenTheNewOneIsBad) {
  dir_.WriteFile("etc/config.yaml", kGood);
  const auto source = Open(true);
  dir_.WriteFile("etc/config.yaml", kBad);
  Settle();
  ASSERT_NE(source->config(), nullptr);
  EXPECT_EQ(source->config()->pools.at(0).resource, "nvidia.com/gpu");
  EXPECT_THAT(source->problem(), HasSubstr("pool"));
  EXPECT_EQ(changes_, 1);
  dir_.WriteFile("etc/config.yaml", kGood);
  Settle();
  EXPECT_THAT(source->problem(), IsEmpty());
  EXPECT_EQ(changes_, 2);
}

TEST_F(ConfigSourceTest, KeepsTheFormerConfigurationWhenTheFileGoes) {
  dir_.WriteFile("etc/config.yaml", kGood);
  const auto source = Open(true);
  std::filesystem::remove(dir_.At("etc/config.yaml"));
  Settle();
  EXPECT_NE(source->config(), nullptr);
  EXPECT_THAT(source->problem(), HasSubstr("config.yaml"));
}

TEST_F(ConfigSourceTest, ReportsAProblemOnce) {
  dir_.WriteFile("etc/config.yaml", kBad);
  const auto source = Open(true);
  EXPECT_EQ(source->config(), nullptr);
  for (int i = 0; i < 3; ++i) {
    source->Reload();
  }
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace kgpu::choice
