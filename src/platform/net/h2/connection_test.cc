#include "src/platform/net/h2/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <optional>
#include <vector>

#include "src/platform/net/h2/test_client.h"
#include "testing/status_matchers.h"

namespace kgpu::h2 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class ConnectionTest : public ::testing::Test {
 protected:
  void Open(const Limits& limits = {}) {
    connection_ = Connection::Create(
                      limits, {.on_request =
                                   [this](StreamId stream, http::Request request) {
                                     requests_.emplace_back(stream, std::move(request));
                                   },
                               .on_reset = [this](StreamId stream) { resets_.push_back(stream); },
                               .judge = judge_})
                      .value();
  }
  // Passes bytes both ways until neither has more to say.
  Status Talk() {
    Status status;
    for (int i = 0; i < 1000 && status.ok(); ++i) {
      const std::string bytes = client_.Send();
      status = bytes.empty() ? OkStatus() : connection_->Receive(bytes, now_);
      const std::string output(connection_->Output());
      connection_->Consume(output.size());
      client_.Receive(output);
      if (bytes.empty() && output.empty()) {
        break;
      }
    }
    return status;
  }
  Status ReceiveRaw(std::string_view bytes) {
    const Status status = connection_->Receive(bytes, now_);
    connection_->Consume(connection_->Output().size());
    return status;
  }

  SteadyTime now_{};
  TestClient client_;
  std::unique_ptr<Connection> connection_;
  std::vector<std::pair<StreamId, http::Request>> requests_;
  std::vector<StreamId> resets_;
  Judge judge_;
};

TEST_F(ConnectionTest, JoinsThePartsOfACookie) {
  Open();
  client_.Request("/", "", {{"cookie", "a=1"}, {"x-a", "1"}, {"cookie", "b=2"}, {"x-a", "2"}});
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  const http::Headers& headers = requests_[0].second.headers;
  EXPECT_EQ(headers.Count("cookie"), 1U);
  EXPECT_EQ(headers.Find("cookie"), "a=1; b=2");
  EXPECT_EQ(headers.Count("x-a"), 2U);
}

TEST_F(ConnectionTest, RefusesARequestBeforeItsBodyComes) {
  judge_ = [](const http::Request& request) -> std::optional<Answer> {
    if (request.headers.Find("authorization")) {
      return std::nullopt;
    }
    return Answer{.response = {.code = 401, .body = "no token"}, .trailers = {{"x-t", "1"}}};
  };
  Open();
  const StreamId refused = client_.Request("/a", std::string(100'000, 'x'));
  ASSERT_OK(Talk());
  EXPECT_THAT(requests_, IsEmpty());
  EXPECT_EQ(client_.answers[refused].fields[":status"], "401");
  EXPECT_EQ(client_.answers[refused].fields["x-t"], "1")
      << "trailers precede the end of the stream";
  EXPECT_EQ(client_.answers[refused].body, "no token");
  EXPECT_EQ(client_.answers[refused].closed, uint32_t{NGHTTP2_NO_ERROR});
  client_.Request("/b", "body", {{"authorization", "Bearer t"}});
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].second.body, "body");
}

TEST_F(ConnectionTest, RefusesABodyByItsLengthBeforeItComes) {
  Open({.body = 1000});
  const StreamId large =
      client_.Request("/a", std::string(1001, 'x'), {{"content-length", "1001"}});
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[large].fields[":status"], "413");
  EXPECT_THAT(requests_, IsEmpty());
}

// A field as HPACK writes it without a table. Source: RFC 7541, 6.2.2.
std::string Literal(std::string_view name, std::string_view value) {
  std::string text(1, '\0');
  for (const std::string_view part : {name, value}) {
    text += static_cast<char>(part.size());
    text += part;
  }
  return text;
}

// A head without a body.
constexpr uint8_t kWhole = NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM;

