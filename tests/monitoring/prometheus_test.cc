// A real Prometheus scrapes the agent for a minute while much goes on: over TLS, with a token, all
// three pages, with the rules that are shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "src/platform/sys/root.h"
#include "testing/tls/certificates.h"
#include "tests/monitoring/agent_host.h"
#include "tests/monitoring/prometheus.h"
#include "tests/monitoring/prometheus_programs.h"

namespace kgpu::monitoring {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

constexpr const char* kToken = "a-token-of-this-test";
constexpr seconds kLoad{60};

constexpr const char* kConfig = R"(
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs:
- &job
  job_name: kgpu-agent
  honor_labels: true
  scheme: https
  tls_config: {{ca_file: {0}/ca.pem}}
  authorization: {{credentials_file: {0}/token}}
  static_configs: [{{targets: ["{1}"], labels: {{node: n1}}}}]
- <<: *job
  job_name: dcgm
  static_configs: [{{targets: ["{2}"], labels: {{node: n1}}}}]
- <<: *job
  job_name: gke
  static_configs: [{{targets: ["{3}"], labels: {{node: n1}}}}]
- job_name: prometheus
  static_configs: [{{targets: ["{1}"]}}]
  scheme: https
  tls_config: {{ca_file: {0}/ca.pem}}
)";

class PrometheusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
    program_ = PrometheusProgram("prometheus");
    if (program_.empty()) {
      GTEST_SKIP() << kNoPrometheus;
    }
    const TestAuthority authority;
    const TestCertificate leaf =
        authority.Issue({.names = {"127.0.0.1", "127.0.0.2", "127.0.0.3"}});
    dir_.WriteFile("ca.pem", authority.certificate_pem());
    dir_.WriteFile("c.pem", leaf.certificate_pem);
    dir_.WriteFile("k.pem", leaf.key_pem);
    dir_.WriteFile("token", kToken);
    const auto shipped = sys::Root::Open(KGPU_SOURCE_DIR "/deploy/monitoring");
    ASSERT_TRUE(shipped.ok());
    dir_.WriteFile("rules.yaml", shipped->ReadFile("rules.yaml").value_or(""));
    host_ =
        std::make_unique<AgentHost>(fmt::format("tls: {{certificate: {0}/c.pem, key: {0}/k.pem}}\n"
                                                "  auth: {{by: file, file: {0}/token}}\n",
                                                dir_.path()));
    host_->StartPods();
    prometheus_ = std::make_unique<Prometheus>(
        program_, dir_,
        fmt::format(kConfig, dir_.path(), host_->AddressOf("kgpu"), host_->AddressOf("dcgm"),
                    host_->AddressOf("gke")));
  }

  // Changes what there is to measure, and asks for pages beside Prometheus, as fast as it goes.
  void Load() {
    const auto until = steady_clock::now() + kLoad;
    for (int round = 0; steady_clock::now() < until; ++round) {
      const std::string gpu = fmt::format("{}", round % 8);
      host_->sim().Inject("util", {gpu, "--gpu", fmt::format("{}", round % 101)});
      host_->sim().Inject("temp", {gpu, fmt::format("{}", 30 + round % 50)});
      host_->sim().Inject("xid", {gpu, "31"});
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(host_->Page().code, 200);
      }
    }
  }

  // Until that query has a result; the agent is asked meanwhile, so that time is not lost.
  bool WaitFor(const std::string& query) const {
    const auto until = steady_clock::now() + seconds(30);
    while (prometheus_->Query(query).as_array().empty()) {
      if (steady_clock::now() > until) {
        return false;
      }
      EXPECT_EQ(host_->Page().code, 200);
    }
    return true;
  }

  TempDir dir_;
  std::string program_;
  std::unique_ptr<AgentHost> host_;
  std::unique_ptr<Prometheus> prometheus_;
};

