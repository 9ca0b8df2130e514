#include "testing/driver/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/driver/control.h"
#include "testing/driver/faults.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/driver/state_file.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One connection as a library holds it, driven by hand.
class RawClient {
 public:
  explicit RawClient(const TempDir& dir)
      : fd_(*sys::ConnectUnix(dir.At("run/nvidia-persistenced/socket"))) {}
  ~RawClient() {
    if (mapped_ != nullptr) {
      munmap(mapped_, sizeof(SimState));
    }
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  int fd() const { return fd_.get(); }
  int state_fd() const { return state_fd_.get(); }
  void Close() { fd_.Reset(); }

  void SendFrame(uint32_t type, std::string_view payload) const {
    const FrameHeader header = {type, static_cast<uint32_t>(payload.size())};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += payload;
    ASSERT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Subscribe(uint64_t gpus, uint64_t types) const {
    const SubscribePayload wanted = {gpus, types};
    SendFrame(kSubscribe, {reinterpret_cast<const char*>(&wanted), sizeof(wanted)});
  }

  // Takes what has arrived; false when the server has hung up.
  bool Receive() {
    char buffer[4096];
    iovec part = {buffer, sizeof(buffer)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) {
      return got < 0 && errno == EAGAIN;
    }
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(header), sizeof(passed));
      state_fd_.Reset(passed);
    }
    input_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  // The payload of the next message of `type`, or "" when none has come.
  std::string Next(uint32_t type) {
    for (size_t before = input_.size() + 1; before != input_.size();) {
      before = input_.size();
      Receive();
    }
    Frame frame;
    size_t used = 0;
    while (DecodeFrame(input_, frame, used) == Decoded::kFrame) {
      const std::string payload(frame.payload);
      const bool is_wanted = frame.type == type;
      input_.erase(0, used);
      if (is_wanted) {
        return payload;
      }
    }
    return "";
  }
  const SimState& Mapped() {
    if (mapped_ == nullptr) {
      Receive();
      mapped_ = mmap(nullptr, sizeof(SimState), PROT_READ, MAP_SHARED, state_fd_.get(), 0);
    }
    return *static_cast<const SimState*>(mapped_);
  }

 private:
  UniqueFd fd_;
  UniqueFd state_fd_;
  std::string input_;
  void* mapped_ = nullptr;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    EXPECT_OK(SaveState(dir_.path(), *SampleState(2)));
    Start();
  }
  void Start() {
    auto server = StateServer::Create(loop_, {.root = dir_.path(), .on_change = on_change_});
    ASSERT_OK(server);
    server_ = *std::move(server);
  }
  MemoryReply TakeMemoryReply(RawClient& client) {
    loop_.RunUntilIdle();
    const std::string payload = client.Next(kMemoryReply);
    MemoryReply reply = {};
    EXPECT_EQ(payload.size(), sizeof(reply));
    std::memcpy(&reply, payload.data(), std::min(payload.size(), sizeof(reply)));
    return reply;
  }
  MemoryReply AskMemory(RawClient& client, const MemoryRequest& request) {
    client.SendFrame(kMemory, {reinterpret_cast<const char*>(&request), sizeof(request)});
    return TakeMemoryReply(client);
  }

  TempDir dir_;
  FakeLoop loop_;
  std::function<Status(const SimState&, const SimState&)> on_change_;
  std::unique_ptr<StateServer> server_;
};

TEST_F(ServerTest, PassesTheStateReadOnly) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  EXPECT_STREQ(client.Mapped().gpus[1].uuid, server_->state().gpus[1].uuid);
  EXPECT_EQ(
      mmap(nullptr, sizeof(SimState), PROT_READ | PROT_WRITE, MAP_SHARED, client.state_fd(), 0),
      MAP_FAILED);
  EXPECT_EQ(pwrite(client.state_fd(), "x", 1, 0), -1);
  EXPECT_NE(ftruncate(client.state_fd(), 0), 0);
}