TEST_F(ConnectionTest, MalformedRequestsReachNobody) {
  using namespace std::string_view_literals;
  const std::string plain("\x82\x86\x84\x41\x01h");  // GET http / h
  const std::string post("\x83\x86\x84\x41\x01h");
  const auto headers = [](const std::string& block, uint8_t flags = kWhole, uint32_t stream = 1) {
    return FrameOf(NGHTTP2_HEADERS, flags, stream, block);
  };
  const std::vector<std::pair<std::string, std::string>> inputs{
      {"upper-case name", headers(plain + Literal("X-Up", "1"))},
      {"connection", headers(plain + Literal("connection", "close"))},
      {"transfer-encoding", headers(plain + Literal("transfer-encoding", "chunked"))},
      {"line end in a value", headers(plain + Literal("x", "a\r\nevil: 1"))},
      {"NUL in a value", headers(plain + Literal("x", "a\0b"sv))},
      {"colon in a name", headers(plain + Literal("x:y", "1"))},
      {"pseudo-header after others", headers(plain + Literal("x", "1") + Literal(":path", "/x"))},
      {"two paths", headers(plain + Literal(":path", "/x"))},
      {"no path", headers("\x82\x86\x41\x01h")},
      {"method with a blank", headers(Literal(":method", "GET /x HTTP/1.1") + "\x86\x84\x41\x01h")},
      {"line end in the path", headers("\x82\x86" + Literal(":path", "/x\r\nX: y") + "\x41\x01h")},
      {"another host", headers(plain + Literal("host", "evil.example"))},
      {"a host that is none", headers("\x82\x86\x84" + Literal(":authority", "a b/c"))},
      {"length without a body", headers(post + Literal("content-length", "10"))},
      {"body shorter than its length",
       headers(post + Literal("content-length", "10"), NGHTTP2_FLAG_END_HEADERS) +
           FrameOf(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "hello")},
      {"body longer than its length",
       headers(post + Literal("content-length", "3"), NGHTTP2_FLAG_END_HEADERS) +
           FrameOf(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "hello")},
      {"bad index", headers("\xff\xff\xff\x0f")},
      {"table of 4 GB", headers("\x3f\xe1\xff\xff\xff\x0f" + plain)},
      {"even stream", headers(plain, kWhole, 2)},
      {"stream 0", headers(plain, kWhole, 0)},
      {"data on an idle stream", FrameOf(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 5, "x")},
      {"frame over the limit", FrameOf(NGHTTP2_DATA, 0, 1, std::string(20'000, 'x'))},
      {"window over the limit", FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff")},
      {"continuation of nothing", FrameOf(NGHTTP2_CONTINUATION, 0, 1, "")},
  };
  for (const auto& [name, frames] : inputs) {
    Open();
    (void)ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") + frames);
    EXPECT_THAT(requests_, IsEmpty()) << name;
  }
  Open();
  ASSERT_OK(
      ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") + headers(plain)));
  EXPECT_EQ(requests_.size(), 1U) << "the plain one does";
}

TEST_F(ConnectionTest, TakesOneHostThatComesTwice) {
  Open();
  client_.Request("/a", "", {{"host", "HOST"}});
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].second.headers.Count("host"), 1U);
}

TEST_F(ConnectionTest, TakesARequestAndResponds) {
  Open();
  const StreamId stream = client_.Request("/a%20b?c=d", "body", {{"x-a", "1"}});
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  const http::Request& request = requests_[0].second;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.query, "c=d");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.headers.Find("host"), "host");
  EXPECT_EQ(request.headers.Find("x-a"), "1");
  EXPECT_TRUE(connection_->IsOpen(stream));
  connection_->Respond(
      stream, {.code = 201, .headers = {{"X-B", "2"}, {"Connection", "close"}}, .body = "answer"},
      {{"Trailer-C", "3"}});
  ASSERT_OK(Talk());
  const TestClient::Answer& answer = client_.answers[stream];
  EXPECT_THAT(answer.fields,
              ElementsAre(Pair(":status", "201"), Pair("trailer-c", "3"), Pair("x-b", "2")));
  EXPECT_EQ(answer.body, "answer");
  EXPECT_EQ(answer.closed, 0U);
  EXPECT_FALSE(connection_->IsOpen(stream));
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, TellsHowFarItsRequestsAre) {
  Open();
  ASSERT_OK(
      ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
                 FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x86\x84\x41\x01h")));
  EXPECT_EQ(connection_->streams(), 1U);
  EXPECT_FALSE(connection_->is_handling()) << "the request is incomplete";
  ASSERT_OK(ReceiveRaw(FrameOf(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "x")));
  EXPECT_TRUE(connection_->is_handling());
  EXPECT_FALSE(connection_->is_answering());
  connection_->Respond(1, {.body = std::string(size_t{100} << 10, 'x')});
  EXPECT_FALSE(connection_->is_handling());
  connection_->Consume(connection_->Output().size());
  EXPECT_TRUE(connection_->is_answering()) << "more than the client's window";
  const std::string window("\0\x0f\0\0", 4);
  ASSERT_OK(ReceiveRaw(FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 0, window) +
                       FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 1, window)));
  EXPECT_FALSE(connection_->is_answering());
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, StreamsAResponse) {
  Open();
  const StreamId stream = client_.Request("/");
  ASSERT_OK(Talk());
  connection_->Begin(stream, {.code = 200});
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].fields.at(":status"), "200");
  EXPECT_TRUE(connection_->Write(stream, "one "));
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].body, "one ");
  EXPECT_TRUE(connection_->Write(stream, "two"));
  connection_->End(stream);
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].body, "one two");
  EXPECT_EQ(client_.answers[stream].closed, 0U);
  EXPECT_FALSE(connection_->Write(stream, "three"));
}

