#include "src/gpu/probe/client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "src/gpu/probe/testdata/test_probe.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "testing/fake_loop.h"
#include "testing/id_matchers.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::probe {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client of the real probe with a fake library, and what it reported.
class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    options_.program = kProbeProgram;
    options_.environment = control_.environment();
    options_.first_backoff = milliseconds(1);
    options_.last_backoff = milliseconds(4);
  }

  void Start(const std::string& library = kFakeNvml) {
    client_ = std::make_unique<Client>(
        *loop_, options_, [library]() -> StatusOr<std::string> { return library; },
        Client::Listener{.on_up = [this] { ++ups_; },
                         .on_down = [this](const Down& down) { downs_.push_back(down); },
                         .on_event = [this](const Event& event) { events_.push_back(event); },
                         .on_abandoned = [this] { ++abandoned_; }});
    client_->Start();
  }
  bool WaitForUp(int ups = 1) {
    return RunUntil(*loop_, [&] { return ups_ >= ups; });
  }
  bool WaitForDown() {
    return RunUntil(*loop_, [&] { return !downs_.empty(); });
  }

  Answer<GpuReport> ReadGpu(unsigned gpu) {
    std::optional<Answer<GpuReport>> answer;
    client_->ReadGpu(gpu, [&](const Answer<GpuReport>& got) { answer = got; });
    EXPECT_TRUE(RunUntil(*loop_, [&] { return answer.has_value() || !downs_.empty(); }));
    return answer.value_or(Answer<GpuReport>{.value = Unavailable("the probe went down")});
  }

  FakeNvmlControl control_;
  ClientOptions options_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<Client> client_;
  int ups_ = 0;
  int abandoned_ = 0;
  std::vector<Down> downs_;
  std::vector<Event> events_;
};

TEST_F(ClientTest, ReadsGpusThroughTheProbe) {
  Start();
  ASSERT_TRUE(WaitForUp());
  const auto answer = ReadGpu(1);
  ASSERT_OK(answer.value);
  EXPECT_THAT(answer.value->uuid, Reads("GPU-00000000-0000-0000-0000-000000000001"));
  EXPECT_THAT(answer.value->pci, Reads("0000:02:00.0"));
  EXPECT_EQ(answer.value->name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(answer.value->memory, GibiBytes(80));
  EXPECT_EQ(answer.value->serial, "1320021012345");
  EXPECT_EQ(answer.value->fault, std::nullopt);
}

TEST_F(ClientTest, ReadsTheDriver) {
  Start();
  ASSERT_TRUE(WaitForUp());
  StatusOr<DriverReport> driver = Unavailable("none yet");
  client_->ReadDriver([&](const auto& answer) { driver = answer.value; });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return driver.ok(); }));
  EXPECT_EQ(driver->driver_version, "535.104.05");
  EXPECT_EQ(driver->gpu_count, 2U);
  EXPECT_EQ(driver->cuda_version, 12020);
}

TEST_F(ClientTest, WorksOnALibraryWithOldNamesOnly) {
  Start(kFakeNvmlV1);
  ASSERT_TRUE(WaitForUp());
  const auto answer = ReadGpu(1);
  ASSERT_OK(answer.value);
  EXPECT_THAT(answer.value->pci, Reads("0000:02:00.0"));
  EXPECT_EQ(answer.value->memory, GibiBytes(80));
  EXPECT_EQ(answer.value->mig_mode, std::nullopt);
  EXPECT_EQ(answer.value->serial, "");
  EXPECT_EQ(answer.value->fault, std::nullopt);
}

