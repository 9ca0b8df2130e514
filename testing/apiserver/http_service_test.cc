#include "testing/apiserver/http_service.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::apiserver {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HandleControlTest, AddsAndRemovesFaults) {
  FakeLoop loop;
  Api api(loop);
  http::Request request;
  request.method = "POST";
  request.path = "/stub/faults";
  request.body = R"({"kind":"answer","code":503})";
  const http::Response added = HandleControl(api, request);
  EXPECT_EQ(added.code, 200);
  EXPECT_EQ(added.body, R"({"id":1})");
  request.body = R"({"kind":"away"})";
  HandleControl(api, request);
  EXPECT_TRUE(api.faults().is_away());
  request.method = "DELETE";
  request.path = "/stub/faults/2";
  EXPECT_EQ(HandleControl(api, request).code, 200);
  EXPECT_FALSE(api.faults().is_away());
  request.path = "/stub/faults";
  EXPECT_EQ(HandleControl(api, request).code, 200);
}

TEST(HandleControlTest, RefusesWhatItDoesNotKnow) {
  FakeLoop loop;
  Api api(loop);
  http::Request request;
  request.method = "POST";
  request.path = "/stub/faults";
  request.body = R"({"kind":"odd"})";
  EXPECT_EQ(HandleControl(api, request).code, 400);
  request.body = "{";
  EXPECT_EQ(HandleControl(api, request).code, 400);
  request.path = "/stub/none";
  EXPECT_EQ(HandleControl(api, request).code, 404);
}

TEST(HandleControlTest, ShowsCounters) {
  FakeLoop loop;
  Api api(loop);
  api.counters().For({"list", "nodes", "x"}).requests = 7;
  http::Request request;
  request.path = "/stub/counters";
  EXPECT_THAT(HandleControl(api, request).body, HasSubstr("\"requests\":7"));
}

// A plain socket: what a client sees byte by byte. The loop's time is simulated, its descriptors
// are real.
class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(service_.Listen(dir_.At("socket")).status()); }

  // All that comes for one request, until the server closes or nothing comes any more.
  std::string Ask(std::string_view target) {
    StatusOr<UniqueFd> socket = sys::ConnectUnix(dir_.At("socket"));
    if (!socket.ok()) {
      return std::string(Message(socket.status()));
    }
    const std::string request =
        fmt::format("GET {} HTTP/1.1\r\nHost: stub\r\nConnection: close\r\n\r\n", target);
    EXPECT_EQ(send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    std::array<char, 4096> bytes{};
    ssize_t count = -1;
    while (count != 0) {
      loop_.RunUntilIdle();
      count = recv(socket->get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count > 0) {
        answer.append(bytes.data(), static_cast<size_t>(count));
      } else if (count < 0 && !loop_.WaitForDescriptor(std::chrono::milliseconds(100))) {
        break;
      }
    }
    return answer;
  }

  TempDir dir_;
  FakeLoop loop_;
  Api api_{loop_};
  HttpService service_{loop_, api_};
};

TEST_F(SocketTest, AnswersRequests) {
  EXPECT_THAT(Ask("/version"), AllOf(HasSubstr("200 OK"), HasSubstr("\"minor\":\"36\"")));
}

TEST_F(SocketTest, CutShowsWhatCameBefore) {
  api_.faults().Add({.kind = FaultKind::kCut, .bytes = 20});
  const std::string answer = Ask("/api/v1/namespaces?watch=1");
  EXPECT_THAT(answer, HasSubstr("{\"type\":\"ADDED\",\"o"));
  EXPECT_THAT(answer, Not(HasSubstr("kube-system")));
}

TEST_F(SocketTest, ResetShowsNothing) {
  api_.faults().Add({.kind = FaultKind::kReset});
  EXPECT_EQ(Ask("/version"), "");
}

TEST_F(SocketTest, ServerThatIsAwayIsNotThere) {
  api_.faults().Add({.kind = FaultKind::kAway, .lasts_for = std::chrono::seconds(5)});
  loop_.RunUntilIdle();
  EXPECT_THAT(Ask("/version"), Not(HasSubstr("200")));
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_THAT(Ask("/version"), HasSubstr("200 OK"));
}

TEST_F(SocketTest, ControlIsBesideTheApi) {
  EXPECT_THAT(Ask("/stub/counters"), HasSubstr("200 OK"));
  EXPECT_EQ(api_.counters().Sum().requests, 0U);
}

}  // namespace
}  // namespace kgpu::apiserver