TEST_F(ServerTest, ReopenedDescriptorIsStillReadOnly) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  client.Mapped();
  const std::string path = "/proc/self/fd/" + std::to_string(client.state_fd());
  const UniqueFd again(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!again.is_valid()) {
    return;
  }
  EXPECT_EQ(mmap(nullptr, sizeof(SimState), PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0),
            MAP_FAILED);
}

TEST_F(ServerTest, KnowsItsClients) {
  EXPECT_THAT(server_->clients(), IsEmpty());
  RawClient client(dir_);
  loop_.RunUntilIdle();
  EXPECT_THAT(server_->clients(), ElementsAre(ClientInfo{getpid(), getuid()}));
  EXPECT_THAT(server_->Execute("clients"),
              IsOkAndHolds(fmt::format("{} {}\n", getpid(), getuid())));
  client.Close();
  loop_.RunUntilIdle();
  EXPECT_THAT(server_->clients(), IsEmpty());
}

TEST_F(ServerTest, ChangesAppearInTheSharedState) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  const uint64_t sequence = client.Mapped().sequence;
  ASSERT_OK(server_->Execute("util 0 77"));
  EXPECT_EQ(client.Mapped().gpus[0].utilization.gpu, 77U);
  EXPECT_EQ(client.Mapped().sequence, sequence + 2);
  EXPECT_EQ(client.Mapped().version, server_->state().version);
}

TEST_F(ServerTest, EventsGoToThoseWhoAskedForThem) {
  RawClient xids(dir_);
  RawClient others(dir_);
  loop_.RunUntilIdle();
  xids.Subscribe(1U << 1, nvml::kEventXidCritical);
  others.Subscribe(1U << 0, nvml::kEventXidCritical);
  loop_.RunUntilIdle();
  ASSERT_OK(server_->Execute("xid 1 79"));
  ASSERT_OK(server_->Execute("ecc 1 corrected 1"));
  const std::string payload = xids.Next(kEvent);
  ASSERT_EQ(payload.size(), sizeof(SimEvent));
  SimEvent event = {};
  std::memcpy(&event, payload.data(), sizeof(event));
  EXPECT_EQ(event.data, 79U);
  EXPECT_EQ(event.gpu, 1U);
  EXPECT_EQ(xids.Next(kEvent), "");
  EXPECT_EQ(others.Next(kEvent), "");
}

TEST_F(ServerTest, RefusedCommandsChangeNothing) {
  const uint64_t version = server_->state().version;
  EXPECT_THAT(server_->Execute("xid 0 0"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(server_->state().version, version);
}

TEST_F(ServerTest, RestartsFromWhatItSaved) {
  ASSERT_OK(server_->Execute("lose 1"));
  server_.reset();
  Start();
  EXPECT_EQ(server_->state().gpus[1].is_lost, 1U);
}

TEST_F(ServerTest, ClientsOfAStoppedServerSeeTheDriverGo) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  EXPECT_EQ(client.Mapped().driver.is_loaded, 1U);
  server_.reset();
  EXPECT_EQ(client.Mapped().driver.is_loaded, 0U);
  Start();
  EXPECT_EQ(server_->state().driver.is_loaded, 1U);
}

TEST_F(ServerTest, TakesTheStateFromItsFileAgain) {
  const auto next = SampleState(4);
  ASSERT_OK(SaveState(dir_.path(), *next));
  ASSERT_OK(server_->Execute("reload"));
  EXPECT_EQ(server_->state().gpu_count, 4U);
}

TEST_F(ServerTest, OnlyOneServesAPlace) {
  // The second asks whether somebody answers: the first need not accept for that.
  EXPECT_THAT(StateServer::Create(loop_, {.root = dir_.path()}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("stop it first")));
}

TEST_F(ServerTest, ReplacesAStaleSocket) {
  server_.reset();
  {
    // A listener that dies without removing its socket, as after SIGKILL: it does not find it.
    const auto stale = sys::UnixListener::Listen(dir_.At("stale"), {});
    ASSERT_OK(stale);
    std::filesystem::rename(dir_.At("stale"), dir_.At("run/nvidia-persistenced/socket"));
  }
  Start();
  RawClient client(dir_);
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->clients().size(), 1U);
}