TEST_F(ClientTest, TakesNotSupportedForAnAnswer) {
  control_.Set("only_basic\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  const auto answer = ReadGpu(0);
  ASSERT_OK(answer.value);
  EXPECT_TRUE(answer.value->uuid.has_value());
  EXPECT_EQ(answer.value->name, "");
  EXPECT_EQ(answer.value->memory, std::nullopt);
  EXPECT_EQ(answer.value->fault, std::nullopt);
}

TEST_F(ClientTest, ALostGpuDoesNotSpoilTheOthers) {
  control_.Set("lost 0\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  const auto lost = ReadGpu(0);
  ASSERT_OK(lost.value);
  EXPECT_EQ(lost.value->fault, nvml::kErrorGpuIsLost);
  EXPECT_EQ(ReadGpu(1).value->fault, std::nullopt);
}

TEST_F(ClientTest, TellsTheResultOfAGpuWithoutHandle) {
  control_.Set("unlisted 0\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  const auto answer = ReadGpu(0);
  EXPECT_EQ(answer.result, nvml::kErrorGpuIsLost);
  EXPECT_THAT(answer.value, StatusIs(StatusCode::kUnavailable));
}

TEST_F(ClientTest, GarbageOfTheLibraryIsAnErrorAndNoMore) {
  control_.Set("garbage\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  EXPECT_THAT(ReadGpu(0).value, StatusIs(StatusCode::kInvalidArgument));
  std::optional<bool> is_topology_read;
  client_->ReadTopology(0, [&](const auto& answer) { is_topology_read = answer.value.ok(); });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_topology_read.has_value(); }));
  EXPECT_TRUE(client_->is_up());
  EXPECT_TRUE(downs_.empty());
}

TEST_F(ClientTest, ReadsNvLinksUpToTheLast) {
  Start();
  ASSERT_TRUE(WaitForUp());
  StatusOr<NvLinkReport> report = Unavailable("none yet");
  client_->ReadNvLinks(0, [&](const auto& answer) { report = answer.value; });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return report.ok(); }));
  ASSERT_EQ(report->links.size(), 12U);
  EXPECT_THAT(report->links[11].remote, Reads("0000:02:00.0"));
}

TEST_F(ClientTest, ReadsMigDevices) {
  control_.Set("mig 0\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  StatusOr<MigReport> report = Unavailable("none yet");
  std::optional<nvml::Return> beyond;
  client_->ReadMigDevice(0, 1, [&](const auto& answer) { report = answer.value; });
  client_->ReadMigDevice(0, 2, [&](const auto& answer) { beyond = answer.result; });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return beyond.has_value(); }));
  ASSERT_OK(report);
  EXPECT_THAT(report->uuid, Reads("MIG-00000000-0000-0000-0002-000000000000"));
  EXPECT_EQ(report->gpu_instance, 8U);
  const auto attributes = report->attributes;
  ASSERT_TRUE(attributes.has_value());
  EXPECT_EQ(attributes->memory, MebiBytes(9856));
  EXPECT_EQ(report->profile_id, std::nullopt);
  EXPECT_EQ(beyond, nvml::kErrorNotFound);
}

TEST_F(ClientTest, DeliversAnXid) {
  Start();
  ASSERT_TRUE(WaitForUp());
  uint64_t types = 0;
  client_->WatchEvents(1, [&](const auto& answer) { types = answer.value.value_or(0); });
  client_->StartEvents();
  ASSERT_TRUE(RunUntil(*loop_, [&] { return types != 0; }));
  EXPECT_EQ(types, nvml::kEventXidCritical | nvml::kEventDoubleBitEcc);
  control_.Set("xid 1 79 1\n");
  ASSERT_TRUE(RunUntil(*loop_, [&] { return !events_.empty(); }));
  EXPECT_EQ(events_[0].data, 79U);
  EXPECT_THAT(events_[0].uuid, Reads("GPU-00000000-0000-0000-0000-000000000001"));
}

TEST_F(ClientTest, ACallThatHangsEndsTheProbeAndANewOneIsStarted) {
  options_.call_deadline = milliseconds(kIsSanitized ? 500 : 40);
  Start();
  ASSERT_TRUE(WaitForUp());
  control_.Set("hang nvmlDeviceGetName\n");
  EXPECT_FALSE(ReadGpu(0).value.ok());
  ASSERT_FALSE(downs_.empty());
  EXPECT_EQ(downs_[0].cause, DownCause::kUnresponsive);
  EXPECT_TRUE(downs_[0].was_up);
  EXPECT_THAT(downs_[0].text, HasSubstr("reading a GPU (GPU 0)"));
  control_.Set("");
  ASSERT_TRUE(WaitForUp(2));
  downs_.clear();
  EXPECT_OK(ReadGpu(0).value);
}

