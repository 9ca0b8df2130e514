#include "src/platform/edit/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::edit {
namespace {

using ::testing::HasSubstr;

TEST(ChangeTest, KeysReadAsInAFile) {
  EXPECT_EQ(Dotted({"plugins", "io.containerd.grpc.v1.cri", "x"}),
            "plugins.\"io.containerd.grpc.v1.cri\".x");
}

TEST(ChangeTest, ComesBackFromJson) {
  const std::vector<Change> changes = {
      {.kind = ChangeKind::kTable,
       .key = {"a", "b.c"},
       .before = std::nullopt,
       .after = "[a.\"b.c\"]",
       .removed = "",
       .inserted = "\n[a.\"b.c\"]\n",
       .offset = 1},
      {.kind = ChangeKind::kValue,
       .key = {"d"},
       .before = "'x'",
       .after = "\"y\"",
       .removed = "'x'",
       .inserted = "\"y\"",
       .offset = 0},
  };
  EXPECT_THAT(ChangesFromJson(ChangesToJson(changes), "state"), IsOkAndHolds(changes));
}

TEST(ChangeTest, RefusesWhatIsNoChangeWithItsPlace) {
  EXPECT_THAT(ChangesFromJson(boost::json::parse("[{\"kind\": \"all\"}]"), "state.changes"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("state.changes[0]: kind: \"all\"")));
  EXPECT_THAT(
      ChangesFromJson(boost::json::parse(R"([{"kind": "item", "key": ["a"], "after": "", "removed":
                                         "", "inserted": "x", "offset": 2}])"),
                      "s"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("s[0]: offset")));
}

}  // namespace
}  // namespace kgpu::edit