TEST_F(ConnectionTest, SendsLargeBodiesBothWays) {
  Open();
  const std::string large(size_t{3} << 20, 'x');
  const StreamId stream = client_.Request("/", large);
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_TRUE(requests_[0].second.body == large);
  connection_->Respond(stream, {.body = large});
  EXPECT_LE(connection_->Output().size(), size_t{300} << 10) << "the output is bounded";
  EXPECT_GT(connection_->Pending(stream), 0U);
  ASSERT_OK(Talk());
  // The client's window is opened by nghttp2 as it takes the bytes.
  EXPECT_TRUE(client_.answers[stream].body == large);
}

TEST_F(ConnectionTest, TellsOfCallsThatThePeerGivesUp) {
  Open();
  const StreamId stream = client_.Request("/");
  ASSERT_OK(Talk());
  client_.Cancel(stream);
  ASSERT_OK(Talk());
  EXPECT_THAT(resets_, ElementsAre(stream));
  EXPECT_FALSE(connection_->Write(stream, "x"));
  connection_->Respond(stream, {});
}

TEST_F(ConnectionTest, ResetsARequestThatIsTooLarge) {
  Open({.body = 10});
  const http::Headers grpc{{"content-type", "application/grpc"}};
  const StreamId call = client_.Request("/", "01234567890", grpc);
  const StreamId large = client_.Request("/", "01234567890");
  const StreamId small = client_.Request("/", "0123456789");
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[call].closed, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_EQ(client_.answers[large].fields[":status"], "413");
  EXPECT_EQ(client_.answers[large].body, "the body is larger than 10 bytes\n");
  EXPECT_EQ(client_.answers[large].closed, uint32_t{NGHTTP2_NO_ERROR});
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].first, small);
  EXPECT_THAT(resets_, IsEmpty());
}

