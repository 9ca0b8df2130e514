#include "src/kube/api/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "src/platform/base/log.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    transport_.SetServer([this](const http::Request& request, const Wire& wire) {
      if (is_away_) {
        return wire.End(Unavailable("connection refused"));
      }
      if (code_ != 0) {
        return wire.Refuse(code_, "Some");
      }
      if (request.method == "POST") {
        ++posts_;
      }
      last_ = json::parse(request.body);
      wire.Answer(request.method == "POST" ? 201 : 200, "{}");
    });
  }
  ~EventRecorderTest() override { SetLogSink({}); }

  static Event Bad(std::string note = "no driver") {
    return {.is_warning = true,
            .reason = "DriverNotLoaded",
            .action = "Verifying",
            .note = std::move(note),
            .regarding = {.api_version = "v1", .kind = "Node", .name = "n1", .uid = "u1"}};
  }
  void Pass(std::chrono::nanoseconds time) { loop_.Advance(time); }

  bool is_away_ = false;
  int code_ = 0;
  int posts_ = 0;
  json::value last_;
  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
  EventRecorder recorder_{loop_, client_, random_, {.instance = "n1", .max_kept = 3}};
};

TEST_F(EventRecorderTest, TellsSubjectsOfOneObjectApart) {
  Event first = Bad("GPU 0 is unhealthy");
  first.subject = "GPU 0";
  Event second = Bad("GPU 1 is unhealthy");
  second.subject = "GPU 1";
  recorder_.Record(first);
  recorder_.Record(second);
  recorder_.Record(first);
  Pass(seconds(1));
  EXPECT_EQ(posts_, 2);
}

TEST_F(EventRecorderTest, WritesAnEvent) {
  recorder_.Record(Bad());
  Pass(milliseconds(0));
  ASSERT_EQ(transport_.sent().size(), 1U);
  EXPECT_EQ(transport_.request(0).path, "/apis/events.k8s.io/v1/namespaces/default/events");
  EXPECT_TRUE(NameOf(last_).starts_with("n1."));
  last_.as_object()["metadata"].as_object().erase("name");
  EXPECT_EQ(last_, json::parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "metadata":{"namespace":"default"},"eventTime":"2023-11-14T22:13:20.000000Z",
      "type":"Warning","reason":"DriverNotLoaded","action":"Verifying","note":"no driver",
      "reportingController":"kgpu.dev/agent","reportingInstance":"n1",
      "regarding":{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1"}})"));
}

TEST_F(EventRecorderTest, EventsOfPodsLieWithThem) {
  Event event = Bad();
  event.regarding = {.api_version = "v1", .kind = "Pod", .space = "ns", .name = "p", .uid = "u"};
  recorder_.Record(event);
  Pass(milliseconds(0));
  EXPECT_EQ(transport_.request(0).path, "/apis/events.k8s.io/v1/namespaces/ns/events");
  EXPECT_EQ(TextField(last_, {"regarding", "namespace"}), "ns");
}

TEST_F(EventRecorderTest, RepetitionsAreASeriesWhateverTheirNotes) {
  recorder_.Record(Bad());
  Pass(seconds(1));
  const std::string name(NameOf(last_));
  recorder_.Record(Bad("still no driver"));
  Pass(seconds(1));
  ASSERT_EQ(transport_.sent().size(), 2U);
  EXPECT_EQ(transport_.request(1).method, "PATCH");
  EXPECT_TRUE(transport_.request(1).path.ends_with("/events/" + name));
  EXPECT_EQ(
      last_,
      json::parse(R"({"series":{"count":2,"lastObservedTime":"2023-11-14T22:13:21.000000Z"}})"));
  Event other = Bad();
  other.reason = "Other";
  recorder_.Record(other);
  Pass(seconds(1));
  EXPECT_EQ(posts_, 2);
}

TEST_F(EventRecorderTest, ASilenceEndsASeries) {
  recorder_.Record(Bad());
  Pass(minutes(5));
  recorder_.Record(Bad());
  Pass(minutes(7));
  recorder_.Record(Bad());
  Pass(minutes(1));
  EXPECT_EQ(posts_, 2);
  EXPECT_EQ(transport_.sent().size(), 3U);
}

