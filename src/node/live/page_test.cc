#include "src/node/live/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace kgpu::live {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::optional<http::Response> Get(const std::string& path, const std::string& method = "GET") {
  return AnswerPage({.method = method, .path = path});
}

TEST(PageTest, EachFileThatThePageNamesIsThere) {
  const auto index = Get("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->headers.Find("Content-Type"), "text/html; charset=utf-8");
  const std::regex link(R"((?:src|href)="(page/[a-z.]+)\")");
  std::set<std::string> named = {"page/index.html"};
  for (std::sregex_iterator at(index->body.begin(), index->body.end(), link), end; at != end;
       ++at) {
    named.insert((*at)[1]);
    const auto file = Get("/" + std::string((*at)[1]));
    ASSERT_TRUE(file) << (*at)[1];
    EXPECT_THAT(file->body, Not(IsEmpty()));
    EXPECT_THAT(std::string(*file->headers.Find("Content-Security-Policy")),
                HasSubstr("default-src 'self'"));
  }
  EXPECT_EQ(named.size(), PageFiles().size()) << "a file that nobody loads";
}

TEST(PageTest, OtherRequestsAreForOthers) {
  for (const char* path : {"/metrics", "/page/", "/page/none.js", "/page/../x", "/page", ""}) {
    EXPECT_FALSE(Get(path)) << path;
  }
  EXPECT_FALSE(Get("/", "POST"));
}

TEST(PageTest, ItIsSmall) {
  size_t packed = 0;
  for (const EmbeddedFile& file : PageFiles()) {
    const auto answer = AnswerPage(
        {.path = "/page/" + std::string(file.path), .headers = {{"Accept-Encoding", "gzip, br"}}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->headers.Find("Content-Encoding"), "gzip");
    packed += answer->body.size();
  }
  EXPECT_LT(packed, 150'000U);
}

// Each language has each text.
TEST(PageTest, NoTextIsMissingInALanguage) {
  const auto texts = Get("/page/texts.js");
  ASSERT_TRUE(texts);
  const std::regex start(R"(\n  (en|ko|zh|ja): \{\n([^}]*)\n  \})");
  const std::regex key(R"(([a-zA-Z]+): ')");
  std::set<std::string> all;
  int languages = 0;
  for (std::sregex_iterator at(texts->body.begin(), texts->body.end(), start), end; at != end;
       ++at, ++languages) {
    const std::string body = (*at)[2];
    std::set<std::string> keys;
    for (std::sregex_iterator each(body.begin(), body.end(), key); each != end; ++each) {
      keys.insert((*each)[1]);
    }
    all = all.empty() ? keys : all;
    EXPECT_EQ(keys, all) << (*at)[1];
  }
  EXPECT_EQ(languages, 4);
  // And each that is used exists.
  const std::regex use(R"(\bt\('([a-zA-Z]+)'\))");
  for (const EmbeddedFile& file : PageFiles()) {
    const std::string text(file.text);
    for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at) {
      EXPECT_TRUE(all.contains((*at)[1])) << file.path << " uses " << (*at)[1];
    }
  }
}

}  // namespace
}  // namespace kgpu::live
