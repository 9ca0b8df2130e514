#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <pluginregistration_v1.grpc.pb.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::rpc {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::Registration;

class Named final : public Registration::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const InfoRequest*,
                                    PluginInfo* info) override {
    info->set_name("named");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

struct Connection {
  UniqueFd client;
  UniqueFd server;
};

Connection Connect(sys::UnixListener& listener) {
  Connection connection;
  connection.client = sys::ConnectUnix(listener.path()).value();
  connection.server = listener.Accept().value().value();
  return connection;
}

StatusOr<std::string> AskName(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  PluginInfo info;
  const grpc::Status status =
      Registration::NewStub(channel)->GetInfo(&context, InfoRequest(), &info);
  if (!status.ok()) {
    return FromGrpc(status);
  }
  return info.name();
}

std::string FirstLine(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

struct Thread {
  std::string name;
  // The system call that it waits in and its first four arguments; nothing while it runs.
  std::vector<uint64_t> call;

  bool WaitsInEpollForEver() const {
    return call.size() == 5 && call[0] == SYS_epoll_wait && static_cast<int32_t>(call[4]) == -1;
  }
  bool WaitsForOthersForEver() const {
    return call.size() == 5 && call[0] == SYS_futex && call[4] == 0;
  }
};

// The threads of this process, as proc(5) shows them.
std::vector<Thread> Threads() {
  std::vector<Thread> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    Thread thread{.name = FirstLine(entry.path() / "comm"), .call = {}};
    std::istringstream words(FirstLine(entry.path() / "syscall"));
    std::string word;
    while (thread.call.size() < 5 && words >> word && word != "running") {
      thread.call.push_back(std::stoull(word, nullptr, 0));
    }
    threads.push_back(std::move(thread));
  }
  return threads;
}

// Those that run callbacks.
std::vector<Thread> CallbackThreads() {
  std::vector<Thread> threads = Threads();
  std::erase_if(threads, [](const Thread& thread) { return thread.name != "nexting_thread"; });
  return threads;
}

// One of them waits for the connections of all, the others for that one.
bool CallbackThreadsRest() {
  const std::vector<Thread> threads = CallbackThreads();
  return std::ranges::any_of(threads, &Thread::WaitsInEpollForEver) &&
         std::ranges::all_of(threads, [](const Thread& thread) {
           return thread.WaitsInEpollForEver() || thread.WaitsForOthersForEver();
         });
}

class RpcTest : public ::testing::Test {
 protected:
  TempDir dir_;
  Named service_;
  sys::UnixListener listener_ = sys::UnixListener::Listen(dir_.At("s"), {}).value();
};

TEST_F(RpcTest, AnswersOverConnectionsItIsGiven) {
  const auto server = Server::Start({&service_}).value();
  for (int i = 0; i < 3; ++i) {
    Connection connection = Connect(listener_);
    server->Serve(std::move(connection.server));
    EXPECT_THAT(AskName(ChannelOver(std::move(connection.client))), IsOkAndHolds("named"));
  }
}

TEST_F(RpcTest, ClosesConnectionsWhenItGoes) {
  auto server = Server::Start({&service_}).value();
  Connection connection = Connect(listener_);
  server->Serve(std::move(connection.server));
  const auto channel = ChannelOver(std::move(connection.client));
  ASSERT_THAT(AskName(channel), IsOkAndHolds("named"));
  server.reset();
  EXPECT_THAT(AskName(channel), StatusIs(StatusCode::kUnavailable));
}

TEST_F(RpcTest, EndsAlthoughAPeerNeverAnswers) {
  auto server = Server::Start({&service_}).value();
  Connection silent = Connect(listener_);
  server->Serve(std::move(silent.server));
  Connection busy = Connect(listener_);
  server->Serve(std::move(busy.server));
  // The start of HTTP/2, and nothing after it. Source: RFC 9113, section 3.4.
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  ASSERT_EQ(write(busy.client.get(), kPreface.data(), kPreface.size()), kPreface.size());
  std::promise<void> ended;
  std::jthread ends([&] {
    server.reset();
    ended.set_value();
  });
  // gRPC itself gives up on such a peer after 20 s.
  EXPECT_EQ(ended.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST_F(RpcTest, ThreadsWaitWithoutEndWhileNobodyCalls) {
  if (kHasThreadSanitizer) {
    GTEST_SKIP() << "its shared gRPC waits in its own way";
  }
  if (FirstLine("/proc/self/syscall").empty()) {
    GTEST_SKIP() << "this kernel does not show what a thread waits for";
  }
  const auto server = Server::Start({&service_}).value();
  Connection connection = Connect(listener_);
  server->Serve(std::move(connection.server));
  const auto channel = ChannelOver(std::move(connection.client));
  ASSERT_THAT(AskName(channel), IsOkAndHolds("named"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool is_at_rest = false;
  while (!is_at_rest && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    is_at_rest = CallbackThreadsRest();
  }
  EXPECT_TRUE(is_at_rest);
  // And they answer at once all the same.
  EXPECT_THAT(AskName(channel), IsOkAndHolds("named"));
}

TEST_F(RpcTest, StartsNoEventEngine) {
  const auto server = Server::Start({&service_}).value();
  Connection connection = Connect(listener_);
  server->Serve(std::move(connection.server));
  ASSERT_THAT(AskName(ChannelOver(std::move(connection.client))), IsOkAndHolds("named"));
  for (const Thread& thread : Threads()) {
    EXPECT_NE(thread.name, "event_engine");
    EXPECT_NE(thread.name, "timer_manager");
  }
}

}  // namespace
}  // namespace kgpu::rpc