TEST_F(ConnectionTest, EndsAnUploadThatIsTooLarge) {
  Open({.body = 10});
  const StreamId stream = client_.Request("/", std::string(size_t{8} << 20, 'x'));
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].fields[":status"], "413");
  EXPECT_EQ(client_.answers[stream].closed, uint32_t{NGHTTP2_NO_ERROR}) << "nothing more may come";
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, SendsNoBodyWhereNoneMayBe) {
  Open();
  const StreamId head = client_.Request("/", "", {}, "HEAD");
  const StreamId head_in_pieces = client_.Request("/", "", {}, "HEAD");
  const StreamId nothing = client_.Request("/");
  ASSERT_OK(Talk());
  connection_->Respond(head, {.body = "12345"});
  connection_->Begin(head_in_pieces, {.body = "12345"});
  EXPECT_FALSE(connection_->Write(head_in_pieces, "more"));
  connection_->End(head_in_pieces);
  connection_->Respond(nothing, {.code = 204, .body = "12345"});
  ASSERT_OK(Talk());
  for (const StreamId stream : {head, head_in_pieces, nothing}) {
    EXPECT_EQ(client_.answers[stream].closed, uint32_t{NGHTTP2_NO_ERROR}) << stream;
    EXPECT_EQ(client_.answers[stream].body, "") << stream;
  }
  EXPECT_EQ(client_.answers[head].fields["content-length"], "5");
  EXPECT_EQ(client_.answers[nothing].fields.count("content-length"), 0U);
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, TellsTheLengthOfAWholeBody) {
  Open();
  const StreamId stream = client_.Request("/");
  const StreamId given = client_.Request("/");
  ASSERT_OK(Talk());
  connection_->Respond(stream,
                       {.shared_front = std::make_shared<std::string>("123"), .body = "45"});
  connection_->Respond(given, {.headers = {{"Content-Length", "2"}}, .body = "45"});
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].fields["content-length"], "5");
  EXPECT_EQ(client_.answers[stream].body, "12345");
  EXPECT_EQ(client_.answers[given].body, "45");
  EXPECT_EQ(client_.answers[given].closed, uint32_t{NGHTTP2_NO_ERROR});
}

TEST_F(ConnectionTest, LimitsTheMemoryOfIncompleteRequests) {
  Open({.body = 1000, .bodies = 15});
  const StreamId stream = client_.Request("/", std::string(16, 'x'));
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].fields[":status"], "503");
  const StreamId next = client_.Request("/", std::string(15, 'x'));
  ASSERT_OK(Talk());
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].first, next);
}

TEST_F(ConnectionTest, LimitsAHeaderAfterDecompression) {
  Open({.header = 1000});
  http::Headers headers;
  for (int i = 0; i < 20; ++i) {
    headers.Add("a", std::string(50, 'x'));  // one byte each on the wire after the first
  }
  const StreamId stream = client_.Request("/", "", headers);
  ASSERT_OK(Talk());
  EXPECT_TRUE(client_.answers[stream].closed.value_or(0) != 0);
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(ConnectionTest, RefusesWhatIsNotHttp2) {
  Open();
  EXPECT_THAT(ReceiveRaw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(ConnectionTest, EndsConnectionsThatFloodWithPings) {
  Open();
  ASSERT_OK(ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "")));
  Status status;
  int pings = 0;
  for (; pings < 10'000 && status.ok(); ++pings) {
    status = ReceiveRaw(FrameOf(NGHTTP2_PING, 0, 0, "12345678"));
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kOutOfRange));
  EXPECT_LT(pings, 600);
  EXPECT_TRUE(connection_->is_finished());
}

TEST_F(ConnectionTest, KeepsClientsThatPingNowAndThen) {
  Open();
  ASSERT_OK(ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "")));
  for (int i = 0; i < 10'000; ++i) {
    now_ += std::chrono::milliseconds(100);
    ASSERT_OK(ReceiveRaw(FrameOf(NGHTTP2_PING, 0, 0, "12345678")));
  }
}

