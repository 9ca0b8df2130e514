// kgpu metrics against simulated hosts: pages without an agent, and what every series is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include <fmt/format.h>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }
};

TEST_F(MetricsTest, PrintsThePageOfEverySetWithoutAnAgent) {
  SimHost host("8xH100-SXM5-80GB");
  host.Inject("util", {"3", "--gpu", "57"});
  const Result result = host.Kgpu({"metrics", "--once", "--names", "kgpu,dcgm,gke"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nkgpu_gpu_utilization_ratio{gpu=\"3\","));
  EXPECT_THAT(result.out, HasSubstr("} 0.57\n"));
  EXPECT_THAT(result.out, HasSubstr("\nDCGM_FI_DEV_GPU_UTIL{gpu=\"3\","));
  EXPECT_THAT(result.out, HasSubstr("\nmemory_total_gpu_node{make=\"nvidia\","));
  EXPECT_THAT(result.out, HasSubstr("\nkgpu_gpu_sm_active_ratio{"));
  // Pods are those of the host's kubelet, not of the machine's.
  EXPECT_THAT(result.err, HasSubstr(host.path() + "/var/lib/kubelet/"));
}

// dcgm-exporter's name of today and the one before it: dashboards use either. 1 is an idle GPU, 64
// one that is too hot.
TEST_F(MetricsTest, WhyClocksAreReducedHasBothNamesOfDcgm) {
  SimHost host("8xH100-SXM5-80GB");
  host.Inject("throttle", {"3", "hw-thermal"});
  const Result result = host.Kgpu({"metrics", "--once", "--names", "dcgm"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* name :
       {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}) {
    EXPECT_THAT(result.out, HasSubstr(fmt::format("\n# TYPE {} gauge\n", name)));
    EXPECT_THAT(result.out, ContainsRegex(fmt::format("\n{}\\{{gpu=\"3\",[^\n]*\\}} 64\n", name)));
    EXPECT_THAT(result.out, ContainsRegex(fmt::format("\n{}\\{{gpu=\"0\",[^\n]*\\}} 1\n", name)));
  }
}

TEST_F(MetricsTest, OfAnOldGpuWhatItDoesNotTellIsAbsent) {
  const SimHost host("1xQuadro-K620");
  const Result result = host.Kgpu({"metrics", "--once", "--names", "kgpu"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nkgpu_gpu_temperature_celsius{"));
  EXPECT_THAT(result.out, Not(HasSubstr("kgpu_gpu_ecc_errors_total")));
  EXPECT_THAT(result.out, Not(HasSubstr("kgpu_gpu_sm_active_ratio")));
  EXPECT_THAT(result.out, Not(HasSubstr("kgpu_gpu_remapped_rows_total")));
}

TEST_F(MetricsTest, MigDevicesHaveSeriesOfTheirOwn) {
  const SimHost host("8xA100-mig");
  const Result result = host.Kgpu({"metrics", "--once", "--names", "kgpu,dcgm"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nkgpu_mig_memory_total_bytes{gpu=\"0\","));
  EXPECT_THAT(result.out, HasSubstr("GPU_I_PROFILE=\""));
}

TEST_F(MetricsTest, TheConfigurationSaysWhichNames) {
  const SimHost host("4xT4");
  host.dir().WriteFile("config.yaml",
                       "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                       "metrics: {names: dcgm, exclude: \"DCGM_FI_DEV_FB_*\"}\n");
  const Result result = host.Kgpu({"metrics", "--once", "--config", host.dir().At("config.yaml")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("# HELP DCGM_FI_"));
  EXPECT_THAT(result.out, Not(HasSubstr("kgpu_")));
  EXPECT_THAT(result.out, Not(HasSubstr("DCGM_FI_DEV_FB_")));
}

TEST_F(MetricsTest, WithoutADriverThePageSaysSo) {
  const SimHost host("none");
  const Result result = host.Kgpu({"metrics", "--once", "--openmetrics", "--names", "kgpu"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nkgpu_gpus{managed=\"yes\",driver=\"nvidia\"} 0\n"));
  EXPECT_THAT(result.out, EndsWith("\n# EOF\n"));
  EXPECT_THAT(result.err, Not(IsEmpty()));
}

TEST(MetricsVerbTest, NamesWhatIsWrong) {
  const Result names = RunProgram({"kgpu", "metrics", "--once", "--names", "dcgm,dgcm"});
  EXPECT_EQ(names.code, 2);
  EXPECT_THAT(names.err, HasSubstr("--names: \"dcgm,dgcm\" must be a list of kgpu, dcgm and gke"));
  const Result agent = RunProgram({"kgpu", "metrics", "--run-dir", "/nowhere"});
  EXPECT_THAT(agent.err, HasSubstr("kgpu metrics --once reads the GPUs without an agent"));
  EXPECT_NE(agent.code, 0);
}

TEST(MetricsVerbTest, ListsEverySeries) {
  const Result result = RunProgram({"kgpu", "metrics", "list", "--output", "json"});
  const auto value = doc::Parse(result.out, doc::Format::kJson, "kgpu metrics list");
  ASSERT_OK(value);
  EXPECT_GT(value->at("series").as_array().size(), 100U);
}

}  // namespace
}  // namespace kgpu::e2e