TEST_F(ServerTest, DoesNotReplaceAFile) {
  server_.reset();
  dir_.WriteFile("run/nvidia-persistenced/socket", "mine");
  EXPECT_THAT(StateServer::Create(loop_, {.root = dir_.path()}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("not a socket")));
}

TEST_F(ServerTest, DropsPeersThatDoNotSpeakTheProtocol) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  client.Receive();
  ASSERT_EQ(send(client.fd(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
  loop_.RunUntilIdle();
  EXPECT_THAT(server_->clients(), IsEmpty());
  EXPECT_FALSE(client.Receive());
}

TEST_F(ServerTest, DropsAClientThatDoesNotRead) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  client.Subscribe(~uint64_t{0}, ~uint64_t{0});
  loop_.RunUntilIdle();
  const auto state = SampleState(2);
  for (int round = 0; round < 100 && !server_->clients().empty(); ++round) {
    state->event_count = server_->state().event_count;
    for (uint32_t i = 0; i < kMaxEvents; ++i) {
      ASSERT_OK(InjectXid(*state, 0, 31));
    }
    ASSERT_OK(server_->Replace(*state));
  }
  EXPECT_THAT(server_->clients(), IsEmpty());
}

TEST_F(ServerTest, RefusesClientsBeyondItsLimit) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (size_t i = 0; i < StateServer::kMaxClients + 1; ++i) {
    clients.push_back(std::make_unique<RawClient>(dir_));
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(server_->clients().size(), StateServer::kMaxClients);
  EXPECT_FALSE(clients.back()->Receive());
}

MemoryRequest MemoryOf(MemoryOperation operation, uint64_t bytes) {
  MemoryRequest request = {};
  request.operation = operation;
  request.incarnation = 1;
  request.gpu_instance = kUnsupported;
  request.compute_instance = kUnsupported;
  request.bytes = bytes;
  return request;
}

TEST_F(ServerTest, ShowsMemoryOfAClientUntilItHangsUp) {
  RawClient client(dir_);
  RawClient reader(dir_);
  loop_.RunUntilIdle();
  EXPECT_EQ(reader.Mapped().gpus[0].processes[0].pid, 0U);
  EXPECT_EQ(AskMemory(client, MemoryOf(kCharge, 5 << 20)).result, kMemoryDone);
  const SimProcess& shown = reader.Mapped().gpus[0].processes[0];
  EXPECT_EQ(shown.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(shown.used_bytes, 5U << 20);
  EXPECT_THAT(shown.name, HasSubstr("sim_driver_test"));
  ASSERT_OK(server_->Execute("heal 0"));
  EXPECT_EQ(shown.used_bytes, 5U << 20) << "commands leave it alone";
  client.Close();
  loop_.RunUntilIdle();
  EXPECT_EQ(shown.pid, 0U);
}

TEST_F(ServerTest, KnowsOfAKilledClientBeforeItRefusesAnother) {
  RawClient killed(dir_);
  RawClient client(dir_);
  loop_.RunUntilIdle();
  const uint64_t all = SpaceOf(server_->state().gpus[0], kUnsupported).free;
  EXPECT_EQ(AskMemory(killed, MemoryOf(kCharge, all)).result, kMemoryDone);
  EXPECT_EQ(AskMemory(client, MemoryOf(kCharge, 1)).result, kMemoryExhausted);
  // The request is read before the hang-up.
  const MemoryRequest request = MemoryOf(kCharge, all);
  client.SendFrame(kMemory, {reinterpret_cast<const char*>(&request), sizeof(request)});
  killed.Close();
  loop_.RunUntilIdle();
  EXPECT_EQ(TakeMemoryReply(client).result, kMemoryDone);
}

TEST_F(ServerTest, PassesTheMemoryOfAnObject) {
  RawClient maker(dir_);
  RawClient user(dir_);
  loop_.RunUntilIdle();
  const MemoryReply made = AskMemory(maker, MemoryOf(kMakeObject, 4096));
  ASSERT_EQ(made.result, kMemoryDone);
  ASSERT_EQ(pwrite(maker.state_fd(), "kgpu", 4, 100), 4) << "the newest descriptor";
  MemoryRequest attach = MemoryOf(kAttach, 0);
  attach.object = made.object;
  attach.key = made.key;
  ASSERT_EQ(AskMemory(user, attach).result, kMemoryDone);
  char bytes[5] = {};
  ASSERT_EQ(pread(user.state_fd(), bytes, 4, 100), 4);
  EXPECT_STREQ(bytes, "kgpu");
}

TEST_F(ServerTest, DropsAClientWithAMalformedMemoryRequest) {
  RawClient client(dir_);
  loop_.RunUntilIdle();
  client.SendFrame(kMemory, "short");
  loop_.RunUntilIdle();
  EXPECT_THAT(server_->clients(), IsEmpty());
}

TEST_F(ServerTest, HostTreeFollowsProcesses) {
  server_.reset();
  std::vector<uint32_t> shown;
  on_change_ = [&](const SimState&, const SimState& now) {
    shown.push_back(now.gpus[0].processes[0].pid);
    return OkStatus();
  };
  Start();
  RawClient client(dir_);
  loop_.RunUntilIdle();
  EXPECT_EQ(AskMemory(client, MemoryOf(kCharge, 1)).result, kMemoryDone);
  EXPECT_EQ(AskMemory(client, MemoryOf(kCharge, 1)).result, kMemoryDone);
  EXPECT_THAT(shown, IsEmpty()) << "the client does not wait for it";
  loop_.Advance(StateServer::kShowProcessesAfter);
  EXPECT_THAT(shown, ElementsAre(static_cast<uint32_t>(getpid())));
}

TEST_F(ServerTest, HostTreeFollowsEachChange) {
  server_.reset();
  std::vector<uint32_t> lost;
  on_change_ = [&](const SimState& before, const SimState& now) {
    lost.push_back(before.gpus[0].is_lost * 10 + now.gpus[0].is_lost);
    return lost.size() < 2 ? OkStatus() : Unavailable("mknod");
  };
  Start();
  ASSERT_OK(server_->Execute("lose 0"));
  EXPECT_THAT(lost, ElementsAre(1U));
  EXPECT_THAT(server_->Execute("heal 0"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("host tree not updated: mknod")));
}

TEST_F(ServerTest, NeedsAState) {
  const TempDir empty;
  EXPECT_THAT(StateServer::Create(loop_, {.root = empty.path()}), StatusIs(StatusCode::kNotFound));
}

class ControlTest : public ::testing::Test {
 protected:
  TempDir dir_;
  RunningServer server_{dir_.path(), *SampleState(2)};
};

TEST_F(ControlTest, RunsCommands) {
  auto control = ControlClient::Connect(dir_.path());
  ASSERT_OK(control);
  EXPECT_THAT(control->Run("xid 0 79"), IsOkAndHolds(""));
  EXPECT_THAT(control->Run("clients"), IsOkAndHolds(HasSubstr(std::to_string(getpid()))));
  EXPECT_THAT(control->Run("xid 7 79"),
              StatusIs(StatusCode::kNotFound, HasSubstr("there are 2 GPUs")));
}

TEST_F(ControlTest, StrangersMayLookButNotTouch) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  auto control = ControlClient::Connect(dir_.path());
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_OK(control);
  EXPECT_THAT(control->Run("xid 0 79"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("65534")));
}

TEST(ControlClientTest, SaysWhatToStart) {
  const TempDir dir;
  EXPECT_THAT(ControlClient::Connect(dir.path()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("kgpu sim start")));
}

}  // namespace
}  // namespace kgpu::sim
