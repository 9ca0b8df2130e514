#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"

namespace kgpu::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using WatchTest = ApiTest;

TEST_F(WatchTest, TellsEachChangeOnce) {
  const auto watch = Get("/api/v1/nodes?watch=1&resourceVersion=" + Version());
  AddNode("n1");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"b"}}})");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"b"}}})");
  Send("DELETE", "/api/v1/nodes/n1");
  EXPECT_EQ(watch->code, 200);
  EXPECT_THAT(watch->EventNames(), ElementsAre("ADDED n1", "MODIFIED n1", "DELETED n1"));
}

TEST_F(WatchTest, GoesOnFromAVersion) {
  AddNode("n1");
  const std::string version = Version();
  AddNode("n2");
  const auto watch = Get("/api/v1/nodes?watch=true&resourceVersion=" + version);
  EXPECT_THAT(watch->EventNames(), ElementsAre("ADDED n2"));
}

TEST_F(WatchTest, WithoutAVersionBeginsWithWhatThereIs) {
  AddNode("n1");
  EXPECT_THAT(Get("/api/v1/nodes?watch=1")->EventNames(), ElementsAre("ADDED n1"));
  EXPECT_THAT(Get("/api/v1/nodes?watch=1&resourceVersion=0")->EventNames(),
              ElementsAre("ADDED n1"));
}

TEST_F(WatchTest, SelectorTurnsChangesIntoComingAndGoing) {
  AddNode("n1");
  const auto watch = Get("/api/v1/nodes?watch=1&labelSelector=gpu&resourceVersion=" + Version());
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"gpu":"1"}}})");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"gpu":null}}})");
  ASSERT_THAT(watch->EventNames(), ElementsAre("ADDED n1", "DELETED n1"));
  // The state before, in the new version.
  const auto last = watch->Events().back();
  EXPECT_EQ(TextAt(last, {"object", "metadata", "labels", "gpu"}), "1");
  EXPECT_EQ(TextAt(last, {"object", "metadata", "resourceVersion"}), Version());
}

TEST_F(WatchTest, OfOneObjectHearsNothingOfOthers) {
  const auto watch =
      Get("/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn1"
          "&resourceVersion=" +
          Version());
  AddNode("n2");
  AddNode("n1");
  EXPECT_THAT(watch->EventNames(), ElementsAre("ADDED n1"));
}

TEST_F(WatchTest, FromACompactedVersionGetsAnErrorEvent) {
  const std::string version = Version();
  AddNode("n1");
  api_.Compact();
  const auto watch = Get("/api/v1/nodes?watch=1&resourceVersion=" + version);
  EXPECT_EQ(watch->code, 200);
  ASSERT_THAT(watch->EventNames(), ElementsAre("ERROR"));
  EXPECT_EQ(NumberAt(watch->Events()[0], {"object", "code"}, 0), 410);
  EXPECT_TRUE(watch->is_ended);
}

TEST_F(WatchTest, FromAVersionToComeIsRefused) {
  EXPECT_EQ(Get("/api/v1/nodes?watch=1&resourceVersion=99999")->code, 504);
}

TEST_F(WatchTest, EndsAfterItsTimeout) {
  const auto watch = Get("/api/v1/nodes?watch=1&timeoutSeconds=300");
  loop_.Advance(std::chrono::seconds(299));
  EXPECT_FALSE(watch->is_ended);
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(watch->is_ended);
  EXPECT_EQ(api_.watches(), 0U);
}

TEST_F(WatchTest, BookmarksComeEachMinuteToWhoWantsThem) {
  const auto plain = Get("/api/v1/nodes?watch=1");
  const auto marked = Get("/api/v1/nodes?watch=1&allowWatchBookmarks=true");
  loop_.Advance(std::chrono::seconds(150));
  EXPECT_THAT(plain->EventNames(), IsEmpty());
  ASSERT_THAT(marked->EventNames(), ElementsAre("BOOKMARK", "BOOKMARK"));
  EXPECT_EQ(TextAt(marked->Events()[0], {"object", "metadata", "resourceVersion"}), Version());
}

TEST_F(WatchTest, StreamedListEndsWithItsBookmark) {
  AddNode("n1");
  const auto watch =
      Get("/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
          "&resourceVersionMatch=NotOlderThan");
  ASSERT_THAT(watch->EventNames(), ElementsAre("ADDED n1", "BOOKMARK"));
  EXPECT_EQ(TextAt(watch->Events()[1],
                   {"object", "metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  EXPECT_EQ(Get("/api/v1/nodes?watch=1&sendInitialEvents=true")->code, 422);
}

TEST_F(WatchTest, ClientThatLeftIsForgotten) {
  const auto watch = Get("/api/v1/nodes?watch=1");
  watch->is_open = false;
  EXPECT_EQ(api_.watches(), 1U);
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(api_.watches(), 0U);
}

TEST_F(WatchTest, CanBeCutAndEndedFromOutside) {
  const auto cut = Get("/api/v1/nodes?watch=1");
  const auto ended = Get("/api/v1/pods?watch=1");
  api_.CutWatches("nodes");
  EXPECT_TRUE(cut->is_cut);
  EXPECT_FALSE(ended->is_cut);
  api_.EndWatches();
  EXPECT_TRUE(ended->is_ended);
}

class FewWatchesTest : public ApiTest {
 protected:
  FewWatchesTest() : ApiTest({.max_watches = 1}) {}
};

TEST_F(FewWatchesTest, PastTheLimitIs429) {
  Get("/api/v1/nodes?watch=1");
  const auto refused = Get("/api/v1/nodes?watch=1");
  EXPECT_EQ(refused->code, 429);
  EXPECT_EQ(refused->headers.Find("Retry-After"), "1");
}

class ShortHistoryTest : public ApiTest {
 protected:
  ShortHistoryTest() : ApiTest({.max_history = 10}) {}
};

TEST_F(ShortHistoryTest, OldVersionsAreForgotten) {
  const std::string version = Version();
  for (int i = 0; i < 20; ++i) {
    AddNode(fmt::format("n{}", i));
  }
  EXPECT_THAT(Get("/api/v1/nodes?watch=1&resourceVersion=" + version)->EventNames(),
              ElementsAre("ERROR"));
}

}  // namespace
}  // namespace kgpu::apiserver
