#include "src/node/mps/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "src/node/mps/daemon_files.h"
#include "src/node/mps/test_daemon.h"
#include "testing/status_matchers.h"

namespace kgpu::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Settings kQuarter{.threads = 25, .memory = GibiBytes(4)};

// Processes of other users outlive our SIGKILL for as long as this exists, as those do that hang in
// the driver. Source: capabilities(7), CAP_KILL.
class WithoutCapKill {
 public:
  WithoutCapKill() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_.data()), 0);
    auto sets = before_;
    sets[0].effective &= ~(1U << CAP_KILL);
    EXPECT_EQ(syscall(SYS_capset, &header_, sets.data()), 0);
  }
  ~WithoutCapKill() { EXPECT_EQ(syscall(SYS_capset, &header_, before_.data()), 0); }
  WithoutCapKill(const WithoutCapKill&) = delete;
  WithoutCapKill& operator=(const WithoutCapKill&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> before_{};
};

class MpsDaemonTest : public DaemonFixture {
 protected:
  void Start(const Settings& settings = kQuarter) {
    daemon_.reset();
    daemon_ = std::make_unique<Daemon>(
        loop_,
        Daemon::Options{.device_uuid = "GPU-a",
                        .folder = dir_.At("GPU-a"),
                        .cgroup = cgroup_,
                        .has_selinux = has_selinux_,
                        .find_program = [this] { return program_; }},
        settings,
        Daemon::Actions{.changed = [this] { ++changes_; },
                        .happened = [this](DaemonEvent event) { events_.push_back(event); }});
  }
  bool RunUntil(DaemonState state) {
    return RunLoopUntil([&] { return daemon_->state() == state; });
  }
  // To the check that runs, if it has not ended by now: the other watch is the daemon's own.
  bool WaitForAnswer() {
    return kgpu::RunUntil(loop_, [this] { return loop_.watches() == 1; });
  }
  // With a program, and so a server.
  void StartInUse() {
    Start();
    ASSERT_TRUE(RunUntil(DaemonState::kReady));
    client_.emplace(dir_.At("GPU-a"));
    ASSERT_EQ(client_->ReadLine(), "ok 25.0 4096");
    auto server = Server();
    auto first = LastingProcess::Find(Pid());
    ASSERT_OK(server);
    ASSERT_OK(first);
    server_ = *std::move(server);
    first_ = *std::move(first);
  }
  // The daemon's PID, from its own file; 0: none.
  pid_t Pid() const { return PidOf("GPU-a"); }
  std::string Ask(const std::string& commands) { return AskDaemon("GPU-a", commands); }
  StatusOr<LastingProcess> Server() { return LastingProcess::Find(std::stoi(Ask(kList))); }

  static constexpr const char* kList = "get_server_list\n";

  StatusOr<Program> program_ = TestProgram();
  std::string cgroup_;
  bool has_selinux_ = false;
  std::vector<DaemonEvent> events_;
  int changes_ = 0;
  std::unique_ptr<Daemon> daemon_;
  std::optional<TestClient> client_;
  std::optional<LastingProcess> server_;
  std::optional<LastingProcess> first_;  // the daemon of StartInUse
};

TEST_F(MpsDaemonTest, StartsWithItsLimits) {
  Start();
  EXPECT_EQ(daemon_->state(), DaemonState::kStarting);
  EXPECT_THAT(daemon_->problem(), HasSubstr("is starting"));
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(daemon_->problem(), "");
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(Ask("get_default_active_thread_percentage\n"), "25.0\n");
  EXPECT_EQ(Ask("get_default_device_pinned_mem_limit 0\n"), "4096M\n");
  EXPECT_GT(changes_, 0);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(MpsDaemonTest, RestsOnceItIsReady) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(loop_.timers(), 1U) << "the next check";
  const int changes = changes_;
  for (int i = 0; i < 120; ++i) {  // an hour
    loop_.Advance(std::chrono::seconds(30));
    ASSERT_TRUE(WaitForAnswer()) << i;
  }
  EXPECT_EQ(changes_, changes);
  EXPECT_EQ(daemon_->state(), DaemonState::kReady);
}

