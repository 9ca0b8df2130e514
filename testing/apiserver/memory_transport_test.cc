#include "testing/apiserver/memory_transport.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

using ::testing::HasSubstr;

struct Client {
  int code = 0;
  std::string body;
  int pieces = 0;
  bool is_ended = false;
  Status status;
  std::unique_ptr<kube::Exchange> exchange;
};

class MemoryTransportTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Start(std::string_view target) {
    auto client = std::make_unique<Client>();
    http::Request request;
    request.target = target;
    client->exchange = transport_.Start(
        request, {.on_head = [c = client.get()](int code, const http::Headers&) { c->code = code; },
                  .on_data =
                      [c = client.get()](std::string_view bytes) {
                        c->body.append(bytes);
                        ++c->pieces;
                      },
                  .on_end =
                      [c = client.get()](Status status) {
                        c->is_ended = true;
                        c->status = std::move(status);
                        c->exchange = nullptr;
                      }});
    return client;
  }

  FakeLoop loop_;
  Api api_{loop_};
  MemoryTransport transport_{loop_, api_, {.latency = std::chrono::milliseconds(5)}};
};

TEST_F(MemoryTransportTest, BringsAnAnswerAfterItsTime) {
  const auto client = Start("/api/v1/namespaces/default");
  EXPECT_EQ(client->code, 0);
  loop_.Advance(std::chrono::milliseconds(9));
  EXPECT_EQ(client->code, 0);
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(client->code, 200);
  EXPECT_TRUE(client->is_ended);
  EXPECT_OK(client->status);
  EXPECT_THAT(client->body, HasSubstr("\"kind\":\"Namespace\""));
}

TEST_F(MemoryTransportTest, ServerThatIsAwayRefuses) {
  api_.faults().Add({.kind = FaultKind::kAway, .lasts_for = std::chrono::seconds(1000)});
  const auto client = Start("/api/v1/nodes");
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(client->code, 0);
  EXPECT_THAT(client->status, StatusIs(StatusCode::kUnavailable, HasSubstr("refused")));
  loop_.Advance(std::chrono::seconds(999));
  const auto later = Start("/api/v1/nodes");
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(later->code, 200);
}

TEST_F(MemoryTransportTest, GoingAwayBreaksWatches) {
  const auto client = Start("/api/v1/nodes?watch=1");
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(client->code, 200);
  api_.faults().Add({.kind = FaultKind::kAway});
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(client->status, StatusIs(StatusCode::kUnavailable));
}

TEST_F(MemoryTransportTest, GivenUpExchangeIsNotCalled) {
  const auto client = Start("/api/v1/nodes?watch=1");
  loop_.Advance(std::chrono::milliseconds(7));
  client->exchange = nullptr;
  loop_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(client->code, 0);
  EXPECT_EQ(api_.watches(), 0U);
}

TEST_F(MemoryTransportTest, WatcherThatDoesNotReadIsCutOff) {
  MemoryTransport narrow(loop_, api_, {.max_unread = 2000});
  http::Request request;
  request.target = "/api/v1/nodes?watch=1";
  Status status;
  const auto exchange =
      narrow.Start(request, {.on_end = [&status](Status end) { status = std::move(end); }});
  loop_.RunUntilIdle();
  EXPECT_EQ(api_.watches(), 1U);
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(api_.Do("POST", "/api/v1/nodes", {{"metadata", {{"name", fmt::format("n{}", i)}}}}));
  }
  EXPECT_EQ(api_.watches(), 0U);
  loop_.RunUntilIdle();
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable));
}

TEST_F(MemoryTransportTest, TrickleComesInDrops) {
  api_.faults().Add({.kind = FaultKind::kTrickle,
                     .delay = std::chrono::milliseconds(100),
                     .bytes = 10,
                     .count = 1});
  const auto client = Start("/version");
  loop_.Advance(std::chrono::milliseconds(500));
  EXPECT_FALSE(client->is_ended);
  EXPECT_EQ(client->body.size(), 50U);
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_TRUE(client->is_ended);
}

}  // namespace
}  // namespace kgpu::apiserver