TEST_F(ClientTest, ManySlowCallsAreNoHang) {
  options_.call_deadline = milliseconds(150);
  control_.Set("slow 20\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  const SteadyTime begun = loop_->clock().Now();
  EXPECT_OK(ReadGpu(0).value);
  EXPECT_GT(loop_->clock().Now() - begun, options_.call_deadline);
  EXPECT_TRUE(downs_.empty());
}

TEST_F(ClientTest, ACrashIsReportedWithItsSignal) {
  control_.Set("crash nvmlDeviceGetUUID\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  EXPECT_FALSE(ReadGpu(0).value.ok());
  ASSERT_FALSE(downs_.empty());
  EXPECT_EQ(downs_[0].cause, DownCause::kCrashed);
  EXPECT_THAT(downs_[0].text, HasSubstr("signal 9"));
}

TEST_F(ClientTest, AFailedInitIsReportedWithItsResultAndTriedAgain) {
  control_.Set("init 9\n");
  Start();
  ASSERT_TRUE(RunUntil(*loop_, [&] { return downs_.size() >= 3; }));
  EXPECT_EQ(downs_[0].cause, DownCause::kInitFailed);
  EXPECT_EQ(downs_[0].result, nvml::kErrorDriverNotLoaded);
  EXPECT_FALSE(downs_[0].was_up);
  control_.Set("");
  EXPECT_TRUE(WaitForUp());
}

TEST_F(ClientTest, ALibraryThatCannotBeLoadedIsReportedWithTheLoadersText) {
  Start("/nonexistent/libnvidia-ml.so.1");
  ASSERT_TRUE(WaitForDown());
  EXPECT_EQ(downs_[0].cause, DownCause::kLoadFailed);
  EXPECT_THAT(downs_[0].text, HasSubstr("/nonexistent/libnvidia-ml.so.1"));
}

TEST_F(ClientTest, AMissingProgramIsReported) {
  options_.program = "/nonexistent/kgpu-probe";
  Start();
  ASSERT_TRUE(WaitForDown());
  EXPECT_EQ(downs_[0].cause, DownCause::kNotStarted);
  EXPECT_THAT(downs_[0].text, HasSubstr("/nonexistent/kgpu-probe"));
}

TEST_F(ClientTest, AMissingLoaderIsReportedAsMissingGlibc) {
  TempDir dir;
  // The kernel answers for a missing interpreter of a script as for one of an ELF program.
  dir.WriteFile("kgpu-probe", "#!/nonexistent/ld-linux-x86-64.so.2\n");
  ASSERT_EQ(chmod(dir.At("kgpu-probe").c_str(), 0755), 0);
  options_.program = dir.At("kgpu-probe");
  Start();
  ASSERT_TRUE(WaitForDown());
  EXPECT_EQ(downs_[0].cause, DownCause::kNotStarted);
  EXPECT_THAT(downs_[0].text, HasSubstr("CUDA and NVML need glibc"));
}

TEST_F(ClientTest, AProgramThatSpeaksNonsenseIsKilled) {
  TempDir dir;
  dir.WriteFile("kgpu-probe", "#!/bin/sh\necho nonsense >&3\nexec sleep 60\n");
  ASSERT_EQ(chmod(dir.At("kgpu-probe").c_str(), 0755), 0);
  options_.program = dir.At("kgpu-probe");
  Start();
  ASSERT_TRUE(WaitForDown());
  EXPECT_EQ(downs_[0].cause, DownCause::kCrashed);
  EXPECT_THAT(downs_[0].text, HasSubstr("probe frame"));
}

TEST_F(ClientTest, AProgramThatSaysNothingIsKilledAfterTheStartDeadline) {
  options_.program = "/bin/sleep";
  options_.start_deadline = milliseconds(30);
  TempDir dir;
  dir.WriteFile("kgpu-probe", "#!/bin/sh\nexec sleep 60\n");
  ASSERT_EQ(chmod(dir.At("kgpu-probe").c_str(), 0755), 0);
  options_.program = dir.At("kgpu-probe");
  Start();
  ASSERT_TRUE(WaitForDown());
  EXPECT_EQ(downs_[0].cause, DownCause::kUnresponsive);
  EXPECT_THAT(downs_[0].text, HasSubstr("starting kgpu-probe"));
}

TEST_F(ClientTest, ARestartIsNoDown) {
  Start();
  ASSERT_TRUE(WaitForUp());
  client_->Restart();
  ASSERT_TRUE(WaitForUp(2));
  EXPECT_TRUE(downs_.empty());
}

// A GPU that is to be reset must not be open.
TEST_F(ClientTest, WhilePausedThereIsNoProbe) {
  Start();
  ASSERT_TRUE(WaitForUp());
  const pid_t probe = client_->probe_pid();
  bool is_released = false;
  client_->Pause([&] { is_released = true; });
  EXPECT_FALSE(client_->is_up());
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_released; }));
  EXPECT_FALSE(std::filesystem::exists(fmt::format("/proc/{}", probe)));
  client_->RetryNow();
  client_->Restart();
  is_released = false;
  client_->Pause([&] { is_released = true; });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_released; }));
  EXPECT_EQ(client_->probe_pid(), 0);
  client_->Resume();
  ASSERT_TRUE(WaitForUp(2));
  EXPECT_TRUE(downs_.empty());
}