TEST_F(EventRecorderTest, WhatComesTooFastIsCounted) {
  for (int i = 0; i < 3600; ++i) {
    recorder_.Record(Bad());
    Pass(seconds(1));
  }
  // 25 at once and one in five minutes.
  EXPECT_LE(transport_.sent().size(), 25U + 12U);
  EXPECT_GE(transport_.sent().size(), 25U + 11U);
  Pass(minutes(6));
  EXPECT_EQ(IntField(last_, {"series", "count"}), 3600);
  EXPECT_EQ(posts_, 1);
}

TEST_F(EventRecorderTest, ManyAtOnceAreOneWrite) {
  for (int i = 0; i < 100; ++i) {
    recorder_.Record(Bad());
  }
  Pass(seconds(1));
  EXPECT_EQ(transport_.sent().size(), 2U);
  EXPECT_EQ(IntField(last_, {"series", "count"}), 100);
}

TEST_F(EventRecorderTest, AnEventThatWasRemovedIsWrittenAgain) {
  recorder_.Record(Bad());
  Pass(seconds(1));
  transport_.SetServer([](const http::Request& request, const Wire& wire) {
    request.method == "PATCH" ? wire.Refuse(404, "NotFound") : wire.Answer(201, "{}");
  });
  recorder_.Record(Bad());
  Pass(minutes(1));
  ASSERT_EQ(transport_.sent().size(), 3U);
  EXPECT_EQ(transport_.request(2).method, "POST");
  EXPECT_NE(transport_.request(2).body, transport_.request(0).body);
}

TEST_F(EventRecorderTest, WaitsForAServerThatIsAway) {
  is_away_ = true;
  recorder_.Record(Bad());
  Pass(minutes(20));
  EXPECT_LT(transport_.sent().size(), 100U);
  is_away_ = false;
  Pass(minutes(2));
  EXPECT_EQ(posts_, 1);
  EXPECT_EQ(TextField(last_, {"eventTime"}), "2023-11-14T22:13:20.000000Z");
}

TEST_F(EventRecorderTest, DoesNotWaitForEver) {
  is_away_ = true;
  recorder_.Record(Bad());
  Pass(hours(1));
  EXPECT_EQ(recorder_.dropped(), 1U);
  const size_t before = transport_.sent().size();
  Pass(hours(5));
  EXPECT_EQ(transport_.sent().size(), before);
}

TEST_F(EventRecorderTest, ALostAnswerMakesNoSecondEvent) {
  std::string name;
  transport_.SetServer([&](const http::Request& request, const Wire& wire) {
    const std::string asked(NameOf(json::parse(request.body)));
    if (name.empty()) {
      name = asked;
      return wire.End(Unavailable("reset"));
    }
    EXPECT_EQ(asked, name);
    wire.Refuse(409, "AlreadyExists");
  });
  recorder_.Record(Bad());
  Pass(minutes(10));
  EXPECT_EQ(transport_.sent().size(), 2U);
  EXPECT_EQ(recorder_.dropped(), 0U);
}

TEST_F(EventRecorderTest, DropsWhatIsForbidden) {
  code_ = 403;
  recorder_.Record(Bad());
  Pass(hours(1));
  EXPECT_EQ(transport_.sent().size(), 1U);
  EXPECT_EQ(recorder_.dropped(), 1U);
}

TEST_F(EventRecorderTest, KeepsOnlySoMany) {
  is_away_ = true;
  for (int i = 0; i < 5; ++i) {
    Event event = Bad();
    event.regarding.name = fmt::format("n{}", i);
    recorder_.Record(event);
  }
  EXPECT_EQ(recorder_.dropped(), 2U);
  // What was reported makes room.
  is_away_ = false;
  Pass(minutes(1));
  recorder_.Record(Bad("x"));
  Event event = Bad();
  event.regarding.name = "n9";
  recorder_.Record(event);
  EXPECT_EQ(recorder_.dropped(), 2U);
}

TEST_F(EventRecorderTest, CutsWhatIsTooLong) {
  Event event = Bad(std::string(1023, 'x') + "\xc3\xa9");
  event.regarding.name = std::string(300, 'n');
  recorder_.Record(event);
  Pass(seconds(1));
  EXPECT_EQ(TextField(last_, {"note"}), std::string(1023, 'x'));
  EXPECT_EQ(NameOf(last_).size(), 253U);
}

}  // namespace
}  // namespace kgpu::kube
