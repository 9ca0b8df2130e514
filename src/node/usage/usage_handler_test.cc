#include "src/node/usage/usage_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "src/node/part/test_effects.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::usage {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kUsedGpu[] = "GPU-00000000-0000-0000-0000-000000000001";

class UsageHandlerTest : public ::testing::Test {
 protected:
  UsageHandlerTest() {
    pods::PodMap pods;
    pods.devices = {{.resource = "nvidia.com/gpu",
                     .device_id = kUsedGpu,
                     .user = {.pod_namespace = "ml", .pod = "train", .container = "main"}}};
    samples_.begun = loop_->clock().Now();
    samples_.taken = loop_->clock().WallNow();
    effects_.state.snapshot = std::make_shared<device::Snapshot>();
    effects_.state.pods = std::make_shared<pods::PodMap>(std::move(pods));
    Open();
  }
  std::unique_ptr<UsageHandler> MakeHandler() {
    return std::make_unique<UsageHandler>(*loop_, *disk_, dir_.At("state/usage"), effects_);
  }
  void Open() {
    disk_ = std::make_unique<sys::DiskWorker>(*loop_);
    handler_ = MakeHandler();
  }
  void Close() {
    handler_.reset();
    disk_.reset();  // does what was posted
  }
  void Round(seconds later) {
    samples_.begun += later;
    handler_->OnSample(effects_.state, std::make_shared<device::SampleSet>(samples_));
  }
  http::Response Ask(const std::string& query, const std::string& method = "GET") const {
    http::Request request;
    request.method = method;
    request.target = "/v1/usage" + query;
    EXPECT_OK(http::SplitTarget(request));
    http::Response answer;
    EXPECT_TRUE(handler_->Answer(
        request, [&answer](http::Response response) { answer = std::move(response); }));
    return answer;
  }

  bool RunUntilAnswered(const std::string& text) {
    const SteadyTime limit = loop_->clock().Now() + seconds(20);
    while (Ask("").body.find(text) == std::string::npos && loop_->clock().Now() < limit) {
      loop_->After(std::chrono::milliseconds(1), [this] { loop_->Quit(); });
      loop_->Run();
    }
    return Ask("").body.find(text) != std::string::npos;
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  device::SampleSet samples_;
  node::TestEffects effects_;
  std::unique_ptr<sys::DiskWorker> disk_;
  std::unique_ptr<UsageHandler> handler_;
};

TEST_F(UsageHandlerTest, TellsSeriesAndPeopleTheSame) {
  Round(seconds(0));
  EXPECT_EQ(handler_->pods(), nullptr);
  Round(seconds(36));
  ASSERT_NE(handler_->pods(), nullptr);
  ASSERT_THAT(*handler_->pods(), SizeIs(1));
  EXPECT_EQ(handler_->pods()->front().pod, "train");
  EXPECT_EQ(handler_->pods()->front().gpu_seconds, 36);
  EXPECT_THAT(Ask("?output=table").body, HasSubstr("ml         train  0.01"));
  EXPECT_THAT(Ask("?by=namespace").body, HasSubstr(R"("gpuSeconds": 36)"));
}

TEST_F(UsageHandlerTest, CountsByTheMinuteWhileNothingIsMeasured) {
  FakeLoop by_minute;
  UsageHandler handler(by_minute, *disk_, dir_.At("state/other"), effects_);
  by_minute.Advance(std::chrono::minutes(1));
  EXPECT_EQ(handler.pods(), nullptr);
  by_minute.Advance(std::chrono::hours(1));
  ASSERT_NE(handler.pods(), nullptr);
  ASSERT_THAT(*handler.pods(), SizeIs(1));
  EXPECT_EQ(handler.pods()->front().gpu_seconds, 3600);
  EXPECT_EQ(handler.pods()->front().busy_gpu_seconds, std::nullopt);
  EXPECT_EQ(effects_.figures, 61);
}

TEST_F(UsageHandlerTest, TheLastRoundTellsHowBusyAGpuIsForFiveMinutes) {
  FakeLoop by_minute;
  UsageHandler handler(by_minute, *disk_, dir_.At("state/other"), effects_);
  auto samples = std::make_shared<device::SampleSet>();
  samples->begun = by_minute.clock().Now();
  samples->taken = by_minute.clock().WallNow();
  device::GpuSample& gpu = samples->gpus.emplace_back();
  gpu.uuid = device::GpuUuid::Parse(kUsedGpu).value();
  gpu.utilization.gpu = 50;
  handler.OnSample(effects_.state, samples);
  by_minute.Advance(std::chrono::minutes(5));
  ASSERT_NE(handler.pods(), nullptr);
  EXPECT_EQ(handler.pods()->front().gpu_seconds, 300);
  EXPECT_EQ(handler.pods()->front().busy_gpu_seconds, 150);
  by_minute.Advance(std::chrono::minutes(5));
  EXPECT_EQ(handler.pods()->front().gpu_seconds, 600);
  EXPECT_EQ(handler.pods()->front().busy_gpu_seconds, std::nullopt);
}

TEST_F(UsageHandlerTest, RemembersOverARestart) {
  Round(seconds(0));
  Round(seconds(100));
  Close();
  Open();
  EXPECT_TRUE(RunUntilAnswered(R"("gpuSeconds": 100)"));
  metrics::Exposition page;
  handler_->WriteSeries({}, page);
  EXPECT_THAT(page.text(), HasSubstr("\nkgpu_usage_ledger_ok 1\n"));
}

TEST_F(UsageHandlerTest, ADiskThatHangsHoldsUpNothing) {
  Round(seconds(0));
  Round(seconds(100));
  Close();
  disk_ = std::make_unique<sys::DiskWorker>(*loop_);
  std::promise<void> gate;
  disk_->Post(
      [&]() -> sys::DiskWorker::Done {
        gate.get_future().wait();
        return {};
      },
      [](const Status&) {});
  handler_ = MakeHandler();
  Round(seconds(0));
  Round(seconds(20));
  EXPECT_THAT(Ask("").body, HasSubstr(R"("gpuSeconds": 20)"));
  gate.set_value();
  EXPECT_TRUE(RunUntilAnswered(R"("gpuSeconds": 120)"));
}

TEST_F(UsageHandlerTest, CountsNothingWhileItIsSwitchedOff) {
  handler_->SetConfig({.enabled = false});
  Round(seconds(0));
  Round(seconds(100));
  EXPECT_EQ(handler_->pods(), nullptr);
  EXPECT_EQ(Ask("").code, 404);
}

TEST_F(UsageHandlerTest, LeavesOtherPathsToOtherParts) {
  EXPECT_FALSE(handler_->Answer({.path = "/v1/status"}, [](const http::Response&) { FAIL(); }));
}

TEST_F(UsageHandlerTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(Ask("?since=yesterday").code, 400);
  EXPECT_EQ(Ask("?by=node").code, 400);
  EXPECT_EQ(Ask("?output=xml").code, 400);
  EXPECT_EQ(Ask("", "POST").code, 405);
}

}  // namespace
}  // namespace kgpu::usage
