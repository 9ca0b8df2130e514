// No call is lost: a process that queues and makes calls is killed again and again at random
// moments, and whatever it had accepted is made in the end.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/random.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/pipe.h"
#include "testing/redis/redis_server.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

constexpr size_t kCalls = 10'000;
constexpr int kLeastKills = 20;

class KilledQueue {
 public:
  // `redis_url`: empty for the queue on the disk.
  explicit KilledQueue(std::string redis_url) : redis_url_(std::move(redis_url)) {}

  // Runs the program until it has made `steps` of progress, then kills it; without `steps`, until
  // it ends. False if it ended by itself.
  bool Run(const std::string& prefix, size_t count, std::optional<size_t> steps) {
    StatusOr<sys::Pipe> progress = sys::MakePipe();
    EXPECT_TRUE(progress.ok());
    std::vector<std::string> argv = {KGPU_QUEUE_RUNNER, dir_.path(), prefix, std::to_string(count)};
    if (!redis_url_.empty()) {
      argv.push_back(redis_url_);
    }
    StatusOr<sys::ChildProcess> child = sys::ChildProcess::Spawn(
        {.argv = argv, .environment = {}, .fds = {{progress->write.get(), 3}}});
    EXPECT_TRUE(child.ok()) << child.status();
    progress->write.Reset();
    char byte = 0;
    size_t made = 0;
    while ((!steps || made < *steps) && read(progress->read.get(), &byte, 1) == 1) {
      ++made;
    }
    const bool is_killed = steps && made == *steps;
    if (is_killed) {
      EXPECT_TRUE(child->Kill().ok());
    }
    pollfd end{.fd = child->pidfd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&end, 1, -1), 1);
    const std::optional<sys::ExitState> exit = child->TryReap();
    EXPECT_TRUE(exit.has_value());
    EXPECT_TRUE(is_killed || (exit && exit->code == 0)) << "it failed by itself";
    return is_killed;
  }

  std::map<std::string, int> Lines(const std::string& name) const {
    std::map<std::string, int> lines;
    std::ifstream file(dir_.At(name));
    for (std::string line; std::getline(file, line);) {
      ++lines[line];
    }
    return lines;
  }
  bool IsPutAside() const { return std::filesystem::exists(dir_.At("queue/calls.db.bad")); }

 private:
  TempDir dir_;
  const std::string redis_url_;
};

void TestKills(const std::string& redis_url) {
  KilledQueue queue(redis_url);
  const uint64_t seed = Random::SeedFromKernel();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int kills = 0;
  size_t accepted = 0;
  for (int run = 0; accepted < kCalls || kills < kLeastKills; ++run) {
    // Some are killed while they start, others in the midst of it.
    const auto steps = static_cast<size_t>(random.Uniform() * 1'200);
    const size_t left = std::max<size_t>(kCalls - std::min(kCalls, accepted), 1);
    const bool is_killed = queue.Run("r" + std::to_string(run) + "-", left, steps);
    kills += is_killed ? 1 : 0;
    accepted = queue.Lines("accepted").size();
    ASSERT_LT(run, 1'000);
  }
  EXPECT_FALSE(queue.Run("last-", 1, std::nullopt));
  const std::map<std::string, int> made = queue.Lines("made");
  size_t lost = 0;
  size_t repeated = 0;
  for (const auto& [id, times] : queue.Lines("accepted")) {
    EXPECT_EQ(times, 1) << id;
    const auto found = made.find(id);
    lost += found == made.end() ? 1 : 0;
    repeated += found != made.end() && found->second > 1 ? 1 : 0;
  }
  EXPECT_EQ(lost, 0U);
  EXPECT_FALSE(queue.IsPutAside());
  ::testing::Test::RecordProperty("kills", kills);
  ::testing::Test::RecordProperty("repeated", static_cast<int>(repeated));
  std::printf("%zu calls, %d kills, %zu made more than once\n", accepted, kills, repeated);
}

TEST(QueueKillTest, EveryAcceptedCallIsMadeAtLeastOnce) {
  TestKills("");
}

TEST(QueueKillTest, EveryCallThatRedisAcceptedIsMadeAtLeastOnce) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-tools is not installed";
  }
  RedisServer server;
  ASSERT_TRUE(server.Start().ok());
  TestKills(server.url());
}

}  // namespace
}  // namespace kgpu::functions
