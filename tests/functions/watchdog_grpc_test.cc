// kgpu-fnwatch called by Debian's gRPC client, as OpenFx's gateway calls a function.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>

#include "src/functions/watchdog/fx_message.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "tests/functions/watchdog_run.h"
#include "tests/functions/worker_kinds.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCall = "/pb.FxWatcher/Call";
constexpr const char* kHealth = "/grpc.health.v1.Health/Check";

struct GrpcAnswer {
  grpc::Status status;
  std::string message;
};

// The first field of a message that has only that.
std::string OutputOf(const std::string& reply) {
  return watchdog::InputOf(reply).value_or("no message");
}

class WatchdogGrpcTest : public ::testing::Test {
 protected:
  void Run(std::vector<std::string> flags = {}) {
    const WorkerKind& kind = Kind();
    if (!kind.problem().empty()) {
      GTEST_SKIP() << kind.problem();
    }
    run_.emplace(kind.Settings(std::move(flags)));
    ASSERT_EQ(run_->WaitUntilReady(), "");
    const auto socket = sys::ConnectUnix(run_->At("g"));
    ASSERT_TRUE(socket.ok()) << socket.status();
    stub_.emplace(rpc::ChannelOver(sys::ConnectUnix(run_->At("g")).value()));
  }
  static const WorkerKind& Kind() {
    static const WorkerKind& kind = *new WorkerKind("python3");
    return kind;
  }

  GrpcAnswer Call(const std::string& method, const std::string& message,
                  std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    context.AddMetadata("traceparent", "00-0af7-b7ad-01");
    context.AddMetadata("x-call-id", "call-9");
    const grpc::Slice slice(message);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> done;
    stub_->UnaryCall(&context, method, grpc::StubOptions(), &request, &reply,
                     [&](grpc::Status status) { done.set_value(std::move(status)); });
    GrpcAnswer answer{.status = done.get_future().get(), .message = ""};
    grpc::Slice whole;
    if (answer.status.ok() && reply.DumpToSingleSlice(&whole).ok()) {
      answer.message.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    return answer;
  }
  GrpcAnswer CallHandler(const std::string& input) { return Call(kCall, watchdog::ReplyOf(input)); }

  std::optional<WatchdogRun> run_;
  std::optional<grpc::GenericStub> stub_;
};

TEST_F(WatchdogGrpcTest, CallsTheHandler) {
  Run();
  const GrpcAnswer answer = CallHandler("echo this");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(OutputOf(answer.message), "echo this");
  const std::string large = "echo " + std::string(size_t{3} << 20, 'x');
  EXPECT_TRUE(OutputOf(CallHandler(large).message) == large);
  EXPECT_EQ(CallHandler("").message, "");
  EXPECT_EQ(OutputOf(CallHandler("stream 3").message), "piece 0\npiece 1\npiece 2\n");
}

TEST_F(WatchdogGrpcTest, TellsFaultsByTheirCodes) {
  Run({"--timeout", "500ms", "--queue", "0"});
  const GrpcAnswer thrown = CallHandler("throw");
  EXPECT_EQ(thrown.status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(thrown.status.error_message(), HasSubstr("no such thing"));
  EXPECT_EQ(CallHandler("exit").status.error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_EQ(run_->WaitUntilReady(), "");
  EXPECT_EQ(CallHandler("hang").status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_EQ(run_->WaitUntilReady(), "");
  const GrpcAnswer head = CallHandler("head");
  EXPECT_EQ(head.status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(head.status.error_message(), HasSubstr("status 418: POST /  00-0af7-b7ad-01 call-9"));
}

TEST_F(WatchdogGrpcTest, RefusesAReplyThatIsNoText) {
  Run();
  const GrpcAnswer answer = CallHandler("\xff\xfe");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("UTF-8"));
}

TEST_F(WatchdogGrpcTest, KeepsTheCallersDeadline) {
  Run();
  EXPECT_EQ(
      Call(kCall, watchdog::ReplyOf("hang"), std::chrono::milliseconds(300)).status.error_code(),
      grpc::StatusCode::DEADLINE_EXCEEDED);
  // The handler hangs: a moment later its process is replaced, without waiting for the function's
  // own timeout of a minute.
  EXPECT_EQ(OutputOf(CallHandler("echo next").message), "echo next");
  EXPECT_EQ(run_->Status("restarts"), "1");
}

TEST_F(WatchdogGrpcTest, AnswersHealthChecks) {
  Run();
  EXPECT_EQ(Call(kHealth, "").message, watchdog::HealthReply(true));
  EXPECT_EQ(Call(kHealth, watchdog::ReplyOf("pb.FxWatcher")).message, watchdog::HealthReply(true));
  EXPECT_EQ(Call(kHealth, watchdog::ReplyOf("other")).status.error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(WatchdogGrpcTest, RefusesOtherMethodsAndMessages) {
  Run();
  EXPECT_EQ(Call("/pb.Other/Call", "").status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Call(kCall, "\x0a").status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kgpu::e2e
