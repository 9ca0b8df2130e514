// kgpu-fnwatch with the worker library of each runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/functions/watchdog_run.h"
#include "tests/functions/worker_kinds.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Built when the first test asks for it.
const WorkerKind& KindOf(const std::string& runtime) {
  static std::map<std::string, std::unique_ptr<WorkerKind>>& kinds =
      *new std::map<std::string, std::unique_ptr<WorkerKind>>();
  std::unique_ptr<WorkerKind>& kind = kinds[runtime];
  if (kind == nullptr) {
    kind = std::make_unique<WorkerKind>(runtime);
  }
  return *kind;
}

std::string FaultOf(const http::Response& response) {
  return std::string(response.headers.Find("Kgpu-Fault").value_or("none"));
}

class WorkerTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string& problem = KindOf(GetParam()).problem(); !problem.empty()) {
      if (problem.ends_with("is not installed")) {
        GTEST_SKIP() << problem;
      }
      FAIL() << problem;
    }
  }
  void Run(std::vector<std::string> flags = {}) {
    run_.emplace(KindOf(GetParam()).Settings(std::move(flags)));
    ASSERT_EQ(run_->WaitUntilReady(), "");
  }
  // Until the watchdog's status has `value` under `key`, by asking again: nothing reports that it
  // has changed, and each answer takes a turn of the watchdog.
  void Await(const std::string& key, const std::string& value) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (run_->Status(key) != value) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << key << " is not " << value;
    }
  }
  // The last thing each test does with a worker that misbehaved.
  void ExpectWorks() const {
    const http::Response next = run_->Post("/", "echo again");
    EXPECT_EQ(next.code, 200) << next.body << run_->Log();
    EXPECT_EQ(next.body, "echo again");
  }

  std::optional<WatchdogRun> run_;
};

TEST_P(WorkerTest, PassesBytesUnchanged) {
  Run();
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  EXPECT_EQ(run_->Post("/", bytes).body, bytes);
  std::string large = "echo ";
  while (large.size() < (size_t{3} << 20) + 7) {
    large += bytes;
  }
  const http::Response answer = run_->Post("/", large);
  EXPECT_EQ(answer.code, 200) << answer.body.substr(0, 300);
  EXPECT_TRUE(answer.body == large) << answer.body.size() << " bytes";
  EXPECT_EQ(run_->Post("/", "").body, "");
}

TEST_P(WorkerTest, TellsAnExceptionAndGoesOn) {
  Run();
  const http::Response answer = run_->Post("/", "throw");
  EXPECT_EQ(answer.code, 500);
  EXPECT_EQ(FaultOf(answer), "handler");
  EXPECT_THAT(answer.body, HasSubstr("no such thing"));
  ExpectWorks();
  EXPECT_EQ(run_->Status("restarts"), "0");
}

TEST_P(WorkerTest, RestartsAfterAnExitOrACrash) {
  Run();
  const http::Response exit = run_->Post("/", "exit");
  EXPECT_EQ(exit.code, 502);
  EXPECT_EQ(FaultOf(exit), "crash");
  EXPECT_THAT(exit.body, HasSubstr("exit code 3"));
  ExpectWorks();
  const http::Response crash = run_->Post("/", "crash");
  EXPECT_EQ(crash.code, 502);
  EXPECT_EQ(FaultOf(crash), "crash");
  ExpectWorks();
  EXPECT_EQ(run_->Status("restarts"), "2");
}

TEST_P(WorkerTest, ReplacesAHandlerThatHangs) {
  Run({"--timeout", "500ms"});
  const http::Response answer = run_->Post("/", "hang");
  EXPECT_EQ(answer.code, 504);
  EXPECT_EQ(FaultOf(answer), "timeout");
  ExpectWorks();
}

TEST_P(WorkerTest, BoundsAFloodOfOutput) {
  Run({"--max-output", "3Mi"});
  const http::Response answer = run_->Post("/", "flood");
  // Its beginning was sent before the limit was reached, and cannot be taken back.
  EXPECT_TRUE(answer.code == 0 || FaultOf(answer) == "output") << answer.code << answer.body.size();
  EXPECT_LT(answer.body.size(), size_t{4} << 20);
  ExpectWorks();
}

