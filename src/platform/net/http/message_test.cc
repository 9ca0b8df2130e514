#include "src/platform/net/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::http {
namespace {

using ::testing::HasSubstr;

Request Get(std::string target) {
  Request request;
  request.target = std::move(target);
  EXPECT_OK(SplitTarget(request));
  return request;
}

TEST(HeadersTest, FindsFieldsWithoutCase) {
  const Headers headers = {{"Accept", "a"}, {"accept", "b"}, {"Host", ""}};
  EXPECT_EQ(headers.Find("ACCEPT"), "a");
  EXPECT_EQ(headers.Find("host"), "");
  EXPECT_EQ(headers.Find("Hos"), std::nullopt);
  EXPECT_EQ(headers.Count("accept"), 2U);
}

TEST(SplitTargetTest, TakesEveryFormOfATarget) {
  struct Case {
    std::string target;
    std::string path;
    std::string query;
  };
  for (const Case& c :
       {Case{"/", "/", ""}, Case{"/a/b?c=d&e", "/a/b", "c=d&e"}, Case{"/a?b?c", "/a", "b?c"},
        Case{"/a%20b%2Fc", "/a b/c", ""}, Case{"http://h:1/a?b", "/a", "b"},
        Case{"http://h", "/", ""}, Case{"http://h?q", "/", "q"}, Case{"*", "*", ""},
        Case{"host:443", "host:443", ""}, Case{"/x://y", "/x://y", ""}}) {
    const Request request = Get(c.target);
    EXPECT_EQ(request.path, c.path) << c.target;
    EXPECT_EQ(request.query, c.query) << c.target;
  }
}

TEST(SplitTargetTest, RefusesEscapesThatAreNone) {
  for (const std::string target : {"/%", "/%1", "/%zz", "/%0x", "/%00", "/a%-1"}) {
    Request request;
    request.target = target;
    EXPECT_THAT(SplitTarget(request), StatusIs(StatusCode::kInvalidArgument, HasSubstr("hex")))
        << target;
  }
}

TEST(RequestTest, GivesValuesOfItsQuery) {
  const Request request = Get("/?a=1&b=x+y%26&empty=&flag&a=2&bad=%zz");
  EXPECT_EQ(request.QueryValue("a"), "1");
  EXPECT_EQ(request.QueryValue("b"), "x y&");
  EXPECT_EQ(request.QueryValue("empty"), "");
  EXPECT_EQ(request.QueryValue("flag"), "");
  EXPECT_EQ(request.QueryValue("bad"), std::nullopt);
  EXPECT_EQ(request.QueryValue("c"), std::nullopt);
}

TEST(ResponseTest, TellsWhatMayBeDoneInstead) {
  Request request = Get("/metrics");
  request.method = "DELETE";
  const Response response = WrongMethod(request, "GET, HEAD");
  EXPECT_EQ(response.code, 405);
  EXPECT_EQ(response.headers.Find("Allow"), "GET, HEAD");
  EXPECT_EQ(response.body, "/metrics: method DELETE not allowed: use GET, HEAD\n");
}

TEST(ResponseTest, APageOfLinksNamesItsPaths) {
  const Response response = LinksPage("kgpu: x", {"healthz", "metrics"});
  EXPECT_EQ(response.headers.Find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(response.body.find("<h1>kgpu: x</h1>"), std::string::npos);
  EXPECT_NE(response.body.find(R"(<li><a href="metrics">metrics</a></li>)"), std::string::npos);
}

TEST(ResponseTest, NamesAPathThatIsNotThereHarmlessly) {
  const Response response = UnknownPath(Get("/%1b[2J"));
  EXPECT_EQ(response.code, 404);
  EXPECT_EQ(response.body, "/\\x1b[2J: not found\n");
}

}  // namespace
}  // namespace kgpu::http
