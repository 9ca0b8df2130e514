#include "src/kube/api/lister.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ListerTest : public ::testing::Test {
 protected:
  void List(ListOptions options = {}) {
    options.selection.path = "/api/v1/nodes";
    call_ = ListObjects(client_, std::move(options), [this](StatusOr<ListResult> result) {
      result_ = std::move(result);
      call_.reset();
    });
    loop_.Advance(milliseconds(0));
  }
  void Answer(std::string_view items, std::string_view token) {
    transport_.last().Answer(200,
                             fmt::format(R"({{"kind":"NodeList","metadata":{{"resourceVersion":"7",
                              "continue":"{}"}},"items":[{}]}})",
                                         token, items));
    loop_.Advance(milliseconds(0));
  }
  const std::string& Target() const { return transport_.sent().back().request.target; }

  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
  std::unique_ptr<Call> call_;
  std::optional<StatusOr<ListResult>> result_;
};

TEST_F(ListerTest, AsksForChunkAfterChunk) {
  List({.selection = {.label_selector = "a=b", .field_selector = "metadata.name=n"},
        .resource_version = "5",
        .chunk = 2});
  EXPECT_EQ(Target(),
            "/api/v1/nodes?labelSelector=a%3Db&fieldSelector=metadata.name%3Dn&limit=2"
            "&resourceVersion=5&resourceVersionMatch=NotOlderThan");
  Answer(R"({"metadata":{"name":"a"}},{"metadata":{"name":"b"}})", "t 1");
  // The version goes with the token: naming it again would be refused.
  EXPECT_EQ(Target(),
            "/api/v1/nodes?labelSelector=a%3Db&fieldSelector=metadata.name%3Dn&limit=2"
            "&continue=t%201");
  Answer(R"({"metadata":{"name":"c"}})", "");
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_EQ((*result_)->resource_version, "7");
  ASSERT_EQ((*result_)->items.size(), 3U);
  EXPECT_EQ(NameOf((*result_)->items[2]), "c");
  EXPECT_EQ(transport_.sent().size(), 2U);
}

TEST_F(ListerTest, AnEmptyListIsAList) {
  List();
  transport_.last().Answer(200, R"({"metadata":{"resourceVersion":"7"},"items":null})");
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_TRUE((*result_)->items.empty());
}

TEST_F(ListerTest, BeginsAgainWithoutChunksWhenTheRestIsForgotten) {
  List();
  Answer(R"({"metadata":{"name":"old"}})", "t1");
  transport_.last().Answer(410, R"({"kind":"Status","code":410,"reason":"Expired",
                                    "metadata":{"continue":"inconsistent"}})");
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(Target(), "/api/v1/nodes");
  Answer(R"({"metadata":{"name":"new"}})", "");
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  ASSERT_EQ((*result_)->items.size(), 1U);
  EXPECT_EQ(NameOf((*result_)->items[0]), "new");
}

TEST_F(ListerTest, TellsThatAVersionIsForgotten) {
  List({.resource_version = "5"});
  transport_.last().Refuse(410, "Expired");
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kOutOfRange));
  EXPECT_EQ(transport_.sent().size(), 1U);
}

TEST_F(ListerTest, HasALimit) {
  List({.max_objects = 2});
  Answer("{},{}", "t1");
  EXPECT_FALSE(result_.has_value());
  Answer("{}", "t2");
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kOutOfRange, HasSubstr("more than 2 objects")));
}

TEST_F(ListerTest, HasALimitOfMemory) {
  const std::string object =
      fmt::format(R"({{"metadata":{{"name":"{}"}}}})", std::string(600, 'x'));
  List({.max_bytes = 2000});
  Answer(object, "t1");
  Answer(object, "t2");
  EXPECT_FALSE(result_.has_value());
  Answer(object, "t3");
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kOutOfRange, HasSubstr("more than 2000 bytes")));
}

TEST_F(ListerTest, CountsWhatIsLeftOfTheObjects) {
  List({.max_bytes = 1000, .trim = [](json::value& object) { object = json::object(); }});
  Answer(fmt::format(R"({{"big":"{}"}})", std::string(3000, 'x')), "");
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_THAT((*result_)->items, ElementsAre(json::object()));
}

TEST_F(ListerTest, AsksNotForEverForChunksWithNothingInThem) {
  transport_.SetIsKept(false);
  transport_.SetServer([](const http::Request&, const Wire& wire) {
    wire.Answer(200, R"({"metadata":{"resourceVersion":"7","continue":"t"},"items":[]})");
  });
  List();
  loop_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kUnavailable,
                                 HasSubstr(": the server sends one empty chunk after another")));
  EXPECT_LE(transport_.count(), 1002U);
}

TEST_F(ListerTest, BeginsAgainOnce) {
  transport_.SetIsKept(false);
  transport_.SetServer([](const http::Request& request, const Wire& wire) {
    if (request.QueryValue("continue")) {
      return wire.Refuse(410, "Expired");
    }
    wire.Answer(200, R"({"metadata":{"resourceVersion":"7","continue":"t"},"items":[{}]})");
  });
  List();
  loop_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kOutOfRange));
  EXPECT_EQ(transport_.count(), 4U);
}

TEST_F(ListerTest, MayBeGivenUpBetweenChunks) {
  List();
  Answer("{}", "t1");
  call_.reset();
  EXPECT_FALSE(transport_.last().is_open());
  loop_.Advance(std::chrono::seconds(100));
  EXPECT_FALSE(result_.has_value());
}

}  // namespace
}  // namespace kgpu::kube