TEST_F(MpsDaemonTest, ADaemonThatDiesIsStartedAgain) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kEnded));
  EXPECT_THAT(daemon_->problem(), HasSubstr("has ended"));
  loop_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
}

TEST_F(MpsDaemonTest, ItsServersEndWithIt) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const TestClient client(dir_.At("GPU-a"));
  ASSERT_EQ(client.ReadLine(), "ok 25.0 4096");
  const auto server = LastingProcess::Find(std::stoi(Ask("get_server_list\n")));
  ASSERT_OK(server);
  ASSERT_EQ(kill(Pid(), SIGKILL), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_TRUE(WaitForEnd(*server));
}

// Of a daemon that is not our child, and that has started its server after the last check.
TEST_F(MpsDaemonTest, ServersThatNobodyHasSeenEndWithAnEarlierDaemon) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const TestClient client(dir_.At("GPU-a"));
  ASSERT_EQ(client.ReadLine(), "ok 25.0 4096");
  const auto server = LastingProcess::Find(std::stoi(Ask("get_server_list\n")));
  ASSERT_OK(server);
  ASSERT_EQ(kill(Pid(), SIGKILL), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_TRUE(WaitForEnd(*server));
}

TEST_F(MpsDaemonTest, ServersOfADaemonThatNobodyWatchedEndBeforeTheNext) {
  ASSERT_NO_FATAL_FAILURE(StartInUse());
  daemon_.reset();
  ASSERT_OK(first_->Kill());
  ASSERT_TRUE(WaitForEnd(*first_));
  EXPECT_FALSE(server_->HasEnded());
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_TRUE(server_->HasEnded());
  EXPECT_NE(Pid(), first_->pid());
}

TEST_F(MpsDaemonTest, AServerThatCannotBeKilledIsWaitedFor) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can start a program as another user";
  }
  program_->environment.emplace_back("KGPU_SIM_MPS_SERVER_USER=65534");
  ASSERT_NO_FATAL_FAILURE(StartInUse());
  {
    const WithoutCapKill without;
    ASSERT_OK(first_->Kill());
    ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
    RunLoopFor(std::chrono::seconds(20));
    EXPECT_EQ(daemon_->state(), DaemonState::kWaiting) << "no second daemon beside it";
    EXPECT_EQ(daemon_->problem(),
              fmt::format("its earlier MPS server, process {}, does not end", server_->pid()));
    daemon_->Stop();
    RunLoopFor(std::chrono::seconds(20));
    EXPECT_EQ(daemon_->state(), DaemonState::kStopping);
    EXPECT_FALSE(server_->HasEnded());
    Start();  // nor does the next agent start one
    RunLoopFor(std::chrono::seconds(20));
    EXPECT_EQ(daemon_->state(), DaemonState::kWaiting);
  }
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_TRUE(server_->HasEnded());
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kEnded));
}

TEST_F(MpsDaemonTest, ADaemonThatNeverSaysHowItsServerIsIsReplaced) {
  program_->environment.emplace_back("KGPU_SIM_MPS_MUTE=get_server_status");
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  const TestClient client(dir_.At("GPU-a"));
  ASSERT_EQ(client.ReadLine(), "ok 25.0 4096");
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kHung));
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
}

// Of the stand-in: as NVIDIA's, a server has nothing of those whom the daemon answers.
TEST_F(MpsDaemonTest, AnAnswerEndsThoughAServerHasStartedSince) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const UniqueFd person = ConnectToDaemon(dir_.At("GPU-a"));
  const TestClient client(dir_.At("GPU-a"));
  ASSERT_EQ(client.ReadLine(), "ok 25.0 4096");
  ASSERT_EQ(send(person.get(), kList, strlen(kList), MSG_NOSIGNAL),
            static_cast<ssize_t>(strlen(kList)));
  std::string answer;
  std::array<char, 64> buffer{};
  ssize_t size = 1;
  while (size > 0) {
    pollfd readable{.fd = person.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, 20'000), 1) << "still open";
    size = read(person.get(), buffer.data(), buffer.size());
    answer.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  EXPECT_EQ(answer, Ask(kList));
}

TEST_F(MpsDaemonTest, ADeathThatNothingWatchesIsNoticedByTheChecks) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  daemon_.reset();
  loop_.RefuseWatches(1);  // the one of its end
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(loop_.watches(), 0U);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
  EXPECT_EQ(loop_.watches(), 1U);
}