TEST_F(ConnectionTest, EndsConnectionsThatResetTheirStreams) {
  Open();
  Status status;
  int calls = 0;
  for (; calls < 10'000 && status.ok(); ++calls) {
    const StreamId stream = client_.Request("/");
    std::string bytes = client_.Send();
    bytes +=
        FrameOf(NGHTTP2_RST_STREAM, 0, static_cast<uint32_t>(stream), std::string("\0\0\0\x08", 4));
    status = ReceiveRaw(bytes);
    client_.Cancel(stream);
  }
  EXPECT_FALSE(status.ok());
  EXPECT_LT(calls, 1000);
}

TEST_F(ConnectionTest, EndsConnectionsThatResetStreamsBeforeTheirEnd) {
  Open();
  ASSERT_OK(ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "")));
  Status status;
  uint32_t stream = 1;
  for (; stream < 10'000 && status.ok() && !connection_->is_finished(); stream += 2) {
    status = ReceiveRaw(
        FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, "\x83\x86\x84\x41\x01h") +
        FrameOf(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x08", 4)));
  }
  EXPECT_LT(stream, 1000U) << status;
}

TEST_F(ConnectionTest, EndsConnectionsThatContinueAHeaderForEver) {
  Open();
  ASSERT_OK(ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
                       FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "\x83")));
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = ReceiveRaw(FrameOf(NGHTTP2_CONTINUATION, 0, 1, ""));
  }
  EXPECT_FALSE(status.ok());
}

TEST_F(ConnectionTest, AllowsOnlySoManyStreams) {
  Open({.streams = 2});
  ASSERT_OK(Talk());  // the client learns of the limit
  for (int i = 0; i < 5; ++i) {
    client_.Request("/");
  }
  ASSERT_OK(Talk());
  EXPECT_EQ(requests_.size(), 2U) << "the client keeps the others back";
  EXPECT_LE(connection_->streams(), 2U);
}

TEST_F(ConnectionTest, ResetsRequestsThatDoNotComeToAnEnd) {
  Open();
  ASSERT_OK(
      ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
                 FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x86\x84\x41\x01h")));
  EXPECT_EQ(connection_->streams(), 1U);
  connection_->ResetOlderThan(now_ + std::chrono::seconds(1));
  (void)connection_->Output();
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, ResetsResponsesThatNobodyTakes) {
  Open();
  ASSERT_OK(ReceiveRaw(std::string(kPreface) + FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
                       FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
                               1, "\x83\x86\x84\x41\x01h")));
  connection_->Respond(1, {.body = std::string(size_t{200} << 10, 'x')});
  const auto wait = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += std::chrono::seconds(1);
      connection_->ResetStuck(now_, std::chrono::seconds(10));
      connection_->Consume(connection_->Output().size());
    }
  };
  wait(10);
  EXPECT_EQ(connection_->streams(), 1U);
  // One byte more, and it has as long again.
  const std::string window("\0\0\0\1", 4);
  ASSERT_OK(ReceiveRaw(FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 0, window) +
                       FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 1, window)));
  wait(10);
  EXPECT_EQ(connection_->streams(), 1U);
  wait(1);
  EXPECT_EQ(connection_->streams(), 0U);
}

TEST_F(ConnectionTest, AHandlerMayTakeItsTime) {
  Open();
  const StreamId stream = client_.Request("/");
  ASSERT_OK(Talk());
  connection_->Begin(stream, {.body = "first"});
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(Talk());
    now_ += std::chrono::seconds(1);
    connection_->ResetStuck(now_, std::chrono::seconds(10));
  }
  EXPECT_TRUE(connection_->IsOpen(stream)) << "nothing waits for the client";
}

TEST_F(ConnectionTest, FinishesStreamsAfterAShutdown) {
  Open();
  const StreamId stream = client_.Request("/");
  ASSERT_OK(Talk());
  connection_->Shutdown();
  connection_->Respond(stream, {.body = "last"});
  ASSERT_OK(Talk());
  EXPECT_EQ(client_.answers[stream].body, "last");
  EXPECT_TRUE(connection_->is_finished());
}

}  // namespace
}  // namespace kgpu::h2
