#include "src/container/inject/build_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/inject/host_parts.h"
#include "src/container/inject/test_snapshot.h"
#include "testing/status_matchers.h"
#include "testing/test_host.h"

namespace kgpu::inject {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BuildSpecsTest : public ::testing::Test {
 protected:
  StatusOr<SpecSet> Build(const device::Snapshot& snapshot, const std::string& driver_root = "") {
    auto root = host::OpenDriverRoot(host_.path(), driver_root, "");
    EXPECT_OK(root);
    return BuildSpecs(snapshot, *root);
  }
  TestHost host_;
};

TEST_F(BuildSpecsTest, DriverRootWithoutLibrariesNamesTheFix) {
  host_.dir().MakeDir("dev");
  EXPECT_THAT(
      Build(TestSnapshot(1)),
      StatusIs(StatusCode::kNotFound, AllOf(HasSubstr(host_.path()), HasSubstr("--driver-root"))));
}

TEST_F(BuildSpecsTest, OtherVersionThanTheModuleNamesTheFix) {
  host_.InstallRhel();
  device::Snapshot snapshot = TestSnapshot(1);
  snapshot.driver.module_version = "550.54.15";
  EXPECT_THAT(Build(snapshot), StatusIs(StatusCode::kFailedPrecondition,
                                        AllOf(HasSubstr("550.54.15"), HasSubstr("535.104.05"),
                                              HasSubstr("restart the host"))));
}

TEST_F(BuildSpecsTest, NoDevFolderIsAnError) {
  host_.InstallRhel();
  EXPECT_THAT(Build(TestSnapshot(1)), StatusIs(StatusCode::kNotFound, HasSubstr("/dev")));
}

TEST_F(BuildSpecsTest, NoNodesAreNotes) {
  host_.InstallRhel();
  host_.dir().MakeDir("dev");
  const auto set = Build(TestSnapshot(1));
  ASSERT_OK(set);
  EXPECT_THAT(set->notes, AllOf(Contains(HasSubstr("/dev/nvidiactl")),
                                Contains(HasSubstr("nvidia-modprobe -u")),
                                Contains(HasSubstr("/dev/nvidia0"))));
  EXPECT_THAT(set->specs[0].devices, IsEmpty());
}

TEST_F(BuildSpecsTest, BothKindsHoldTheSame) {
  host_.InstallRhel();
  if (!host_.AddNodes(1)) {
    GTEST_SKIP() << "making device nodes is not permitted here";
  }
  const auto set = Build(TestSnapshot(1));
  ASSERT_OK(set);
  ASSERT_EQ(set->specs.size(), 2U);
  EXPECT_EQ(set->specs[0].kind, "kgpu.dev/gpu");
  EXPECT_EQ(set->specs[1].kind, "nvidia.com/gpu");
  EXPECT_EQ(set->specs[0].devices, set->specs[1].devices);
  EXPECT_EQ(set->specs[0].version, "0.5.0");
}

TEST_F(BuildSpecsTest, DriverContainersFilesAreNamedAsTheHostNamesThem) {
  if (!host_.AddNodes(1)) {
    GTEST_SKIP() << "making device nodes is not permitted here";
  }
  host_.AddLibrary("run/nvidia/driver/usr/lib64", "libcuda");
  host_.AddProgram("run/nvidia/driver/usr/bin/nvidia-smi");
  host_.AddSocket("run/nvidia-persistenced/socket");
  const auto set = Build(TestSnapshot(1), "/run/nvidia/driver");
  ASSERT_OK(set);
  EXPECT_THAT(
      set->specs[0].edits.mounts,
      AllOf(Contains(AllOf(
                Field(&cdi::Mount::host_path, "/run/nvidia/driver/usr/lib64/libcuda.so.535.104.05"),
                Field(&cdi::Mount::container_path, "/usr/lib64/libcuda.so.1"))),
            Contains(AllOf(Field(&cdi::Mount::host_path, "/run/nvidia/driver/usr/bin/nvidia-smi"),
                           Field(&cdi::Mount::container_path, "/usr/bin/nvidia-smi"))),
            Contains(Field(&cdi::Mount::host_path, "/run/nvidia-persistenced/socket"))));
}

TEST_F(BuildSpecsTest, LinksAreResolvedOnTheHost) {
  host_.InstallDebian();
  if (!host_.AddNodes(1)) {
    GTEST_SKIP() << "making device nodes is not permitted here";
  }
  const auto set = Build(TestSnapshot(1));
  ASSERT_OK(set);
  EXPECT_THAT(set->specs[0].edits.mounts,
              Not(Contains(Field(&cdi::Mount::host_path, HasSubstr("alternatives")))));
}

TEST(HostPartsTest, FindsFilesWhereGkePutsThem) {
  const TestHost host;
  host.AddLibrary("home/kubernetes/bin/nvidia/lib64", "libcuda");
  host.AddProgram("home/kubernetes/bin/nvidia/bin/nvidia-smi");
  host.dir().MakeDir("dev");
  const auto root = host::OpenDriverRoot(host.path(), "/home/kubernetes/bin/nvidia", "");
  ASSERT_OK(root);
  const auto parts = FindHostParts(*root, TestSnapshot(1));
  ASSERT_OK(parts);
  EXPECT_THAT(parts->libraries,
              ElementsAre(Field(&LibraryPart::engine_path,
                                "/home/kubernetes/bin/nvidia/lib64/libcuda.so.535.104.05")));
  EXPECT_THAT(parts->files,
              ElementsAre(AllOf(
                  Field(&FilePart::container_path, "/usr/bin/nvidia-smi"),
                  Field(&FilePart::engine_path, "/home/kubernetes/bin/nvidia/bin/nvidia-smi"))));
}

}  // namespace
}  // namespace kgpu::inject
