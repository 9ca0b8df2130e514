#include "src/node/cluster/label_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "src/host/features/cpuid.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cluster {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class LabelWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile(features::kRecordedCpuid, "");
    dir_.WriteFile("etc/os-release", "ID=debian\n");
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    auto host = sys::Root::Open(dir_.path());
    ASSERT_OK(host);
    host_.emplace(*std::move(host));
    worker_ = std::make_unique<LabelWorker>(
        *loop_, *host_,
        LabelWorkerOptions{.node_name = "n1", .stop_limit = std::chrono::minutes(1)},
        [this](labels::LabelLook look) {
          look_ = std::move(look);
          loop_->Quit();
        });
  }

  labels::LabelLook Wait() {
    look_.reset();
    while (!look_) {
      loop_->Run();
    }
    return *look_;
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_;
  std::optional<sys::Root> host_;
  std::optional<labels::LabelLook> look_;
  std::unique_ptr<LabelWorker> worker_;
};

constexpr const char* kId = "feature.node.kubernetes.io/system-os_release.ID";

TEST_F(LabelWorkerTest, LooksAtTheHost) {
  worker_->Look({.gpus = {.labels = {{"nvidia.com/gpu.count", "8"}}}});
  const labels::LabelLook look = Wait();
  EXPECT_THAT(look.labels.claims.labels, Contains(Pair(kId, "debian")));
  EXPECT_THAT(look.labels.claims.labels, Contains(Pair("nvidia.com/gpu.count", "8")));
  EXPECT_THAT(worker_->problem(), IsEmpty());
}

TEST_F(LabelWorkerTest, EachLookIsNew) {
  worker_->Look({});
  Wait();
  dir_.WriteFile("etc/os-release", "ID=ubuntu\n");
  worker_->Look({});
  EXPECT_THAT(Wait().labels.claims.labels, Contains(Pair(kId, "ubuntu")));
}

TEST_F(LabelWorkerTest, TheConfigurationCountsFromTheNextLookOn) {
  worker_->SetConfig({.features = false});
  worker_->Look({});
  EXPECT_THAT(Wait().labels.claims.labels, Not(Contains(Key(kId))));
}

TEST_F(LabelWorkerTest, EndsInTheMiddleOfALook) {
  for (int i = 0; i < 20; ++i) {
    worker_->Look({});
  }
  worker_.reset();
  EXPECT_EQ(look_, std::nullopt) << "those who are gone are not notified";
}

}  // namespace
}  // namespace kgpu::cluster