TEST_F(ClientTest, APauseThatIsOverAtOnceTellsNobody) {
  Start();
  ASSERT_TRUE(WaitForUp());
  bool is_released = false;
  client_->Pause([&] { is_released = true; });
  client_->Resume();
  ASSERT_TRUE(WaitForUp(2));
  EXPECT_FALSE(is_released);
  EXPECT_TRUE(downs_.empty());
}

std::vector<std::string> DescriptorsOf(pid_t pid) {
  std::vector<std::string> fds;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    fds.push_back(entry.path().filename());
  }
  std::ranges::sort(fds);
  return fds;
}

TEST_F(ClientTest, TheProbeInheritsItsSocketOnly) {
  const UniqueFd leaky(open("/dev/null", O_RDONLY));  // NOLINT(android-cloexec-open): the point
  ASSERT_TRUE(leaky.is_valid());
  Start();
  ASSERT_TRUE(WaitForUp());
  EXPECT_THAT(DescriptorsOf(client_->probe_pid()), ElementsAre("0", "1", "2", "3"));
}

size_t ResidentPages() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  statm >> total >> resident;
  return resident;
}

bool HasChildren() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST_F(ClientTest, AThousandRestartsLeaveNothingBehind) {
  const int restarts = kIsSanitized ? 50 : 1000;
  while (waitpid(-1, nullptr, 0) > 0) {
    // What other tests of this program left.
  }
  Start();
  ASSERT_TRUE(WaitForUp(1));
  for (int i = 0; i < 20; ++i) {
    client_->Restart();
    ASSERT_TRUE(WaitForUp(ups_ + 1));
  }
  const auto fds = DescriptorsOf(getpid());
  const size_t pages = ResidentPages();
  for (int i = 0; i < restarts; ++i) {
    client_->Restart();
    ASSERT_TRUE(WaitForUp(ups_ + 1)) << i;
  }
  EXPECT_EQ(DescriptorsOf(getpid()).size(), fds.size());
  if (!kIsSanitized) {
    EXPECT_LT(ResidentPages(), pages + 64);
  }
  client_->Restart();
  ASSERT_TRUE(WaitForUp(ups_ + 1));
  // The one probe that runs is the only child.
  const pid_t pid = client_->probe_pid();
  client_.reset();
  int status = 0;
  (void)waitpid(pid, &status, 0);
  EXPECT_FALSE(HasChildren());
}

