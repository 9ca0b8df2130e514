#include "src/container/cri/runtime_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::cri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kContainerd17[] = R"({"containerd":{"defaultRuntimeName":"nvidia","runtimes":{
  "runc":{"options":{"BinaryName":""}},
  "nvidia":{"options":{"BinaryName":"/usr/bin/nvidia-container-runtime"}}}},
  "enableCDI":true,"cdiSpecDirs":["/etc/cdi","/var/run/cdi"]})";

TEST(RuntimeFactsTest, TakesContainerdAtItsWord) {
  const RuntimeFacts facts = JudgeRuntime("containerd", "1.7.24", kContainerd17);
  EXPECT_TRUE(facts.reads_cdi);
  EXPECT_THAT(facts.cdi_folders, ElementsAre("/etc/cdi", "/var/run/cdi"));
  EXPECT_EQ(facts.default_runtime, "nvidia");
  EXPECT_TRUE(facts.is_nvidia_default);
  EXPECT_THAT(facts.evidence, HasSubstr("enable_cdi is on"));
}

struct Case {
  const char* name;
  const char* version;
  const char* config;
  bool reads_cdi;
  const char* evidence;
};

class RuntimeFactsTableTest : public ::testing::TestWithParam<Case> {};

TEST_P(RuntimeFactsTableTest, Judges) {
  const RuntimeFacts facts = JudgeRuntime(GetParam().name, GetParam().version, GetParam().config);
  EXPECT_EQ(facts.reads_cdi, GetParam().reads_cdi);
  EXPECT_THAT(facts.evidence, HasSubstr(GetParam().evidence));
  EXPECT_FALSE(facts.is_nvidia_default);
}

INSTANTIATE_TEST_SUITE_P(
    All, RuntimeFactsTableTest,
    ::testing::Values(
        Case{"containerd", "1.6.20~ds1", R"({"containerd":{"defaultRuntimeName":"runc"}})", false,
             "CDI came in 1.7"},
        Case{"containerd", "1.7.2", R"({"enableCDI":false})", false, "enable_cdi is off"},
        Case{"containerd", "v2.1.4", R"({"enableCDI":null})", true, "enabled by default"},
        Case{"containerd", "v2.0.0", R"({"enableCDI":false})", false, "enable_cdi is off"},
        Case{"containerd", "v2.0.0", "", false, "does not show"},
        Case{"containerd", "v2.0.0", "{broken", false, "does not show"},
        Case{"cri-o", "1.31.0", "", true, "1.23"}, Case{"cri-o", "1.22.4", "", false, "1.23"},
        Case{"docker", "27.3.1", "", false, "is unknown"}, Case{"", "", "", false, "is unknown"}));

}  // namespace
}  // namespace kgpu::cri