TEST_F(PrometheusTest, ScrapesTheAgentUnderLoad) {
  Load();
  for (const char* job : {"kgpu-agent", "dcgm", "gke"}) {
    SCOPED_TRACE(job);
    const auto of_job = [&](const char* text) {
      return prometheus_->Value(fmt::format(fmt::runtime(text), fmt::format("job=\"{}\"", job)));
    };
    EXPECT_THAT(of_job("min_over_time(up{{{}}}[1m])"), Optional(1.0));
    // The first one comes some five seconds after the start.
    EXPECT_THAT(of_job("count_over_time(up{{{}}}[2m])"), Optional(Ge(40.0)));
    RecordProperty(
        fmt::format("{}_slowest_scrape_seconds", job),
        fmt::format("{}", of_job("max_over_time(scrape_duration_seconds{{{}}}[1m])").value_or(0)));
    EXPECT_THAT(of_job("scrape_samples_scraped{{{}}}"), Optional(Ge(30.0)));
    EXPECT_THAT(
        of_job("scrape_samples_post_metric_relabeling{{{0}}} - scrape_samples_scraped{{{0}}}"),
        Optional(0.0));
  }
  // One that has no token stays out.
  EXPECT_THAT(prometheus_->Value("max_over_time(up{job=\"prometheus\"}[1m])"), Optional(0.0));
  // What is idle is nobody's; what a pod has is the pod's.
  EXPECT_THAT(prometheus_->Value("count(kgpu_gpu_utilization_ratio{pod=\"\", container=\"\"})"),
              Optional(5.0));
  EXPECT_THAT(prometheus_->Value("count(kgpu_gpu_utilization_ratio{namespace=\"team-b\"})"),
              Optional(2.0));
  EXPECT_THAT(prometheus_->Value("count(DCGM_FI_DEV_GPU_UTIL{pod=\"train\"})"), Optional(1.0));
  EXPECT_THAT(prometheus_->Value("count(memory_total{pod=\"serve\"})"), Optional(2.0));
  // Values move.
  EXPECT_THAT(prometheus_->Value("count(changes(DCGM_FI_DEV_GPU_TEMP[1m]) > 2)"), Optional(8.0));
  EXPECT_THAT(prometheus_->Value("node:kgpu_gpu_power_watts:sum"), Optional(Ge(1.0)));
  // Every XID of the load was counted, and reported.
  EXPECT_THAT(prometheus_->Value("sum(kgpu_gpu_xids_total{xid=\"31\"})"), Optional(Ge(8.0)));
  EXPECT_THAT(prometheus_->Value("count(ALERTS{alertname=\"KgpuXids\", alertstate=\"firing\"})"),
              Optional(8.0));
  // The samples were all taken, in order and once.
  EXPECT_THAT(prometheus_->log(), Not(HasSubstr("level=warn component=\"scrape manager\"")));
  EXPECT_THAT(prometheus_->log(), Not(HasSubstr("Error on ingesting")));
}

TEST_F(PrometheusTest, EvaluatesEveryRule) {
  // Rules are looked at a second after the first scrape.
  EXPECT_TRUE(WaitFor("node:kgpu_gpu_power_watts:sum"));
  const json::value rules = prometheus_->Get("/api/v1/rules");
  for (const json::value& group : rules.at("groups").as_array()) {
    for (const json::value& rule : group.at("rules").as_array()) {
      EXPECT_EQ(rule.at("health"), "ok") << json::serialize(rule);
    }
  }
  EXPECT_THAT(prometheus_->Query("ALERTS{severity=\"critical\", alertstate=\"firing\"}").as_array(),
              IsEmpty());
}

TEST_F(PrometheusTest, TellsOfALostGpuAndThatItIsBack) {
  constexpr const char* kAlert =
      R"(ALERTS{alertname="KgpuGpuFault", gpu="7", alertstate="firing"})";
  EXPECT_TRUE(WaitFor("count(kgpu_gpu_healthy) == 8"));
  host_->sim().Inject("lose", {"7"});
  EXPECT_TRUE(WaitFor(kAlert));
  EXPECT_TRUE(WaitFor(R"(kgpu_gpu_healthy{gpu="7"} == 0)"));
  host_->sim().Inject("heal", {"7"});
  EXPECT_TRUE(WaitFor(R"(kgpu_gpu_healthy{gpu="7"} == 1)"));
  EXPECT_TRUE(WaitFor(fmt::format("absent({})", kAlert)));
}

}  // namespace
}  // namespace kgpu::monitoring
