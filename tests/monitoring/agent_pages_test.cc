// The pages of the built agent, as promtool reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/client.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/monitoring/agent_host.h"
#include "tests/monitoring/prometheus_programs.h"

namespace kgpu::monitoring {
namespace {

// Whole pages are too long to be printed.
bool HasLine(std::string_view page, std::string_view begin, std::string_view part) {
  return std::ranges::any_of(Split(page, '\n'), [&](std::string_view line) {
    return line.starts_with(begin) && line.find(part) != std::string_view::npos;
  });
}

class AgentPagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
    host_ = std::make_unique<AgentHost>("");
    host_->StartPods();
  }
  // The page of that endpoint once it has `text`.
  std::string PageWith(const std::string& names, const std::string& text) {
    const std::string address = host_->AddressOf(names);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string page;
    do {
      page = AgentHost::PageOf(address).body;
    } while (page.find(text) == std::string::npos && std::chrono::steady_clock::now() < until);
    return page;
  }

  std::unique_ptr<AgentHost> host_;
};

TEST_F(AgentPagesTest, EachSetNamesThePodThatHasTheGpu) {
  EXPECT_TRUE(HasLine(PageWith("kgpu", R"(pod="train")"), "kgpu_gpu_utilization_ratio{",
                      R"(namespace="team-a",pod="train",container="main"})"));
  EXPECT_TRUE(HasLine(PageWith("dcgm", R"(pod="serve")"), "DCGM_FI_DEV_GPU_UTIL{",
                      R"(container="main",namespace="team-b",pod="serve")"));
  EXPECT_TRUE(HasLine(PageWith("gke", R"(pod="serve")"), "memory_total{", R"(pod="serve")"));
}

TEST_F(AgentPagesTest, PromtoolFindsNothingWrongWithOurOwn) {
  const std::string promtool = PrometheusProgram("promtool");
  if (promtool.empty()) {
    GTEST_SKIP() << kNoPrometheus;
  }
  const std::string page = PageWith("kgpu", R"(pod="train")");
  EXPECT_TRUE(HasLine(page, "kgpu_ready ", "1"));
  EXPECT_FALSE(HasLine(page, "DCGM_FI", ""));
  host_->sim().dir().WriteFile("page", page);
  const e2e::Result result = e2e::RunProgram(
      {"/bin/sh", "-c", fmt::format("{} check metrics < {}", promtool, host_->At("page"))});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
}

// The API server's word, by way of the agent.
TEST(AgentTokensTest, TheClusterSaysWhoMayRead) {
  if (!e2e::CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  const TempDir dir;
  e2e::Background server({e2e::ProgramPath("kgpu-sim"), "apiserver", "--kubeconfig-out",
                          dir.At("kubeconfig"), "--token", "token-of-the-agent", "--token",
                          "token-of-a-reader"});
  ASSERT_TRUE(server.WaitFor("serving on http://"));
  const AgentHost host("auth: {by: cluster}", dir.At("kubeconfig"));
  host.WaitUntilRegistered();
  const std::string address = host.AddressOf("kgpu");
  const auto code_with = [&](const std::string& token) {
    http::Request request{.target = "/metrics"};
    request.headers.Add("Authorization", fmt::format("Bearer {}", token));
    const auto page = http::Fetch(address, request);
    return page.ok() ? page->code : 0;
  };
  EXPECT_EQ(AgentHost::PageOf(address).code, 401);
  EXPECT_EQ(code_with("token-of-a-reader"), 200);
  EXPECT_EQ(code_with("token-of-nobody"), 401);
  EXPECT_EQ(host.Page().code, 200) << "the socket is root's: it asks for none";
}

}  // namespace
}  // namespace kgpu::monitoring
