#include "src/functions/queue/callback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "src/platform/net/http/server.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;

TEST(CallbackUrlTest, ReadsHostPortAndTarget) {
  const auto is = [](std::string_view text, const CallbackUrl& url) {
    const StatusOr<CallbackUrl> parsed = ParseCallbackUrl(text);
    EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_TRUE(parsed.ok() && *parsed == url) << text;
  };
  is("http://example.com", {.host = "example.com", .port = 80, .target = "/"});
  is("http://a-b.c:8080/x/y?z=1#here", {.host = "a-b.c", .port = 8080, .target = "/x/y?z=1"});
  is("http://10.0.0.1?q", {.host = "10.0.0.1", .port = 80, .target = "/?q"});
  is("http://[::1]:81/", {.host = "::1", .port = 81, .target = "/"});
  is("HTTP://a", {.host = "a", .port = 80, .target = "/"});
  is("https://a/x", {.is_https = true, .host = "a", .port = 443, .target = "/x"});
  is("HttpS://a:8443", {.is_https = true, .host = "a", .port = 8443, .target = "/"});
  is("http://[fe80::1]", {.host = "fe80::1", .port = 80, .target = "/"});
}

TEST(CallbackUrlTest, RefusesOthersAndNamesThem) {
  for (const char* text :
       {"", "ftp://a", "http://", "http:///x", "http://a:0", "http://a:65536",
        "http://a:", "http://a:x", "http://user@a", "http://a b", "http://a/b\r\nX: y",
        "http://[::1", "http://[::1]x", "http://[]", "http://a:1:2", "https://", "https:/a"}) {
    const StatusOr<CallbackUrl> parsed = ParseCallbackUrl(text);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("http://host:port/path")) << text;
  }
}

struct CallbackRun {
  // Answers with `codes`, one after the other, then with the last.
  explicit CallbackRun(std::vector<int> codes) {
    server.emplace(loop, [this, codes = std::move(codes)](const http::Request& request,
                                                          const http::Responder& responder) {
      const size_t last = codes.size() - 1;
      responder.Send(http::TextResponse(codes[std::min(got.size(), last)], ""));
      got.push_back(request);
    });
    const auto address = server->Listen("127.0.0.1:0");
    EXPECT_TRUE(address.ok());
    const StatusOr<CallbackUrl> url = ParseCallbackUrl("http://" + *address + "/done?x=1");
    EXPECT_TRUE(url.ok());
    callback = Callback::Start(loop, *url, nullptr, {{"X-Function-Status", "200"}}, "answer",
                               [this](const Status& status) { ended = status; });
  }

  bool Until(const std::function<bool()>& holds) {
    for (int i = 0; i < 2'000 && !holds(); ++i) {
      loop.RunUntilIdle();
      loop.WaitForDescriptor(std::chrono::milliseconds(1));
      loop.Advance(std::chrono::milliseconds(10));
    }
    return holds();
  }

  FakeLoop loop;
  std::vector<http::Request> got;
  std::optional<http::Server> server;
  std::optional<Status> ended;
  std::unique_ptr<Callback> callback;
};

TEST(CallbackTest, PostsTheAnswer) {
  CallbackRun run({204});
  ASSERT_TRUE(run.Until([&] { return run.ended.has_value(); }));
  EXPECT_OK(*run.ended);
  ASSERT_EQ(run.got.size(), 1U);
  EXPECT_EQ(run.got[0].method, "POST");
  EXPECT_EQ(run.got[0].target, "/done?x=1");
  EXPECT_EQ(run.got[0].body, "answer");
  EXPECT_EQ(run.got[0].headers.Find("X-Function-Status"), "200");
  EXPECT_EQ(run.got[0].headers.Count("Host"), 1U);
}

// Its certificate is checked against the authorities, and against its name.
TEST(CallbackTest, PostsByHttpsToAServerThatItTrusts) {
  FakeLoop loop;
  const TestAuthority authority;
  const TestCertificate identity = authority.Issue({.names = {"127.0.0.1"}});
  const auto context = tls::Context::ForServer({.certificate_pem = identity.certificate_pem,
                                                .key_pem = identity.key_pem})
                           .value();
  std::vector<http::Request> got;
  http::Server server(loop, [&](const http::Request& request, const http::Responder& responder) {
    got.push_back(request);
    responder.Send(http::TextResponse(200, ""));
  });
  const std::string address = server.ListenTls("127.0.0.1:0", [&] { return context; }).value();
  const CallbackUrl url = ParseCallbackUrl("https://" + address + "/done").value();
  const auto ended_with = [&](const std::string& authorities) {
    std::optional<Status> ended;
    const auto callback =
        Callback::Start(loop, url, tls::Context::ForClient({.ca_pem = authorities}).value(), {},
                        "answer", [&](const Status& status) { ended = status; });
    for (int i = 0; i < 2'000 && !ended; ++i) {
      loop.RunUntilIdle();
      loop.WaitForDescriptor(std::chrono::milliseconds(1));
      loop.Advance(std::chrono::milliseconds(10));
    }
    return ended.value_or(Internal("no end"));
  };
  EXPECT_OK(ended_with(authority.certificate_pem()));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].has_tls);
  EXPECT_EQ(got[0].body, "answer");
  EXPECT_FALSE(ended_with(TestAuthority().certificate_pem()).ok());
  EXPECT_EQ(got.size(), 1U);
}

TEST(CallbackTest, TriesThreeTimes) {
  CallbackRun run({500, 503, 200});
  ASSERT_TRUE(run.Until([&] { return run.ended.has_value(); }));
  EXPECT_OK(*run.ended);
  EXPECT_EQ(run.got.size(), 3U);
}

TEST(CallbackTest, GivesUpAndNamesTheHost) {
  CallbackRun run({500});
  ASSERT_TRUE(run.Until([&] { return run.ended.has_value(); }));
  EXPECT_THAT(Message(*run.ended), HasSubstr("callback 127.0.0.1:"));
  EXPECT_THAT(Message(*run.ended), HasSubstr("answered with code 500"));
  EXPECT_EQ(run.got.size(), 3U);
}

}  // namespace
}  // namespace kgpu::functions
