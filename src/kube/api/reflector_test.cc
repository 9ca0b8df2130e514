#include "src/kube/api/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ServedObject(std::string_view name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}","uid":"u-{}",
                          "managedFields":[{{"manager":"x"}}]}}}})",
                     name, version, name);
}

std::string Event(std::string_view type, std::string_view name, int version) {
  std::string object = ServedObject(name, version);
  std::erase(object, '\n');
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string List(int version, const std::vector<std::string>& objects) {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version,
                     fmt::join(objects, ","));
}

class ReflectorTest : public ::testing::Test {
 protected:
  void Begin(ReflectorOptions options = {}) {
    options.selection.path = "/api/v1/nodes";
    reflector_ = std::make_unique<Reflector>(
        loop_, client_, random_, std::move(options),
        ReflectorHandlers{
            .on_changed =
                [this](const ObjectPtr& object) {
                  seen_.push_back(fmt::format("+{}@{}", NameOf(*object), VersionOf(*object)));
                  if (NameOf(*object) == "poison") {
                    reflector_.reset();
                  }
                },
            .on_gone =
                [this](const ObjectPtr& object) {
                  seen_.push_back(fmt::format("-{}", NameOf(*object)));
                },
            .on_synced = [this] { seen_.emplace_back("synced"); },
            .on_watching = [this] { ++watches_; },
            .on_trouble = [this](const Status& status) { troubles_.push_back(status); }});
    Pass(milliseconds(0));
  }
  void Pass(std::chrono::nanoseconds time) { loop_.Advance(time); }
  void Answer(std::string_view body) {
    transport_.last().Answer(200, body);
    Pass(milliseconds(0));
  }
  void Send(std::string_view bytes) { transport_.last().Data(bytes); }
  void BeginWatch() { transport_.last().Head(200); }
  std::vector<std::string> Seen() { return std::exchange(seen_, {}); }
  const std::string& Target() const { return transport_.sent().back().request.target; }
  std::string Query(std::string_view key) const {
    return transport_.sent().back().request.QueryValue(key).value_or("none");
  }
  size_t Requests() const { return transport_.sent().size(); }

  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
  std::vector<std::string> seen_;
  std::vector<Status> troubles_;
  int watches_ = 0;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, TellsEachTimeThatAWatchHasBegun) {
  Begin();
  Answer(List(10, {}));
  EXPECT_EQ(watches_, 0);
  BeginWatch();
  EXPECT_EQ(watches_, 1);
  transport_.last().End(Unavailable("cut"));
  Pass(minutes(1));
  EXPECT_EQ(watches_, 1);
  BeginWatch();
  EXPECT_EQ(watches_, 2);
}

