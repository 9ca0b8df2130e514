#include "src/kube/api/watch_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/json.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WatchFramesTest : public ::testing::Test {
 protected:
  Status Feed(std::string_view bytes) {
    return frames_.Feed(bytes, [this](WatchEventType type, boost::json::value&& object) {
      events_.push_back(fmt::format("{} {}", static_cast<int>(type), NameOf(object)));
      return true;
    });
  }

  WatchFrames frames_{"GET /watch", 200};
  std::vector<std::string> events_;
};

TEST_F(WatchFramesTest, ReadsEachKindOfEvent) {
  EXPECT_OK(
      Feed("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
           "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n\n"
           "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}\r\n"
           "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n"));
  EXPECT_THAT(events_, ElementsAre("0 a", "1 b", "2 c", "3 "));
  EXPECT_TRUE(frames_.IsBetweenEvents());
}

TEST_F(WatchFramesTest, AnEventMayComeInPieces) {
  const std::string event = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
  for (const char byte : event + event) {
    EXPECT_OK(Feed({&byte, 1}));
  }
  EXPECT_THAT(events_, ElementsAre("0 a", "0 a"));
}

TEST_F(WatchFramesTest, KnowsThatAnEventIsNotWhole) {
  EXPECT_OK(Feed("{\"type\":\"ADDED\",\"obj"));
  EXPECT_FALSE(frames_.IsBetweenEvents());
  EXPECT_TRUE(events_.empty());
}

TEST_F(WatchFramesTest, AnErrorEventIsAnErrorOfItsOwnCode) {
  EXPECT_THAT(Feed("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                   "\"reason\":\"Expired\",\"message\":\"too old\"}}\n"),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("GET /watch: too old")));
}

TEST_F(WatchFramesTest, RefusesWhatIsNoEvent) {
  for (const std::string_view line :
       {"no json\n", "[]\n", "{}\n", "{\"type\":\"ADDED\"}\n",
        "{\"type\":\"ADDED\",\"object\":7}\n", "{\"type\":\"OTHER\",\"object\":{}}\n",
        "{\"type\":1,\"object\":{}}\n"}) {
    WatchFrames frames("GET /watch", 200);
    EXPECT_THAT(frames.Feed(line, [](WatchEventType, boost::json::value&&) { return true; }),
                StatusIs(StatusCode::kUnavailable, HasSubstr("GET /watch")))
        << line;
  }
}

TEST_F(WatchFramesTest, AnEventHasALimit) {
  EXPECT_OK(Feed(std::string(150, ' ')));
  EXPECT_THAT(Feed(std::string(51, ' ')),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("larger than 200 bytes")));
}

TEST_F(WatchFramesTest, StopsWhenNoMoreIsWanted) {
  int count = 0;
  const std::string event = "{\"type\":\"ADDED\",\"object\":{}}\n";
  EXPECT_OK(frames_.Feed(event + event, [&](WatchEventType, boost::json::value&&) {
    ++count;
    return false;
  }));
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace kgpu::kube