TEST_F(MpsDaemonTest, AnAnswerThatCannotBeWatchedIsAskedForAgain) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  loop_.Advance(std::chrono::milliseconds(1));
  loop_.RefuseWatches(2 * 3);               // of three calls, and of their ends
  loop_.Advance(std::chrono::seconds(30));  // the check
  loop_.Advance(std::chrono::seconds(5));
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(loop_.watches(), 1U) << "no call runs";
  // The call runs until the daemon may answer.
  ASSERT_EQ(kill(first, SIGSTOP), 0);
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(loop_.watches(), 3U) << "asked again: the end and the output of the call";
  ASSERT_EQ(kill(first, SIGCONT), 0);
  ASSERT_TRUE(WaitForAnswer());
  EXPECT_EQ(daemon_->state(), DaemonState::kReady);
  EXPECT_EQ(Pid(), first);
  EXPECT_THAT(events_, IsEmpty());
}

// Its package is being updated, say.
TEST_F(MpsDaemonTest, ADaemonThatWeCannotAskStays) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  program_ = NotFound("nvidia-cuda-mps-control is not there");
  Start();
  for (int i = 0; i < 60; ++i) {
    loop_.Advance(std::chrono::seconds(5));
  }
  EXPECT_EQ(Pid(), first);
  EXPECT_EQ(daemon_->state(), DaemonState::kChecking);
  EXPECT_THAT(events_, IsEmpty());
  program_ = TestProgram();
  EXPECT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(Pid(), first);
}