TEST_F(ReflectorTest, ListsAndThenWatchesFromThere) {
  Begin({.selection = {.label_selector = "a=b", .field_selector = "metadata.name=n"}});
  EXPECT_EQ(Target(),
            "/api/v1/nodes?labelSelector=a%3Db&fieldSelector=metadata.name%3Dn&limit=500");
  EXPECT_FALSE(reflector_->is_synced());
  Answer(List(10, {ServedObject("a", 5), ServedObject("b", 6)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "+b@6", "synced"));
  EXPECT_TRUE(reflector_->is_synced());
  EXPECT_EQ(Query("watch"), "1");
  EXPECT_EQ(Query("allowWatchBookmarks"), "true");
  EXPECT_EQ(Query("resourceVersion"), "10");
  EXPECT_EQ(Query("labelSelector"), "a=b");
  EXPECT_EQ(Query("fieldSelector"), "metadata.name=n");
  EXPECT_EQ(Query("limit"), "none");
  BeginWatch();
  Send(Event("ADDED", "c", 11) + Event("MODIFIED", "a", 12) + Event("DELETED", "b", 13));
  EXPECT_THAT(Seen(), ElementsAre("+c@11", "+a@12", "-b"));
  EXPECT_EQ(reflector_->objects().size(), 2U);
  EXPECT_NE(reflector_->Find("a"), nullptr);
  EXPECT_EQ(reflector_->Find("b"), nullptr);
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(ReflectorTest, TakesItsFirstStateFromACacheWhereThatIsAskedFor) {
  Begin({.starts_from_cache = true});
  EXPECT_EQ(Query("resourceVersion"), "0");
  EXPECT_EQ(Query("resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(Query("watch"), "none");
  // So too when the first try fails.
  transport_.last().Refuse(503, "ServiceUnavailable");
  Pass(seconds(30));
  EXPECT_EQ(Query("resourceVersion"), "0");
  Answer(List(10, {ServedObject("a", 5)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "synced"));
  EXPECT_EQ(Query("watch"), "1");
  EXPECT_EQ(Query("resourceVersion"), "10");
  // Never back in time behind that.
  transport_.last().Refuse(410, "Gone");
  Pass(seconds(30));
  EXPECT_EQ(Query("watch"), "none");
  EXPECT_EQ(Query("resourceVersion"), "10");
}

TEST_F(ReflectorTest, ListsTheNewestWhenTheCacheHasNothingToGive) {
  Begin({.starts_from_cache = true});
  transport_.last().Refuse(410, "Expired");
  Pass(seconds(30));
  EXPECT_EQ(Query("resourceVersion"), "none");
}

TEST_F(ReflectorTest, AsksForAWatchOfNoTimeThatAllNodesShare) {
  std::vector<int> lengths;
  Begin();
  Answer(List(10, {}));
  for (int i = 0; i < 20; ++i) {
    lengths.push_back(std::stoi(Query("timeoutSeconds")));
    BeginWatch();
    Pass(minutes(5));
    transport_.last().End();
    Pass(milliseconds(0));
  }
  EXPECT_GE(*std::ranges::min_element(lengths), 300);
  EXPECT_LE(*std::ranges::max_element(lengths), 600);
  EXPECT_GT(*std::ranges::max_element(lengths), *std::ranges::min_element(lengths) + 100);
}

TEST_F(ReflectorTest, DoesNotKeepWhatNobodyLooksAt) {
  Begin({.trim = [](json::value& object) { object.get_object()["trimmed"] = true; }});
  Answer(List(10, {ServedObject("a", 5)}));
  EXPECT_EQ(FindField(*reflector_->Find("a"), {"metadata", "managedFields"}), nullptr);
  BeginWatch();
  Send(Event("MODIFIED", "a", 11));
  EXPECT_EQ(FindField(*reflector_->Find("a"), {"metadata", "managedFields"}), nullptr);
  EXPECT_NE(FindField(*reflector_->Find("a"), {"trimmed"}), nullptr);
}

TEST_F(ReflectorTest, KeepsOnlyTheObjectsThatAreWanted) {
  Begin({.keeps = [](const json::value& object) { return NameOf(object).starts_with("gpu"); }});
  Answer(List(10, {ServedObject("gpu-1", 3), ServedObject("cpu-1", 4)}));
  EXPECT_THAT(Seen(), ElementsAre("+gpu-1@3", "synced"));
  BeginWatch();
  Send(Event("ADDED", "cpu-2", 11) + Event("ADDED", "gpu-2", 12));
  EXPECT_THAT(Seen(), ElementsAre("+gpu-2@12"));
  EXPECT_EQ(reflector_->objects().size(), 2U);
  transport_.last().End();
  Pass(minutes(1));
  EXPECT_EQ(Query("resourceVersion"), "12");
}

TEST_F(ReflectorTest, AnObjectThatIsNoLongerWantedIsGone) {
  bool is_wanted = true;
  Begin({.keeps = [&](const json::value&) { return is_wanted; }});
  Answer(List(10, {ServedObject("n1", 3)}));
  EXPECT_THAT(Seen(), ElementsAre("+n1@3", "synced"));
  BeginWatch();
  is_wanted = false;
  Send(Event("MODIFIED", "n1", 11));
  EXPECT_THAT(Seen(), ElementsAre("-n1"));
}

TEST_F(ReflectorTest, KeepsWhoSetWhichFieldWhereThatIsAskedFor) {
  Begin({.keeps_managed_fields = true});
  Answer(List(10, {ServedObject("a", 5)}));
  EXPECT_NE(FindField(*reflector_->Find("a"), {"metadata", "managedFields"}), nullptr);
}

TEST_F(ReflectorTest, GoesOnFromTheLastVersionOfAnyEvent) {
  Begin();
  Answer(List(10, {ServedObject("a", 5)}));
  for (const auto& [event, version] :
       {std::pair(Event("MODIFIED", "a", 11), "11"), std::pair(Event("DELETED", "a", 12), "12"),
        std::pair(Event("BOOKMARK", "", 20), "20")}) {
    BeginWatch();
    Send(event);
    Pass(seconds(2));
    transport_.last().End();
    Pass(milliseconds(0));
    EXPECT_EQ(Query("resourceVersion"), version);
  }
  // A normal end is no trouble.
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceIsAFailure) {
  Begin();
  Answer(List(10, {}));
  BeginWatch();
  transport_.last().End();
  EXPECT_EQ(troubles_.size(), 1U);
  EXPECT_EQ(Requests(), 2U);
  Pass(seconds(1));
  EXPECT_EQ(Requests(), 3U);
  EXPECT_EQ(Query("resourceVersion"), "10");
}

TEST_F(ReflectorTest, WatchesThatEndAtOnceWithAnEventAreAskedForLessAndLess) {
  Begin();
  Answer(List(10, {}));
  int version = 10;
  const size_t before = Requests();
  transport_.SetServer([&version](const http::Request&, const Wire& wire) {
    wire.Head(200);
    wire.Data(Event("MODIFIED", "a", ++version));
    wire.End();
  });
  BeginWatch();
  Send(Event("MODIFIED", "a", ++version));
  transport_.last().End();
  Pass(minutes(10));
  EXPECT_LT(Requests() - before, 60U);
  EXPECT_EQ(VersionOf(*reflector_->Find("a")), fmt::format("{}", version));
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceAfterManyEventsIsNone) {
  Begin();
  Answer(List(10, {}));
  BeginWatch();
  std::string events;
  for (int version = 11; version <= 110; ++version) {
    events += Event("MODIFIED", "a", version);
  }
  Send(events);
  transport_.last().End();
  Pass(milliseconds(0));
  EXPECT_THAT(troubles_, IsEmpty());
  EXPECT_EQ(Query("resourceVersion"), "110");
}

TEST_F(ReflectorTest, ListsAgainWhenTheServerHasForgotten) {
  for (const bool is_frame : {false, true}) {
    Begin();
    Answer(List(10, {ServedObject("a", 5), ServedObject("b", 6)}));
    if (is_frame) {
      BeginWatch();
      Send(
          "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
          "\"reason\":\"Expired\"}}\n");
    } else {
      transport_.last().Refuse(410, "Gone");
    }
    Seen();
    Pass(seconds(1));
    // Never back in time.
    EXPECT_EQ(Query("resourceVersion"), "10");
    EXPECT_EQ(Query("resourceVersionMatch"), "NotOlderThan");
    EXPECT_EQ(Query("watch"), "none");
    // The copy is as it was until the list is whole.
    EXPECT_EQ(reflector_->objects().size(), 2U);
    Answer(List(30, {ServedObject("b", 6), ServedObject("c", 29)}));
    EXPECT_THAT(Seen(), ElementsAre("+c@29", "-a", "synced"));
    EXPECT_EQ(Query("resourceVersion"), "30");
    reflector_.reset();
  }
}

TEST_F(ReflectorTest, ListsTheNewestWhenEvenThatIsForgotten) {
  Begin();
  Answer(List(10, {ServedObject("a", 5)}));
  transport_.last().Refuse(410, "Gone");
  Pass(seconds(1));
  transport_.last().Refuse(410, "Expired");
  Pass(seconds(2));
  EXPECT_EQ(Query("resourceVersion"), "none");
  EXPECT_EQ(Query("resourceVersionMatch"), "none");
  Answer(List(3, {ServedObject("a", 2)}));
  EXPECT_EQ(Query("resourceVersion"), "3");
}

TEST_F(ReflectorTest, WaitsForAServerThatIsBehind) {
  for (const int code : {504, 500}) {
    Begin();
    Answer(List(10, {}));
    transport_.last().Answer(code, fmt::format(R"({{"kind":"Status","code":{},"reason":"Timeout",
                               "details":{{"causes":[{{"reason":"ResourceVersionTooLarge"}}]}}}})",
                                               code));
    Pass(milliseconds(999));
    EXPECT_EQ(Query("watch"), "1");
    Pass(milliseconds(1'001));
    EXPECT_EQ(Query("watch"), "none");
    EXPECT_EQ(Query("resourceVersion"), "none");
    reflector_.reset();
  }
}

TEST_F(ReflectorTest, ResumesWithoutAListWhenTheConnectionBroke) {
  Begin();
  Answer(List(10, {ServedObject("a", 5)}));
  for (int i = 0; i < 5; ++i) {
    transport_.last().End(Unavailable("connection refused"));
    Pass(seconds(30));
    EXPECT_EQ(Query("watch"), "1");
    EXPECT_EQ(Query("resourceVersion"), "10");
  }
  EXPECT_EQ(reflector_->objects().size(), 1U);
}

// etcd was restored from a backup: a watch from our version would leave out what is older.
TEST_F(ReflectorTest, ListsAgainWhenTheServersHistoryIsAnOlderOne) {
  for (const bool is_older : {true, false}) {
    Begin({.selection = {.label_selector = "a=b"}});
    Answer(List(1000, {ServedObject("a", 999)}));
    BeginWatch();
    transport_.last().End(Unavailable("connection refused"));
    Pass(seconds(10));
    EXPECT_EQ(Query("resourceVersion"), "1000");
    const Wire watch = transport_.last();
    watch.Head(200);
    for (int second = 0; second < 60 && Query("limit") == "none"; ++second) {
      Pass(seconds(1));
    }
    EXPECT_EQ(Query("limit"), "1");
    EXPECT_EQ(Query("labelSelector"), "a=b");
    EXPECT_TRUE(watch.is_open());
    Seen();
    Answer(List(is_older ? 998 : 1001, {ServedObject("b", 997)}));
    EXPECT_EQ(watch.is_open(), !is_older);
    if (is_older) {
      Pass(seconds(10));
      EXPECT_EQ(Query("watch"), "none");
      EXPECT_EQ(Query("resourceVersion"), "none");
      Answer(List(998, {ServedObject("b", 997)}));
      EXPECT_THAT(Seen(), ElementsAre("+b@997", "-a", "synced"));
      EXPECT_EQ(Query("resourceVersion"), "998");
    } else {
      const size_t before = Requests();
      Pass(minutes(4));
      EXPECT_EQ(Requests(), before) << "one check is enough";
      EXPECT_EQ(reflector_->objects().size(), 1U);
    }
    reflector_.reset();
    EXPECT_EQ(loop_.timers(), 0U);
  }
}

TEST_F(ReflectorTest, ResumesFromTheSameVersionAfterBeingThrottled) {
  for (const bool is_frame : {false, true}) {
    Begin();
    Answer(List(10, {}));
    if (is_frame) {
      BeginWatch();
      Send(
          "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":429,"
          "\"details\":{\"retryAfterSeconds\":20}}}\n");
    } else {
      transport_.last().Refuse(429, "TooManyRequests", {{"Retry-After", "20"}});
    }
    const size_t before = Requests();
    Pass(milliseconds(19'999));
    EXPECT_EQ(Requests(), before);
    Pass(seconds(11));
    EXPECT_EQ(Requests(), before + 1);
    EXPECT_EQ(Query("watch"), "1");
    EXPECT_EQ(Query("resourceVersion"), "10");
    reflector_.reset();
  }
}

TEST_F(ReflectorTest, AsksSeldomForWhatOnlyAHumanCanFix) {
  transport_.SetServer(
      [](const http::Request&, const Wire& wire) { wire.Refuse(403, "Forbidden"); });
  Begin();
  Pass(hours(1));
  EXPECT_LE(Requests(), 120U);
  EXPECT_GE(Requests(), 30U);
  ASSERT_FALSE(troubles_.empty());
  EXPECT_THAT(troubles_[0], StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(ReflectorTest, ADeadConnectionIsLeftWhenTheWatchShouldHaveEnded) {
  Begin();
  Answer(List(10, {}));
  BeginWatch();
  const int length = std::stoi(Query("timeoutSeconds"));
  Pass(seconds(length + 29));
  EXPECT_EQ(Requests(), 2U);
  Pass(seconds(5));
  EXPECT_EQ(Requests(), 3U);
  ASSERT_EQ(troubles_.size(), 1U);
  EXPECT_THAT(troubles_[0], StatusIs(StatusCode::kUnavailable, HasSubstr("dead")));
}

TEST_F(ReflectorTest, ListsInChunks) {
  Begin({.chunk = 2});
  EXPECT_EQ(Query("limit"), "2");
  Answer(R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[)" + ServedObject("a", 1) +
         "]}");
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_EQ(Query("continue"), "t");
  Answer(List(9, {ServedObject("b", 2)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "+b@2", "synced"));
}

TEST_F(ReflectorTest, KeepsItsCopyWhenThereIsTooMuch) {
  Begin({.max_objects = 2});
  Answer(List(10, {ServedObject("a", 5), ServedObject("b", 6)}));
  Seen();
  BeginWatch();
  Send(Event("ADDED", "c", 11));
  ASSERT_FALSE(troubles_.empty());
  EXPECT_THAT(troubles_[0], StatusIs(StatusCode::kOutOfRange, HasSubstr("select fewer")));
  Pass(seconds(1));
  Answer(List(12, {ServedObject("a", 5), ServedObject("b", 6), ServedObject("c", 11)}));
  EXPECT_EQ(troubles_.size(), 2U);
  Pass(seconds(10));
  Answer(List(12, {ServedObject("a", 5), ServedObject("b", 6)}));
  EXPECT_EQ(reflector_->objects().size(), 2U);
}

TEST_F(ReflectorTest, HasALimitOfMemory) {
  Begin({.max_bytes = 2000});
  Answer(List(10, {ServedObject(std::string(3000, 'x'), 1)}));
  ASSERT_EQ(troubles_.size(), 1U);
  EXPECT_THAT(troubles_[0], StatusIs(StatusCode::kOutOfRange));
  EXPECT_FALSE(reflector_->is_synced());
}

TEST_F(ReflectorTest, MayBeDestroyedWithinAHandler) {
  Begin();
  Answer(List(10, {ServedObject("a", 1), ServedObject("poison", 2), ServedObject("z", 3)}));
  EXPECT_EQ(reflector_, nullptr);
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "+poison@2"));
  Begin();
  Answer(List(10, {}));
  BeginWatch();
  Send(Event("ADDED", "poison", 11) + Event("ADDED", "z", 12));
  EXPECT_EQ(reflector_, nullptr);
  EXPECT_EQ(loop_.timers(), 0U);
}

class WatchListTest : public ReflectorTest {
 protected:
  void BeginWatchList() {
    Begin({.uses_watch_list = true});
    EXPECT_EQ(Query("sendInitialEvents"), "true");
    EXPECT_EQ(Query("resourceVersionMatch"), "NotOlderThan");
    EXPECT_EQ(Query("resourceVersion"), "");
  }
  static std::string End(int version) {
    return fmt::format(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{"
        "\"resourceVersion\":\"{}\",\"annotations\":{{"
        "\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n",
        version);
  }
};

TEST_F(WatchListTest, TakesTheFirstStateFromTheWatch) {
  BeginWatchList();
  BeginWatch();
  Send(Event("ADDED", "b", 6) + Event("ADDED", "a", 5) + Event("BOOKMARK", "", 7));
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_FALSE(reflector_->is_synced());
  Send(End(10));
  EXPECT_THAT(Seen(), ElementsAre("+b@6", "+a@5", "synced"));
  // It goes on as a watch.
  Send(Event("MODIFIED", "a", 11));
  EXPECT_THAT(Seen(), ElementsAre("+a@11"));
  Pass(seconds(2));
  transport_.last().End();
  Pass(milliseconds(0));
  EXPECT_EQ(Query("sendInitialEvents"), "none");
  EXPECT_EQ(Query("resourceVersion"), "11");
}

TEST_F(WatchListTest, ABrokenBeginningIsForgotten) {
  BeginWatchList();
  BeginWatch();
  Send(Event("ADDED", "ghost", 5));
  transport_.last().End(Unavailable("reset"));
  Pass(seconds(1));
  EXPECT_EQ(Query("sendInitialEvents"), "true");
  BeginWatch();
  Send(Event("ADDED", "a", 6) + End(10));
  EXPECT_THAT(Seen(), ElementsAre("+a@6", "synced"));
}

TEST_F(WatchListTest, ListsWhereTheServerCannot) {
  for (const int code : {422, 400, 403}) {
    BeginWatchList();
    transport_.last().Refuse(code, "Invalid");
    for (int i = 0; i < 120 && Query("watch") != "none"; ++i) {
      Pass(seconds(1));
    }
    EXPECT_EQ(Query("watch"), "none") << code;
    EXPECT_EQ(Query("limit"), "500");
    Answer(List(10, {ServedObject("a", 5)}));
    EXPECT_EQ(Query("watch"), "1");
    // The next time it is tried again.
    transport_.last().Refuse(410, "Gone");
    Pass(seconds(2));
    EXPECT_EQ(Query("sendInitialEvents"), "true");
    EXPECT_EQ(Query("resourceVersion"), "10");
    reflector_.reset();
  }
}

TEST_F(WatchListTest, StartsOverWhenItsVersionIsForgotten) {
  BeginWatchList();
  BeginWatch();
  Send(Event("ADDED", "a", 6) + End(10));
  Send("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
  Pass(seconds(1));
  EXPECT_EQ(Query("resourceVersion"), "10");
  transport_.last().Refuse(410, "Expired");
  Pass(seconds(2));
  EXPECT_EQ(Query("sendInitialEvents"), "true");
  EXPECT_EQ(Query("resourceVersion"), "");
}

TEST_F(WatchListTest, ListsFromTheCacheWhereTheServerCannotAndThatIsAskedFor) {
  Begin({.uses_watch_list = true, .starts_from_cache = true});
  transport_.last().Refuse(422, "Invalid");
  Pass(minutes(2));
  EXPECT_EQ(Query("watch"), "none");
  EXPECT_EQ(Query("resourceVersion"), "0");
}

TEST_F(WatchListTest, ListsWhenTheServerDoesNotKnowOfInitialEvents) {
  BeginWatchList();
  BeginWatch();
  Send(Event("ADDED", "a", 6));
  Pass(minutes(5));
  transport_.last().End();
  Pass(seconds(1));
  EXPECT_EQ(Query("watch"), "none");
}

// The API server is away for hours, forgets, throttles: no hot loop, nothing lost.
class ReflectorStormTest : public ReflectorTest {
 protected:
  ReflectorStormTest() { transport_.SetIsKept(false); }

  void Serve(const http::Request& request, const Wire& wire) {
    if (is_away_) {
      return wire.End(Unavailable("10.0.0.1:443: connection refused"));
    }
    if (refusal_ != 0) {
      return wire.Refuse(refusal_, "Storm");
    }
    if (request.QueryValue("watch")) {
      wire.Head(200);
      if (!event_.empty()) {
        wire.Data(std::exchange(event_, {}));
      }
      return;  // stays open
    }
    wire.Answer(200, List(version_, objects_));
  }
  void BeginStorm() {
    transport_.SetServer(
        [this](const http::Request& request, const Wire& wire) { Serve(request, wire); });
    Begin();
  }

  bool is_away_ = false;
  int refusal_ = 0;
  int version_ = 10;
  std::string event_;
  std::vector<std::string> objects_ = {ServedObject("a", 5)};
};

TEST_F(ReflectorStormTest, AServerThatIsAwayForHoursIsAskedTwiceAMinute) {
  BeginStorm();
  EXPECT_EQ(transport_.count(), 2U);
  is_away_ = true;
  Pass(hours(6));
  const size_t asked = transport_.count();
  // Steps of 30 s with full jitter: one in 16.5 s on average.
  EXPECT_LT(asked, 6 * 3600 / 12);
  EXPECT_GT(asked, 6 * 3600 / 25);
  EXPECT_EQ(reflector_->objects().size(), 1U);
  is_away_ = false;
  event_ = Event("MODIFIED", "a", 77);
  Pass(minutes(1));
  EXPECT_EQ(VersionOf(*reflector_->Find("a")), "77");
  EXPECT_LE(loop_.timers(), 2U);
}

TEST_F(ReflectorStormTest, StormsOfErrorsMakeNoHotLoop) {
  for (const int code : {410, 429, 500, 503, 401, 404}) {
    refusal_ = 0;
    BeginStorm();
    const size_t before = transport_.count();
    refusal_ = code;
    Pass(seconds(1000));
    // Watches that were open stay so until they end.
    EXPECT_LT(transport_.count() - before, 150U) << code;
    refusal_ = 0;
    Pass(minutes(3));
    EXPECT_EQ(reflector_->objects().size(), 1U) << code;
    reflector_.reset();
  }
}

TEST_F(ReflectorStormTest, ALongSilenceCostsOneRequestInFiveToTenMinutes) {
  BeginStorm();
  const size_t before = transport_.count();
  // This server never ends a watch: each is left half a minute after its time.
  Pass(hours(10));
  EXPECT_LE(transport_.count() - before, 10 * 60 / 5.5);
  EXPECT_GE(transport_.count() - before, 10 * 60 / 11);
}

}  // namespace
}  // namespace kgpu::kube
