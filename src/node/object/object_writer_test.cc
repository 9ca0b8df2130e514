#include "src/node/object/object_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A ConfigMap stands for any namespaced object: the stub knows it without a definition.
constexpr char kPath[] = "/api/v1/namespaces/default/configmaps/n1";

class ObjectWriterTest : public ::testing::Test {
 protected:
  json::value Object(std::string_view text) const {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", "n1"}, {"namespace", "default"}}},
            {"data", {{"text", text}}}};
  }
  std::string Stored() const {
    const apiserver::StoredPtr stored = api_.Find(kPath);
    return stored == nullptr ? "(none)"
                             : stored->object().at("data").at("text").as_string().c_str();
  }
  uint64_t Writes() {
    return api_.counters().Sum("apply").requests + api_.counters().Sum("delete").requests;
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  Random random_{7};
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  ObjectWriter writer_{loop_, client_, random_, {.path = kPath}};
};

TEST_F(ObjectWriterTest, WritesWhatIsWantedOnce) {
  writer_.SetWanted(Object("a"));
  loop_.Advance(seconds(1));
  EXPECT_EQ(Stored(), "a");
  api_.counters().Reset();
  writer_.SetWanted(Object("a"));
  loop_.Advance(hours(24));
  EXPECT_EQ(Writes(), 0U);
  EXPECT_LE(api_.counters().Sum().requests, 24U);
}

TEST_F(ObjectWriterTest, AnotherRunWritesNothingWhenItIsEqual) {
  writer_.SetWanted(Object("a"));
  loop_.Advance(seconds(1));
  api_.counters().Reset();
  ObjectWriter other(loop_, client_, random_, {.path = kPath});
  other.SetWanted(Object("a"));
  loop_.Advance(seconds(1));
  EXPECT_EQ(Writes(), 0U);
  EXPECT_TRUE(other.state().is_settled);
}

TEST_F(ObjectWriterTest, ChangesGoIntoOneWrite) {
  for (int i = 0; i < 20; ++i) {
    writer_.SetWanted(Object(std::to_string(i)));
    loop_.Advance(std::chrono::milliseconds(1));
  }
  loop_.Advance(seconds(1));
  EXPECT_EQ(Stored(), "19");
  EXPECT_LE(Writes(), 2U);
}

TEST_F(ObjectWriterTest, TakesAwayOnlyWhatIsOurs) {
  writer_.SetWanted(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Writes(), 0U);
  const auto made = api_.Do("POST", "/api/v1/namespaces/default/configmaps", Object("theirs"));
  ASSERT_TRUE(made.ok());
  ObjectWriter other(loop_, client_, random_, {.path = kPath});
  other.SetWanted(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Stored(), "theirs");
  other.SetWanted(Object("ours"));
  loop_.Advance(seconds(1));
  other.SetWanted(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Stored(), "(none)");
}

TEST_F(ObjectWriterTest, MakesAgainWhatSomebodyDeleted) {
  writer_.SetWanted(Object("a"));
  loop_.Advance(seconds(1));
  ASSERT_TRUE(api_.Do("DELETE", kPath, nullptr).ok());
  loop_.Advance(hours(2));
  EXPECT_EQ(Stored(), "a");
}

TEST_F(ObjectWriterTest, AKindThatIsNotThereIsNamedAndAskedForRarely) {
  ObjectWriter writer(loop_, client_, random_,
                      {.path = "/apis/none.example/v1/namespaces/default/things/n1"});
  json::value object = Object("a");
  writer.SetWanted(object);
  loop_.Advance(hours(1));
  EXPECT_THAT(writer.state().problem, HasSubstr("check that its kind"));
  EXPECT_LE(api_.counters().Sum().requests, 120U);
}

}  // namespace
}  // namespace kgpu::node
