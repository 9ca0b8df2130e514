// What wakes the agent's loop when nothing happens, counted in simulated time. Each state that a
// node may stay in for long has its test: none may keep the daemon busy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/agent/agent.h"
#include "src/platform/base/mutex.h"
#include "src/platform/base/unique_fd.h"
#include "testing/fake_loop.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

// A loop in simulated time that other threads may post to, and that notes when timers ran.
class CountingLoop final : public EventLoop {
 public:
  void Post(Task task) override {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(task));
  }
  TimerId After(std::chrono::nanoseconds delay, Task task) override {
    return loop_.After(delay, [this, task = std::move(task)] {
      wakes_.insert(loop_.clock().Now());
      task();
    });
  }
  void CancelTimer(TimerId timer) override { loop_.CancelTimer(timer); }
  StatusOr<WatchId> WatchReadable(int fd, Task task) override {
    return loop_.WatchReadable(fd, std::move(task));
  }
  StatusOr<WatchId> WatchWritable(int fd, Task task) override {
    return loop_.WatchWritable(fd, std::move(task));
  }
  void Unwatch(WatchId watch) override { loop_.Unwatch(watch); }
  const Clock& clock() const override { return loop_.clock(); }

  void Advance(std::chrono::nanoseconds by) {
    constexpr milliseconds kStep{10};
    for (const SteadyTime end = clock().Now() + by; clock().Now() < end;) {
      RunPosted();
      loop_.Advance(kStep);
    }
  }
  // Moments at which timers ran, of a minute that begins now.
  size_t WakesOfAMinute() {
    wakes_.clear();
    Advance(seconds(60));
    return wakes_.size();
  }

 private:
  void RunPosted() {
    std::vector<Task> tasks;
    {
      const MutexLock lock(mutex_);
      tasks.swap(posted_);
    }
    for (const Task& task : tasks) {
      task();
    }
  }

  FakeLoop loop_;
  std::set<SteadyTime> wakes_;
  Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
};

// One tick a second in tests without a kubelet's folder, every two seconds otherwise, and what a
// node without kubelet, runtime and driver asks for now and then.
constexpr size_t kLeastWakesOfAMinute = 30;
constexpr size_t kMostWakesOfAMinute = 60 + 36;

class RestTest : public ::testing::Test {
 protected:
  RestTest() {
    for (const char* folder : {"host/dev", "host/proc", "host/sys/bus/pci/devices", "etc"}) {
      dir_.MakeDir(folder);
    }
    root_ = *host::OpenDriverRoot(dir_.At("host"), "", "/");
    options_.probe_path = "/bin/false";
    options_.config_file = dir_.At("etc/config.yaml");
    options_.http_address = "";
    options_ = BelowHostRoot(std::move(options_), root_->host).value();
    options_.run_dir = dir_.At("run");
  }
  void Start() {
    auto agent = Agent::Start(loop_, *root_, options_);
    ASSERT_OK(agent.status());
    agent_ = *std::move(agent);
  }
  void WriteConfig() const {
    dir_.WriteFile("etc/config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n");
  }

  TempDir dir_;
  std::optional<host::DriverRoot> root_;
  AgentOptions options_;
  CountingLoop loop_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(RestTest, WithoutConfigurationTheLoopRests) {
  ASSERT_NO_FATAL_FAILURE(Start());
  loop_.Advance(seconds(60));
  EXPECT_THAT(loop_.WakesOfAMinute(), AllOf(Ge(kLeastWakesOfAMinute), Le(kMostWakesOfAMinute)));
}

// One descriptor is left for the first folder that a start opens.
TEST_F(RestTest, AStartWithoutDescriptorsIsAnErrorThatNamesTheFolder) {
  if (kIsSanitized) {
    GTEST_SKIP() << "UBSan needs descriptors of its own";
  }
  const UniqueFd next(dup(STDERR_FILENO));
  ASSERT_TRUE(next.is_valid());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit low{.rlim_cur = static_cast<rlim_t>(next.get()) + 2, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto agent = Agent::Start(loop_, *root_, options_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(agent.status(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("/: ")));
}

TEST_F(RestTest, WithoutKubeletTheLoopRests) {
  WriteConfig();
  ASSERT_NO_FATAL_FAILURE(Start());
  loop_.Advance(seconds(60));
  EXPECT_THAT(loop_.WakesOfAMinute(), AllOf(Ge(kLeastWakesOfAMinute), Le(kMostWakesOfAMinute)));
}

TEST_F(RestTest, PartsThatStartAtDifferentTimesWakeTheLoopTogether) {
  ASSERT_NO_FATAL_FAILURE(Start());
  loop_.Advance(milliseconds(60'300));
  WriteConfig();
  loop_.Advance(seconds(60));
  EXPECT_THAT(loop_.WakesOfAMinute(), AllOf(Ge(kLeastWakesOfAMinute), Le(kMostWakesOfAMinute)));
}

TEST_F(RestTest, ASocketOfAKubeletThatIsGoneIsTriedOnceASecond) {
  WriteConfig();
  dir_.MakeDir("host/var/lib/kubelet/device-plugins");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = dir_.At("host/var/lib/kubelet/device-plugins/kubelet.sock");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const UniqueFd kubelet(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(kubelet.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_NO_FATAL_FAILURE(Start());
  loop_.Advance(seconds(60));
  EXPECT_THAT(loop_.WakesOfAMinute(),
              AllOf(Ge(kLeastWakesOfAMinute), Le(kMostWakesOfAMinute + 60)));
}

}  // namespace
}  // namespace kgpu::agent
