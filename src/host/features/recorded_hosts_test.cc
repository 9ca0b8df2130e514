// Recorded hosts, whole: what is found on each of them, and what becomes labels. With
// KGPU_UPDATE_GOLDENS=1 the files are written again: read the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/host/features/read.h"
#include "testing/golden.h"
#include "testing/host_tree.h"
#include "testing/simhost/host_folder.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::features {
namespace {

std::string Golden(std::string_view host, std::string_view file) {
  return fmt::format("tests/data/hosts/{}/{}", host, file);
}

// One line for each flag, attribute, instance and problem. `root` is cut out of it.
std::string Print(const Reading& reading, const std::string& root) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& [feature, flags] : reading.features.flags) {
    fmt::format_to(out, "flags {}\n", feature);
    for (const std::string& flag : flags) {
      fmt::format_to(out, "  {}\n", flag);
    }
  }
  for (const auto& [feature, attributes] : reading.features.attributes) {
    fmt::format_to(out, "attributes {}\n", feature);
    for (const auto& [name, value] : attributes) {
      fmt::format_to(out, "  {}={}\n", name, value);
    }
  }
  for (const auto& [feature, instances] : reading.features.instances) {
    fmt::format_to(out, "instances {}\n", feature);
    for (const Attributes& instance : instances) {
      std::string_view separator = "  ";
      for (const auto& [name, value] : instance) {
        fmt::format_to(out, "{}{}={}", separator, name, value);
        separator = " ";
      }
      fmt::format_to(out, "\n");
    }
  }
  for (const Problem& problem : reading.problems) {
    std::string words = problem.text;
    for (size_t at = words.find(root); at != std::string::npos; at = words.find(root)) {
      words.erase(at, root.size());
    }
    fmt::format_to(out, "problem {}: {}\n", problem.source, words);
  }
  return text;
}

void ExpectGoldens(const std::string& name, const std::string& root) {
  const auto host = sys::Root::Open(root);
  ASSERT_THAT(host, IsOk());
  const auto cpuid = OpenCpuid(*host);
  ASSERT_THAT(cpuid, IsOk());
  FeatureOptions options;
  options.node_name = name;
  const Reading reading = ReadFeatures(*host, options, **cpuid);
  EXPECT_EQ(ReadFeatures(*host, options, **cpuid), reading) << "differs when read again";
  ExpectGolden(Golden(name, "features.txt"), Print(reading, root));
  std::vector<Problem> refused;
  std::string labels;
  for (const auto& [key, value] : FeatureLabels(reading.features, options, &refused)) {
    fmt::format_to(std::back_inserter(labels), "{}={}\n", key, value);
  }
  EXPECT_TRUE(refused.empty()) << refused[0].text;
  ExpectGolden(Golden(name, "labels.txt"), labels);
}

class RecordedHostTest : public testing::TestWithParam<const char*> {};

TEST_P(RecordedHostTest, HasItsFeaturesAndLabels) {
  const TempDir dir;
  UnpackRecordedHost(GetParam(), dir);
  ExpectGoldens(GetParam(), dir.path());
}

std::string TestName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Hosts, RecordedHostTest,
                         testing::Values("amd-epyc-sev", "arm-server", "intel-sriov-nvme", "rhcos",
                                         "vm-no-dmi"),
                         TestName);

class SimulatedHostTest : public testing::TestWithParam<const char*> {};

// The simulated hosts have no CPU of their own: they get that of a recorded one.
TEST_P(SimulatedHostTest, HasItsFeaturesAndLabels) {
  const TempDir cpu;
  UnpackRecordedHost("amd-epyc-sev", cpu);
  const TempDir dir;
  simhost::CreateOptions options;
  options.folder = dir.At("host");
  options.profile = GetParam();
  simhost::WriteReport report;
  const auto created = simhost::HostFolder::Create(options, report);
  if (!created.ok() && created.status().code() == StatusCode::kPermissionDenied) {
    GTEST_SKIP() << "cannot create device nodes here: " << Message(created.status());
  }
  ASSERT_THAT(created, IsOk());
  dir.WriteFile("host/cpuid.txt", cpu.ReadFile("cpuid.txt"));
  ExpectGoldens(std::string("sim-") + GetParam(), options.folder);
}

INSTANTIATE_TEST_SUITE_P(Profiles, SimulatedHostTest,
                         testing::Values("8xA100-SXM4-80GB", "8xH100-SXM5-80GB"), TestName);

}  // namespace
}  // namespace kgpu::features
