#include "src/cli/base/progress_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;

// A program that is what the test says.
class OneProgram final : public sys::ProgramRunner {
 public:
  explicit OneProgram(std::function<void(const sys::RunRequest&)> run) : run_(std::move(run)) {}

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    run_(request);
    return sys::RunResult{.exit = {.code = 7, .signal = std::nullopt}, .out = "out", .err = ""};
  }

 private:
  std::function<void(const sys::RunRequest&)> run_;
};

constexpr char kErased[] = "\r\033[K";
constexpr char kShown[] = "\r\033[Krunning kgpu driver verify … 0 s";

// Keeps what is written, and lets a test wait for it.
class Screen {
 public:
  Progress::Options options() {
    return {.delay = std::chrono::milliseconds(0),
            .repeat = std::chrono::hours(1),
            .write = [this](std::string_view text) { Write(std::string(text)); }};
  }
  void Write(std::string text) {
    const std::lock_guard lock(mutex_);
    written_.push_back(std::move(text));
    changed_.notify_all();
  }
  void WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return written_.size() >= count; });
  }
  std::vector<std::string> written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> written_;
};

const sys::RunRequest kRequest = {.argv = {"/usr/bin/kgpu", "driver", "verify"}};

TEST(ProgressRunnerTest, ASlowProgramIsNamedAndErasedAtItsEnd) {
  Screen screen;
  OneProgram program([&](const sys::RunRequest&) { screen.WaitFor(1); });
  const auto result = ProgressRunner(program, screen.options()).Run(kRequest);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit.code, 7);
  EXPECT_EQ(result->out, "out");
  EXPECT_THAT(screen.written(), ElementsAre(kShown, kErased));
}

TEST(ProgressRunnerTest, ItsLinesStandAlone) {
  Screen screen;
  OneProgram program([&](const sys::RunRequest& request) {
    screen.WaitFor(1);
    request.on_line("step 1");
    screen.WaitFor(4);
  });
  sys::RunRequest request = kRequest;
  request.on_line = [&](std::string_view line) { screen.Write(std::string(line)); };
  ASSERT_TRUE(ProgressRunner(program, screen.options()).Run(request).ok());
  EXPECT_THAT(screen.written(), ElementsAre(kShown, kErased, "step 1", kShown, kErased));
}

}  // namespace
}  // namespace kgpu::cli
