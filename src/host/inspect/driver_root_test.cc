#include "src/host/inspect/driver_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::HasSubstr;

class DriverRootTest : public ::testing::Test {
 protected:
  DriverRootTest() {
    dir_.MakeDir("host/run/nvidia/driver/usr");
    dir_.MakeDir("host/opt");
  }
  TempDir dir_;
};

TEST_F(DriverRootTest, DefaultsToTheHost) {
  const auto root = OpenDriverRoot(dir_.At("host/"), "", "");
  ASSERT_OK(root);
  EXPECT_EQ(root->driver.path(), dir_.At("host"));
  EXPECT_EQ(root->engine_root, dir_.At("host"));
  EXPECT_EQ(root->EnginePath(root->driver, "/usr/lib/libcuda.so.1"), "/usr/lib/libcuda.so.1");
}

TEST_F(DriverRootTest, DriverRootIsNamedAsTheHostNamesIt) {
  const auto root = OpenDriverRoot(dir_.At("host"), "/run/nvidia/driver", "");
  ASSERT_OK(root);
  EXPECT_EQ(root->driver.path(), dir_.At("host/run/nvidia/driver"));
  EXPECT_EQ(root->EnginePath(root->driver, "usr/bin/nvidia-smi"),
            "/run/nvidia/driver/usr/bin/nvidia-smi");
  EXPECT_EQ(root->EnginePath(root->host, "/dev/nvidia0"), "/dev/nvidia0");
}

TEST_F(DriverRootTest, DriverRootMayBeNamedAsWeSeeIt) {
  const auto root = OpenDriverRoot(dir_.At("host"), dir_.At("host/run/nvidia/driver"), "");
  ASSERT_OK(root);
  EXPECT_EQ(root->driver.path(), dir_.At("host/run/nvidia/driver"));
}

TEST_F(DriverRootTest, EngineRootSlashKeepsWholePaths) {
  const auto root = OpenDriverRoot(dir_.At("host"), "", "/");
  ASSERT_OK(root);
  EXPECT_EQ(root->EnginePath(root->host, "/dev/nvidia0"), dir_.At("host/dev/nvidia0"));
}

TEST_F(DriverRootTest, RealHostHasPlainPaths) {
  const auto root = OpenDriverRoot("", "", "");
  ASSERT_OK(root);
  EXPECT_EQ(root->EnginePath(root->host, "dev/nvidia0"), "/dev/nvidia0");
}

TEST_F(DriverRootTest, RejectsEngineRootThatIsNoPrefix) {
  EXPECT_THAT(OpenDriverRoot(dir_.At("host"), "", dir_.At("other")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--engine-root")));
  EXPECT_THAT(OpenDriverRoot(dir_.At("host"), "", dir_.At("ho")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--engine-root")));
}

TEST_F(DriverRootTest, RejectsWhatIsMissingOrRelative) {
  EXPECT_THAT(OpenDriverRoot(dir_.At("none"), "", ""),
              StatusIs(StatusCode::kNotFound, HasSubstr("--host-root")));
  EXPECT_THAT(OpenDriverRoot(dir_.At("host"), "/none", ""),
              StatusIs(StatusCode::kNotFound, HasSubstr("--driver-root")));
  EXPECT_THAT(OpenDriverRoot("host", "", ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("absolute")));
}

}  // namespace
}  // namespace kgpu::host