TEST_P(WorkerTest, PassesTheCallAndItsAnswersHead) {
  Run();
  const http::Response answer =
      run_->Call({.method = "PUT",
                  .target = "/a%20b?c=d&e",
                  .headers = {{"Traceparent", "00-0af7-b7ad-01"}, {"X-Call-Id", "call-7"}},
                  .body = "head"});
  EXPECT_EQ(answer.code, 418);
  EXPECT_EQ(answer.headers.Find("X-Pot"), "tea");
  EXPECT_EQ(answer.headers.Find("X-Call-Id"), "call-7");
  EXPECT_TRUE(answer.headers.Find("X-Duration-Seconds"));
  EXPECT_EQ(answer.body, "PUT /a%20b c=d&e 00-0af7-b7ad-01 call-7");
}

TEST_P(WorkerTest, SendsSeveralFieldsOfOneName) {
  Run();
  const http::Response answer = run_->Post("/", "cookies");
  EXPECT_EQ(answer.code, 200) << answer.body;
  std::vector<std::string> cookies;
  for (const auto& [name, value] : answer.headers.fields()) {
    if (http::EqualsIgnoringCase(name, "Set-Cookie")) {
      cookies.push_back(value);
    }
  }
  EXPECT_EQ(cookies, (std::vector<std::string>{"a=1; Path=/", "b=2; Path=/"}));
  EXPECT_EQ(answer.headers.Find("X-Number"), "7");
}

TEST_P(WorkerTest, AnAnswerThatIsNoHttpFailsItsCallAlone) {
  Run({"--concurrency", "4", "--grace", "200ms"});
  auto beside = std::async(std::launch::async, [this] { return run_->Post("/", "hang"); });
  Await("inFlight", "1");
  std::vector<std::string> words{"bad-status", "bad-name", "bad-value", "big-head"};
  const std::string runtime = GetParam();
  if (runtime == "python3" || runtime == "nodejs" || runtime == "ruby") {
    words.emplace_back("bad-type");
  }
  for (const std::string& word : words) {
    const http::Response answer = run_->Post("/", word);
    EXPECT_EQ(answer.code, 502) << word << ": " << answer.body;
    EXPECT_EQ(FaultOf(answer), "reply") << word;
    EXPECT_FALSE(answer.headers.Find("Set-Cookie")) << word;
    EXPECT_THAT(run_->Log(), HasSubstr("answer of the handler refused")) << word;
  }
  ExpectWorks();
  EXPECT_EQ(run_->Status("restarts"), "0");
  EXPECT_EQ(run_->Status("inFlight"), "1") << "the other call goes on";
  run_->Signal(SIGTERM);
}

TEST_P(WorkerTest, AnswersHeadAndOptions) {
  Run();
  EXPECT_EQ(run_->Call({.method = "OPTIONS", .target = "/", .body = "echo"}).body, "echo");
  const http::Response head = run_->Call({.method = "HEAD", .target = "/"});
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.body, "");
}

TEST_P(WorkerTest, Streams) {
  Run();
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    expected += fmt::format("piece {}\n", i);
  }
  EXPECT_EQ(run_->Post("/", "stream 100").body, expected);
}

// Another watchdog is the rest of the mesh: its handler answers at any path.
TEST_P(WorkerTest, CallsOtherFunctions) {
  if (const std::string runtime = GetParam(); runtime == "nodejs" || runtime == "java") {
    GTEST_SKIP() << "OpenFx has no mesh call for " << runtime;
  }
  WatchdogRun other(KindOf(GetParam()).Settings());
  ASSERT_EQ(other.WaitUntilReady(), "");
  WatchdogRun::Settings settings = KindOf(GetParam()).Settings();
  settings.environment.push_back("KGPU_FN_MESH=" + other.At("s"));
  run_.emplace(settings);
  ASSERT_EQ(run_->WaitUntilReady(), "");
  EXPECT_EQ(run_->Post("/", "mesh echo there").body, "echo there");
  const http::Response failed = run_->Post("/", "mesh throw");
  EXPECT_EQ(failed.code, 500);
  EXPECT_THAT(failed.body, HasSubstr("other: status 500"));
  ExpectWorks();
}