TEST_F(MpsDaemonTest, OneSlowAnswerToTheNextAgentIsNoHang) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  daemon_.reset();
  ASSERT_EQ(kill(first, SIGSTOP), 0);
  Start();
  loop_.Advance(std::chrono::milliseconds(5'100));  // its deadline
  ASSERT_TRUE(WaitForAnswer());
  ASSERT_EQ(kill(first, SIGCONT), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(Pid(), first);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(MpsDaemonTest, LinksOfContainersAreGoneWhenItStarts) {
  dir_.MakeDir("GPU-a/pipe/folder/folder");
  dir_.WriteFile("host/passwd", "root");
  dir_.WriteFile("host/other", "kept");
  std::filesystem::create_symlink(dir_.At("host/passwd"),
                                  dir_.At("GPU-a/pipe/nvidia-cuda-mps-control.pid"));
  std::filesystem::create_symlink(dir_.At("host"), dir_.At("GPU-a/pipe/link"));
  struct stat before = {};
  ASSERT_EQ(stat(dir_.At("GPU-a/pipe").c_str(), &before), 0);
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(dir_.ReadFile("host/passwd"), "root");
  EXPECT_EQ(dir_.ReadFile("host/other"), "kept");
  EXPECT_FALSE(std::filesystem::exists(dir_.At("GPU-a/pipe/folder")));
  EXPECT_FALSE(std::filesystem::is_symlink(dir_.At("GPU-a/pipe/link")));
  struct stat after = {};
  ASSERT_EQ(stat(dir_.At("GPU-a/pipe").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino) << "containers have it mounted";
}

// As deep as a container likes: each level of it would take a descriptor.
TEST_F(MpsDaemonTest, AFolderOfAnyDepthIsEmptied) {
  std::string path = "GPU-a/pipe";
  for (int i = 0; i < 100; ++i) {
    path += "/1";
    dir_.WriteFile(path + "/file", "");
  }
  dir_.WriteFile("GPU-a/pipe/.deep-1/file", "");
  ASSERT_OK(EmptyFolder(dir_.At("GPU-a/pipe")));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.At("GPU-a/pipe")));
}

TEST_F(MpsDaemonTest, AFolderThatAContainerGaveAwayIsOursAgain) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  const std::string pipe = dir_.At("GPU-a/pipe");
  dir_.MakeDir("GPU-a/pipe");
  ASSERT_EQ(chown(pipe.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(pipe.c_str(), 0), 0);
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  struct stat info = {};
  ASSERT_EQ(stat(pipe.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, geteuid());
  EXPECT_EQ(info.st_mode & 07777, 0755U);
}

TEST_F(MpsDaemonTest, ARecordOfAnotherProgramIsNoDaemon) {
  auto other =
      LastingProcess::Spawn({.argv = {"/bin/sleep", "1000"}, .environment = {}, .fds = {}});
  ASSERT_OK(other);
  dir_.MakeDir("GPU-a");
  ASSERT_OK(WriteRecord(dir_.At("GPU-a"), {.pid = static_cast<uint32_t>(other->pid()),
                                           .start_time = other->start_time(),
                                           .settings = kQuarter}));
  EXPECT_FALSE(FindByRecord(dir_.At("GPU-a")));
  ASSERT_OK(other->Kill());
  ASSERT_TRUE(WaitForEnd(*other));
  EXPECT_TRUE(other->HasEnded());
}

TEST_F(MpsDaemonTest, WaitsLongerWithEachFailure) {
  program_ = NotFound("no nvidia-cuda-mps-control");
  Start();
  loop_.Advance(std::chrono::nanoseconds(0));
  EXPECT_EQ(daemon_->state(), DaemonState::kWaiting);
  EXPECT_THAT(daemon_->problem(), HasSubstr("no nvidia-cuda-mps-control"));
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(daemon_->state(), DaemonState::kWaiting);
  EXPECT_LE(loop_.timers(), 2U);
  // Installed in the meantime.
  program_ = TestProgram();
  loop_.Advance(std::chrono::seconds(60));
  EXPECT_TRUE(RunUntil(DaemonState::kReady));
}

TEST_F(MpsDaemonTest, AProgramThatEndsAtOnceIsNoLoop) {
  program_ = Program{.path = "/bin/false", .environment = {}};
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_THAT(daemon_->problem(), HasSubstr("has ended"));
  EXPECT_THAT(events_, IsEmpty()) << "nobody was using it";
}

TEST_F(MpsDaemonTest, TheNextAgentFindsIt) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  daemon_.reset();  // the agent ends, or is killed
  EXPECT_EQ(Ask("get_default_active_thread_percentage\n"), "25.0\n");
  Start();
  EXPECT_EQ(daemon_->state(), DaemonState::kChecking);
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(Pid(), first);
  EXPECT_THAT(events_, IsEmpty());
  // Its death is noticed, too.
  ASSERT_EQ(kill(first, SIGKILL), 0);
  EXPECT_TRUE(RunUntil(DaemonState::kWaiting));
}

TEST_F(MpsDaemonTest, OtherSettingsReplaceAnEarlierOne) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  Start({.threads = 50, .memory = GibiBytes(8)});
  EXPECT_EQ(daemon_->state(), DaemonState::kStarting);
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
  EXPECT_EQ(Ask("get_default_active_thread_percentage\n"), "50.0\n");
}

TEST_F(MpsDaemonTest, OneWithoutARecordIsReplacedToo) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  daemon_.reset();
  // Killed before it was written, and before the daemon has written its own.
  std::filesystem::remove(dir_.At("GPU-a/record"));
  std::filesystem::remove(dir_.At("GPU-a/pipe/nvidia-cuda-mps-control.pid"));
  auto earlier = LastingProcess::Find(first);
  ASSERT_OK(earlier);
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
  EXPECT_TRUE(earlier->HasEnded());
}

TEST_F(MpsDaemonTest, ARecordThatCannotBeWrittenIsAProblemAndNoSecondDaemon) {
  dir_.MakeDir("GPU-a/record/full");  // as a full disk: the file cannot be put in place
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_THAT(daemon_->problem(), HasSubstr("record"));
  std::filesystem::remove_all(dir_.At("GPU-a/record"));
  EXPECT_TRUE(RunUntil(DaemonState::kReady));
}

