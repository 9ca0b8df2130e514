#include "src/diagnose/doctor/kubelet_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kKubeletConfig =
    "cgroupDriver: systemd\n"
    "featureGates:\n"
    "  # for GPUs\n"
    "  DevicePlugins: true\n"
    "  \"KubeletPodResources\": false\n"
    "maxPods: 110\n";

TEST(ParseKubeletConfigTest, ReadsDriverAndGates) {
  const auto config = ParseKubeletConfig(kKubeletConfig, "config.yaml");
  ASSERT_OK(config.status());
  EXPECT_EQ(config->cgroup_driver, "systemd");
  EXPECT_THAT(config->gates, UnorderedElementsAre(Pair("DevicePlugins", true),
                                                  Pair("KubeletPodResources", false)));
}

TEST(ParseKubeletConfigTest, NamesAGateThatIsNoSwitch) {
  EXPECT_THAT(ParseKubeletConfig("featureGates: {A: often}\n", "config.yaml").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("config.yaml: featureGates.A")));
}

TEST(ParseKubeletConfigTest, AnEmptyMapOfGatesIsNone) {
  const auto config = ParseKubeletConfig("featureGates:\nmaxPods: 1\n", "config.yaml");
  ASSERT_OK(config.status());
  EXPECT_THAT(config->gates, IsEmpty());
}

TEST(ConfigWithoutTest, TakesOneGateOutAndLeavesTheRest) {
  EXPECT_EQ(ConfigWithout(kKubeletConfig, {"DevicePlugins"}),
            "cgroupDriver: systemd\n"
            "featureGates:\n"
            "  # for GPUs\n"
            "  \"KubeletPodResources\": false\n"
            "maxPods: 110\n");
}

TEST(ConfigWithoutTest, TakesTheHeadingOutWithTheLastGate) {
  EXPECT_EQ(ConfigWithout("a: b\nfeatureGates:\n  DevicePlugins: true\nc: d\n", {"DevicePlugins"}),
            "a: b\nc: d\n");
}

TEST(ConfigWithoutTest, LeavesBracesToPeople) {
  EXPECT_FALSE(ConfigWithout("featureGates: {A: true, B: true}\n", {"A"}).has_value());
}

TEST(ConfigWithoutTest, DoesNotTakeAGateOfTheSameNameElsewhere) {
  constexpr std::string_view kOther = "featureGates:\n  A: true\nother:\n  A: 1\n";
  EXPECT_EQ(ConfigWithout(kOther, {"A"}), "other:\n  A: 1\n");
}

TEST(FlagValuesTest, FindsEveryValueOutsideOfComments) {
  EXPECT_THAT(FlagValues("# --feature-gates=X=true\n"
                         "Environment=\"ARGS=--feature-gates=A=true,B=false --v=2\"\n"
                         "ExecStart=/usr/bin/kubelet --feature-gates C=true\n",
                         "--feature-gates"),
              ElementsAre("A=true,B=false", "C=true"));
}

TEST(FlagValuesTest, ALongerFlagIsAnotherOne) {
  EXPECT_THAT(FlagValues("--container-runtime-endpoint=unix:///x", "--container-runtime"),
              IsEmpty());
}

TEST(FlagsWithoutTest, TakesGatesAndFlagsOut) {
  EXPECT_EQ(
      FlagsWithout("ARGS=\"--container-runtime=remote --feature-gates=A=true,B=true --v=2\"\n",
                   {"A"}, {"--container-runtime"}),
      "ARGS=\"--feature-gates=B=true --v=2\"\n");
}

TEST(FlagValuesTest, AValueMayHaveQuotesOfItsOwn) {
  EXPECT_THAT(FlagValues("--feature-gates=\"A=true,B=true\" --v='2'\n", "--feature-gates"),
              ElementsAre("A=true,B=true"));
  EXPECT_THAT(FlagValues("ARGS=\"--feature-gates=\"\n", "--feature-gates"), ElementsAre(""));
}

TEST(FlagsWithoutTest, TakesAValueOutWithItsQuotes) {
  EXPECT_EQ(FlagsWithout("--feature-gates=\"A=true,B=true\" --x=\"1\" --v=2\n", {"A"}, {"--x"}),
            "--feature-gates=\"B=true\" --v=2\n");
  EXPECT_EQ(FlagsWithout("--feature-gates=\"A=true\" --v=2\n", {"A"}, {}), "--v=2\n");
}

TEST(FlagsWithoutTest, TakesASwitchOutAndNotTheFlagBehindIt) {
  EXPECT_EQ(FlagsWithout("ARGS=\"--allow-privileged --v=2 --allow-privileged\"\n", {},
                         {"--allow-privileged"}),
            "ARGS=\"--v=2 \"\n");
}

TEST(FlagsWithoutTest, TakesTheFlagOutWithItsLastGate) {
  EXPECT_EQ(FlagsWithout("ARGS=\"--feature-gates=A=true\"\n# --feature-gates=A=true\n", {"A"}, {}),
            "ARGS=\"\"\n# --feature-gates=A=true\n");
}

TEST(ParseGatesTest, PassesOverWhatIsMalformed) {
  EXPECT_THAT(ParseGates("A=true,B,=true,C=yes, D = false"),
              UnorderedElementsAre(Pair("A", true), Pair("D", false)));
}

TEST(ParseDeviceCheckpointTest, ReadsRegisteredDevices) {
  const auto checkpoint = ParseDeviceCheckpoint(
      R"({"Data": {"RegisteredDevices": {"nvidia.com/gpu": ["GPU-1", "GPU-2"], "a/b": null}},
          "Checksum": 1})",
      "checkpoint");
  ASSERT_OK(checkpoint.status());
  EXPECT_THAT(checkpoint->registered,
              UnorderedElementsAre(Pair("nvidia.com/gpu", UnorderedElementsAre("GPU-1", "GPU-2")),
                                   Pair("a/b", IsEmpty())));
}

TEST(ParseDeviceCheckpointTest, NamesTheFileThatIsNone) {
  EXPECT_THAT(ParseDeviceCheckpoint("{", "checkpoint").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("checkpoint")));
}

}  // namespace
}  // namespace kgpu::doctor