// 118 MB stayed in the process after 60 callers of this kind; on a busy machine also when a worker
// still had inputs of callers that were gone to read.
TEST_P(WorkerTest, GivesBackTheMemoryOfSlowCallers) {
  if (std::string(GetParam()) != "cpp") {
    GTEST_SKIP() << "it is the watchdog's memory: one runtime is enough";
  }
  Run({"--concurrency", "32"});
  const auto resident_kib = [this] {
    std::ifstream statm(fmt::format("/proc/{}/statm", run_->pid()));
    size_t total = 0;
    size_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 1024;
  };
  const std::string large(size_t{8} << 20, 'x');
  const size_t before = resident_kib();
  {
    std::vector<UniqueFd> slow;
    for (int i = 0; i < 24; ++i) {
      slow.push_back(run_->Connect());
      const std::string request = fmt::format(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", large.size(), large);
      std::string_view rest = request;
      while (!rest.empty()) {
        pollfd writable{.fd = slow.back().get(), .events = POLLOUT, .revents = 0};
        ASSERT_EQ(poll(&writable, 1, 10'000), 1);
        const ssize_t count = send(slow.back().get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        ASSERT_GT(count, 0) << strerror(errno);
        rest.remove_prefix(static_cast<size_t>(count));
      }
    }
    Await("calls", "24");
  }
  Await("inFlight", "0");
  ExpectWorks();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (resident_kib() > before + 16 * 1024 && std::chrono::steady_clock::now() < end) {
    ExpectWorks();
  }
  EXPECT_LE(resident_kib(), before + 16 * 1024);
}

TEST_P(WorkerTest, LogsWhatTheHandlerPrints) {
  Run();
  EXPECT_EQ(run_->Post("/", "print").body, "print");
  EXPECT_THAT(run_->Log(), HasSubstr("a line of the log\n"));
  EXPECT_THAT(run_->Log(), HasSubstr("an error of the log\n"));
}

TEST_P(WorkerTest, RunsCallsAtATime) {
  Run({"--concurrency", "8", "--timeout", "1500ms"});
  // Seven hang: only if they run beside it, the eighth has an answer.
  std::vector<std::future<http::Response>> hung;
  for (int i = 0; i < 7; ++i) {
    hung.push_back(std::async(std::launch::async, [&] { return run_->Post("/", "hang"); }));
  }
  Await("inFlight", "7");
  EXPECT_EQ(run_->Post("/", "echo beside").body, "echo beside");
  for (auto& call : hung) {
    EXPECT_EQ(call.get().code, 504);
  }
  ExpectWorks();
}

TEST_P(WorkerTest, KeepsCallsApart) {
  Run({"--concurrency", "8", "--queue", "100"});
  std::vector<std::future<bool>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [this, i] {
      bool is_right = true;
      for (int n = 0; n < 20; ++n) {
        const std::string body = fmt::format("echo {} {} ", i, n) + std::string(i * 5000, 'x');
        is_right = is_right && run_->Post("/", body).body == body;
      }
      return is_right;
    }));
  }
  for (auto& caller : callers) {
    EXPECT_TRUE(caller.get());
  }
}

TEST_P(WorkerTest, DrainsOnSigterm) {
  Run({"--timeout", "1500ms"});
  auto hung = std::async(std::launch::async, [this] { return run_->Post("/", "hang"); });
  Await("inFlight", "1");
  auto waiting = std::async(std::launch::async, [this] { return run_->Post("/", "echo waited"); });
  Await("waiting", "1");
  run_->Signal(SIGTERM);
  Await("state", "\"draining\"");
  const http::Response refused = run_->Post("/", "echo");
  EXPECT_EQ(refused.code, 503);
  EXPECT_EQ(FaultOf(refused), "stopping");
  EXPECT_EQ(run_->Call({.target = "/_/ready"}).code, 503);
  EXPECT_EQ(hung.get().code, 504);
  EXPECT_EQ(waiting.get().body, "echo waited");
  EXPECT_EQ(run_->Wait(), "exit code 0");
}

TEST_P(WorkerTest, EndsIdleWorkersOnSigterm) {
  Run({"--grace", "60s"});
  ExpectWorks();
  run_->Signal(SIGTERM);
  EXPECT_EQ(run_->Wait(), "exit code 0");
  EXPECT_THAT(run_->Log(), HasSubstr("how=\"exit code 0\"")) << "the worker ended by itself";
}

INSTANTIATE_TEST_SUITE_P(Runtimes, WorkerTest,
                         ::testing::Values("python3", "cpp", "nodejs", "go", "ruby", "java"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace kgpu::e2e