TEST_F(MpsDaemonTest, AHungDaemonIsReplaced) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  ASSERT_EQ(kill(first, SIGSTOP), 0);
  ASSERT_TRUE(RunUntil(DaemonState::kWaiting));
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kHung));
  EXPECT_THAT(daemon_->problem(), HasSubstr("does not answer"));
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_NE(Pid(), first);
  EXPECT_EQ(kill(first, 0), -1) << "it is gone";
}

TEST_F(MpsDaemonTest, AHungDaemonOfAnEarlierAgentIsReplaced) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const pid_t first = Pid();
  daemon_.reset();
  ASSERT_EQ(kill(first, SIGSTOP), 0);
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  ASSERT_TRUE(
      RunLoopUntil([&] { return daemon_->state() == DaemonState::kReady && Pid() != first; }));
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kHung));
}

TEST_F(MpsDaemonTest, AFaultBlocksTheDeviceUntilItsClientsEnd) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  auto bad = std::make_unique<TestClient>(dir_.At("GPU-a"));
  auto neighbour = std::make_unique<TestClient>(dir_.At("GPU-a"));
  ASSERT_EQ(bad->ReadLine(), "ok 25.0 4096");
  ASSERT_EQ(neighbour->ReadLine(), "ok 25.0 4096");
  bad->Send("fault\n");
  EXPECT_EQ(neighbour->ReadLine(), "fault");
  ASSERT_TRUE(RunUntil(DaemonState::kFaulted));
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kFaulted));
  EXPECT_THAT(daemon_->problem(), HasSubstr("delete their pods"));
  EXPECT_EQ(TestClient(dir_.At("GPU-a")).ReadLine(), "not-ready");
  bad.reset();
  neighbour.reset();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(TestClient(dir_.At("GPU-a")).ReadLine(), "ok 25.0 4096");
  EXPECT_THAT(events_, ElementsAre(DaemonEvent::kFaulted)) << "told once";
}

TEST_F(MpsDaemonTest, AFaultThatTheNextAgentFindsIsNotToldAgain) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const TestClient bad(dir_.At("GPU-a"));
  ASSERT_EQ(bad.ReadLine(), "ok 25.0 4096");
  bad.Send("fault\n");
  ASSERT_TRUE(RunUntil(DaemonState::kFaulted));
  events_.clear();
  Start();
  bool was_ready = false;
  ASSERT_TRUE(RunLoopUntil([&] {
    was_ready |= daemon_->state() == DaemonState::kReady;
    return daemon_->state() == DaemonState::kFaulted;
  }));
  EXPECT_FALSE(was_ready);
  EXPECT_THAT(events_, IsEmpty());
}

// A neighbour's daemon has got the number of this device's, and its session.
TEST_F(MpsDaemonTest, ARecordWhoseNumberIsANeighboursEndsNoneOfIt) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const TestClient client(dir_.At("GPU-a"));
  ASSERT_EQ(client.ReadLine(), "ok 25.0 4096");
  auto server = Server();
  auto neighbour = LastingProcess::Find(Pid());
  ASSERT_OK(server);
  ASSERT_OK(neighbour);
  dir_.MakeDir("GPU-b");
  ASSERT_OK(WriteRecord(dir_.At("GPU-b"), {.pid = static_cast<uint32_t>(neighbour->pid()),
                                           .start_time = neighbour->start_time() - 1,
                                           .settings = kQuarter}));
  EXPECT_THAT(FindLeft(dir_.At("GPU-b")), IsEmpty());
  Daemon second(loop_,
                {.device_uuid = "GPU-b",
                 .folder = dir_.At("GPU-b"),
                 .find_program = [] { return TestProgram(); }},
                kQuarter, {.changed = [] {}, .happened = [](DaemonEvent) {}});
  EXPECT_TRUE(RunLoopUntil([&] { return second.state() == DaemonState::kReady; }));
  second.Stop();
  EXPECT_TRUE(RunLoopUntil([&] { return second.state() == DaemonState::kStopped; }));
  EXPECT_FALSE(server->HasEnded());
  EXPECT_FALSE(neighbour->HasEnded());
}

