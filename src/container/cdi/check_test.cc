#include "src/container/cdi/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cdi {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using report::Finding;

class CheckSpecTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!dir_.MakeCharDevice("dev/nvidia0", 195, 0)) {
      GTEST_SKIP() << "making device nodes is not permitted here";
    }
    dir_.WriteFile("usr/lib/libcuda.so.535.104.05", "");
    spec_.version = "0.5.0";
    spec_.kind = "kgpu.dev/gpu";
    Device& device = spec_.devices.emplace_back();
    device.name = "0";
    DeviceNode& node = device.edits.device_nodes.emplace_back();
    node.path = "/dev/nvidia0";
    node.major = 195;
    node.minor = 0;
    spec_.edits.mounts = {{"/usr/lib/libcuda.so.535.104.05", "/usr/lib/libcuda.so.1", {}, ""}};
  }
  std::vector<Finding> Check() {
    const auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    return CheckSpec(spec_, *root);
  }
  DeviceNode& node() { return spec_.devices[0].edits.device_nodes[0]; }

  TempDir dir_;
  Spec spec_;
};

TEST_F(CheckSpecTest, FindsNothingWhenAllIsThere) {
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(CheckSpecTest, FindsOtherNumbers) {
  node().minor = 1;
  EXPECT_THAT(Check(), ElementsAre(AllOf(
                           Field(&Finding::subject, "0"),
                           Field(&Finding::message, HasSubstr("is 195:0, the spec says 195:1")))));
}

TEST_F(CheckSpecTest, FindsMissingNode) {
  node().host_path = "/dev/nvidia7";
  EXPECT_THAT(
      Check(),
      ElementsAre(AllOf(
          Field(&Finding::message, HasSubstr("/dev/nvidia7")),
          Field(&Finding::fix, Field(&report::Fix::commands,
                                     ElementsAre(HasSubstr("regenerate the outdated spec")))))));
}

TEST_F(CheckSpecTest, FindsFileInThePlaceOfANode) {
  node().host_path = "/usr/lib/libcuda.so.535.104.05";
  EXPECT_THAT(Check(), ElementsAre(Field(&Finding::message, HasSubstr("not a device node"))));
}

TEST_F(CheckSpecTest, FindsMissingMountOnce) {
  spec_.edits.mounts[0].host_path = "/usr/lib/libcuda.so.550.54.15";
  spec_.edits.mounts.push_back(spec_.edits.mounts[0]);
  EXPECT_THAT(Check(), ElementsAre(AllOf(Field(&Finding::subject, ""),
                                         Field(&Finding::message, HasSubstr("550.54.15")))));
}

TEST_F(CheckSpecTest, FindsMissingHookAndBrokenRules) {
  spec_.edits.hooks.push_back({"createContainer", "/usr/bin/nvidia-cdi-hook", {}, {}, {}});
  spec_.version = "0.3.0";
  EXPECT_THAT(Check(), ElementsAre(Field(&Finding::message, HasSubstr("write \"0.5.0\"")),
                                   Field(&Finding::message, HasSubstr("nvidia-cdi-hook"))));
}

}  // namespace
}  // namespace kgpu::cdi