// Collects the log while it lives.
class LogLines {
 public:
  LogLines() {
    SetLogSink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogLines() { SetLogSink(nullptr); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

TEST_F(ClientTest, ANoisyLibraryDoesNotFloodTheLog) {
  const LogLines log;
  control_.Set("noise 5000\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  client_.reset();
  EXPECT_LE(log.lines().size(), 110U);
  for (const std::string& line : log.lines()) {
    EXPECT_LE(line.size(), 600U);
  }
  EXPECT_THAT(log.lines(), Contains(HasSubstr("line=\"noise 0 000")));
  EXPECT_THAT(log.lines(), Contains(HasSubstr("dropped\" lines=49")));
}

// Of a library that has started a process: its pid.
class ForkingClientTest : public ClientTest {
 protected:
  pid_t StartForking() {
    control_.Set(fmt::format("forks {}\n", dir_.At("pid")));
    Start();
    EXPECT_TRUE(WaitForUp());
    return static_cast<pid_t>(ParseUint(Trim(dir_.ReadFile("pid"))).value_or(0));
  }
  // A zombie is gone too: who reaps it is not our business.
  static bool IsGone(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(file, text);
    return text.empty() || text.find(") Z") != std::string::npos;
  }
  bool EndsSoon(pid_t pid) {
    return pid > 0 && RunUntil(*loop_, [pid] { return IsGone(pid); });
  }

  TempDir dir_;
};

TEST_F(ForkingClientTest, WhatTheLibraryStartedEndsWithTheClient) {
  const pid_t pid = StartForking();
  client_.reset();
  EXPECT_TRUE(EndsSoon(pid));
}

TEST_F(ForkingClientTest, WhatTheLibraryStartedEndsWithAProbeThatDies) {
  const pid_t pid = StartForking();
  control_.Set("");
  ASSERT_EQ(kill(client_->probe_pid(), SIGKILL), 0);
  EXPECT_TRUE(EndsSoon(pid));
}

// The kernel sends the probe SIGTERM when its parent dies.
TEST_F(ForkingClientTest, WhatTheLibraryStartedEndsWhenTheParentDies) {
  const pid_t pid = StartForking();
  const UniqueFd probe(static_cast<int>(syscall(SYS_pidfd_open, client_->probe_pid(), 0)));
  ASSERT_EQ(kill(client_->probe_pid(), SIGTERM), 0);
  // The loop does not run: nobody but the probe itself can end what it started.
  pollfd ended{.fd = probe.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ended, 1, 20'000), 1);
  const UniqueFd started(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ended.fd = started.get();
  EXPECT_TRUE(!started.is_valid() || poll(&ended, 1, 20'000) == 1);
}

// A version 1 freezer holds a process so that not even SIGKILL ends it, as a driver does that is
// stuck in the kernel.
class Freezer {
 public:
  Freezer() : path_(fmt::format("/sys/fs/cgroup/freezer/kgpu-test-{}", getpid())) {
    is_usable_ = std::filesystem::exists("/sys/fs/cgroup/freezer/cgroup.procs") &&
                 (mkdir(path_.c_str(), 0755) == 0 || errno == EEXIST);
  }
  ~Freezer() {
    if (is_usable_) {
      Write("freezer.state", "THAWED");
      (void)rmdir(path_.c_str());
    }
  }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

  bool Freeze(pid_t pid) {
    return is_usable_ && Write("cgroup.procs", fmt::format("{}", pid)) &&
           Write("freezer.state", "FROZEN");
  }
  bool Thaw() { return Write("freezer.state", "THAWED"); }

 private:
  bool Write(const std::string& file, const std::string& text) {
    std::ofstream out(path_ + "/" + file);
    out << text << std::flush;
    return out.good();
  }

  std::string path_;
  bool is_usable_ = false;
};

TEST_F(ClientTest, AProbeThatOutlivesSigkillIsAbandonedAndNoOtherIsStartedUntilItIsGone) {
  options_.call_deadline = milliseconds(30);
  options_.kill_grace = milliseconds(30);
  Freezer freezer;
  Start();
  ASSERT_TRUE(WaitForUp());
  const pid_t pid = client_->probe_pid();
  if (!freezer.Freeze(pid)) {
    GTEST_SKIP() << "no version 1 freezer cgroup that can be written";
  }
  client_->ReadDriver([](const auto&) {});
  ASSERT_TRUE(RunUntil(*loop_, [&] { return abandoned_ == 1; }));
  EXPECT_TRUE(client_->is_abandoned());
  ASSERT_EQ(downs_.size(), 1U);
  EXPECT_EQ(downs_[0].cause, DownCause::kUnresponsive);
  // Many times the back-off later there is still no other probe.
  client_->RetryNow();
  const auto is_up_again = [&] { return ups_ > 1; };
  EXPECT_FALSE(RunUntil(*loop_, is_up_again, milliseconds(60)));
  EXPECT_EQ(client_->probe_pid(), pid);
  ASSERT_TRUE(freezer.Thaw());
  ASSERT_TRUE(WaitForUp(2));
  EXPECT_NE(client_->probe_pid(), pid);
  EXPECT_FALSE(client_->is_abandoned());
}

TEST_F(ClientTest, AProbeThatIsStuckAtOneGpuIsFollowedByOneOther) {
  options_.call_deadline = milliseconds(30);
  options_.kill_grace = milliseconds(30);
  Freezer freezer;
  Start();
  ASSERT_TRUE(WaitForUp());
  const pid_t first = client_->probe_pid();
  if (!freezer.Freeze(first)) {
    GTEST_SKIP() << "no version 1 freezer cgroup that can be written";
  }
  client_->ReadGpu(1, [](const auto&) {});
  ASSERT_TRUE(WaitForUp(2));
  ASSERT_EQ(downs_.size(), 1U);
  EXPECT_EQ(downs_[0].gpu, 1U);
  const pid_t second = client_->probe_pid();
  EXPECT_NE(second, first);
  EXPECT_TRUE(client_->is_abandoned());
  // The frozen cgroup takes the second in, too: there is no third.
  ASSERT_TRUE(freezer.Freeze(second));
  client_->ReadGpu(0, [](const auto&) {});
  ASSERT_TRUE(RunUntil(*loop_, [&] { return abandoned_ == 2; }));
  const auto is_up_again = [&] { return ups_ > 2; };
  EXPECT_FALSE(RunUntil(*loop_, is_up_again, milliseconds(60)));
  bool is_released = false;
  client_->Pause([&] { is_released = true; });
  EXPECT_FALSE(RunUntil(*loop_, [&] { return is_released; }, milliseconds(60)));
  ASSERT_TRUE(freezer.Thaw());
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_released; }));
  EXPECT_FALSE(client_->is_abandoned());
}

TEST_F(ClientTest, AGpuThatIsLeftOutIsNotAskedAbout) {
  control_.Set("hang_gpu 1\n");
  Start();
  ASSERT_TRUE(WaitForUp());
  client_->LeaveOut(1, true);
  EXPECT_EQ(ReadGpu(1).result, nvml::kErrorTimeout);
  EXPECT_OK(ReadGpu(0).value);
  client_->LeaveOut(1, false);
  control_.Set("");
  EXPECT_OK(ReadGpu(1).value);
}

TEST(ClientBackoffTest, DoublesUpToTheLastAndStartsAgainWhenReportedSo) {
  FakeLoop loop;
  std::vector<int64_t> attempts;  // ms since the start
  const SteadyTime start = loop.clock().Now();
  ClientOptions options;
  options.first_backoff = milliseconds(100);
  options.last_backoff = milliseconds(800);
  Client client(loop, options,
                [&]() -> StatusOr<std::string> {
                  attempts.push_back(
                      std::chrono::duration_cast<milliseconds>(loop.clock().Now() - start).count());
                  return NotFound("no libnvidia-ml.so.1");
                },
                {.on_up = [] {},
                 .on_down = [](const Down&) {},
                 .on_event = [](const Event&) {},
                 .on_abandoned = [] {}});
  client.Start();
  loop.Advance(milliseconds(0));
  loop.Advance(milliseconds(3100));
  EXPECT_THAT(attempts, ElementsAre(0, 100, 300, 700, 1500, 2300, 3100));
  attempts.clear();
  client.RetryNow();
  loop.Advance(milliseconds(100));
  EXPECT_THAT(attempts, ElementsAre(3100, 3200));
}

TEST(ProbeProgramTest, PrintsAShortUsageWithoutArguments) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--fd", "3"},
                                             {"--fd", "x", "--nvml-library", "y"},
                                             {"--fd", "0", "--nvml-library", "y"}}) {
    sys::SpawnOptions options;
    options.argv = {kProbeProgram};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    auto null = UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    options.fds = {{null.get(), 2}};
    auto child = sys::ChildProcess::Spawn(options);
    ASSERT_OK(child);
    int status = 0;
    ASSERT_EQ(waitpid(child->pid(), &status, 0), child->pid());
    EXPECT_EQ(WEXITSTATUS(status), 2);
  }
}

TEST(ProbeProgramTest, EndsWithItsParentsSocket) {
  std::array<int, 2> fds{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
  UniqueFd ours(fds[0]);
  UniqueFd theirs(fds[1]);
  sys::SpawnOptions options;
  options.argv = {kProbeProgram, "--nvml-library", kFakeNvml, "--fd", "3"};
  options.fds = {{theirs.get(), 3}};
  auto child = sys::ChildProcess::Spawn(options);
  ASSERT_OK(child);
  theirs.Reset();
  ours.Reset();
  int status = 0;
  ASSERT_EQ(waitpid(child->pid(), &status, 0), child->pid());
  EXPECT_TRUE(WIFEXITED(status));
}

TEST(ClientPauseTest, AMissingLibraryIsLookedForTwiceAMinute) {
  FakeLoop loop;
  int looks = 0;
  int downs = 0;
  Client client(loop, {},
                [&looks]() -> StatusOr<std::string> {
                  ++looks;
                  return NotFound("no library");
                },
                {.on_up = [] {},
                 .on_down = [&downs](const Down&) { ++downs; },
                 .on_event = [](const Event&) {},
                 .on_abandoned = [] {}});
  client.Start();
  loop.RunUntilIdle();
  loop.Advance(std::chrono::hours(1));
  EXPECT_GT(looks, 100);
  EXPECT_LT(looks, 140);
  EXPECT_EQ(downs, looks);
}

}  // namespace
}  // namespace kgpu::probe