TEST_F(MpsDaemonTest, APipeInPlaceOfARecordHoldsNobodyUp) {
  dir_.MakeDir("GPU-a");
  ASSERT_EQ(mkfifo(dir_.At("GPU-a/record").c_str(), 0600), 0);
  EXPECT_FALSE(FindByRecord(dir_.At("GPU-a")));
}

TEST_F(MpsDaemonTest, MovesToACgroupOfItsOwn) {
  cgroup_ = dir_.At("cgroup");
  dir_.WriteFile("cgroup/cgroup.procs", "");
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  EXPECT_EQ(dir_.ReadFile("cgroup/cgroup.procs"), fmt::format("{}\n", Pid()));
}

TEST_F(MpsDaemonTest, ACgroupBelowOursIsNotOneOfItsOwn) {
  const auto root = sys::Root::Open("/");
  ASSERT_OK(root);
  if (root->ReadFile("/proc/self/cgroup").value_or("").find("0::") == std::string::npos) {
    GTEST_SKIP() << "cgroup version 1 alone";
  }
  dir_.WriteFile("cgroup/cgroup.procs", "");  // as one in which the process stays
  EXPECT_THAT(MoveToCgroup(dir_.At("cgroup"), getpid()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("in our own cgroup")));
}

TEST_F(MpsDaemonTest, RunsInTheAgentsCgroupWhereThereIsNoOther) {
  cgroup_ = dir_.At("no/such/folder");
  Start();
  EXPECT_TRUE(RunUntil(DaemonState::kReady));
}

TEST_F(MpsDaemonTest, WithSelinuxItsFolderHasTheLabelOfContainers) {
  has_selinux_ = true;
  Start();
  ASSERT_TRUE(RunLoopUntil([&] { return daemon_->state() != DaemonState::kStarting; }));
  if (daemon_->state() != DaemonState::kReady) {
    EXPECT_THAT(daemon_->problem(), HasSubstr("container_file_t")) << "no label, no daemon";
    return;
  }
  std::array<char, 256> label{};
  EXPECT_GT(
      lgetxattr(dir_.At("GPU-a/pipe").c_str(), "security.selinux", label.data(), label.size()), 0);
  EXPECT_STREQ(label.data(), "system_u:object_r:container_file_t:s0");
}

TEST_F(MpsDaemonTest, StopsAndLeavesNothing) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  const auto process = LastingProcess::Find(Pid());
  ASSERT_OK(process);
  daemon_->Stop();
  ASSERT_TRUE(RunUntil(DaemonState::kStopped));
  EXPECT_TRUE(WaitForEnd(*process));
  loop_.RunUntilIdle();
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_FALSE(FindByRecord(dir_.At("GPU-a")));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(MpsDaemonTest, AHungDaemonStopsByForce) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  ASSERT_EQ(kill(Pid(), SIGSTOP), 0);
  daemon_->Stop();
  EXPECT_TRUE(RunUntil(DaemonState::kStopped));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(MpsDaemonTest, StopsWhileItWaits) {
  program_ = NotFound("none");
  Start();
  loop_.Advance(std::chrono::nanoseconds(0));
  daemon_->Stop();
  EXPECT_EQ(daemon_->state(), DaemonState::kStopped);
}

TEST_F(MpsDaemonTest, LogsAreBounded) {
  Start();
  ASSERT_TRUE(RunUntil(DaemonState::kReady));
  dir_.WriteFile("GPU-a/log/server.log", std::string(size_t{2} << 20, 'x'));
  loop_.Advance(std::chrono::seconds(30));
  ASSERT_TRUE(WaitForAnswer());
  EXPECT_LE(std::filesystem::file_size(dir_.At("GPU-a/log/server.log")), size_t{1} << 20);
}

}  // namespace
}  // namespace kgpu::mps
