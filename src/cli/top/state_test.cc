#include "src/cli/top/state.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace kgpu::top {
namespace {

using terminal::KeyKind;

constexpr std::array<SortKey, 2> kOrders = {{{'i', "index"}, {'u', "utilization"}}};
constexpr size_t kScreen = 4;  // rows

View Numbered(size_t count) {
  View view{.sorts = kOrders};
  for (size_t i = 0; i < count; ++i) {
    view.rows.push_back({.id = std::to_string(i),
                         .target = {.kind = TargetKind::kPod, .name = "a/" + std::to_string(i)},
                         .is_expandable = i % 2 == 0});
  }
  return view;
}

class StateTest : public ::testing::Test {
 protected:
  Request Press(KeyKind kind) { return OnKey({.kind = kind}, view_, kScreen, state_); }
  Request Type(const std::string& text) {
    Request last;
    for (const char character : text) {
      last = OnKey({.text = std::string(1, character)}, view_, kScreen, state_);
    }
    return last;
  }

  View view_ = Numbered(10);
  State state_;
};

TEST_F(StateTest, MovesAndScrolls) {
  Press(KeyKind::kDown);
  EXPECT_EQ(state_.list.selected, "1");
  Press(KeyKind::kPageDown);
  EXPECT_EQ(state_.list.selected, "5");
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.offset, 2U);
  Type("G");
  EXPECT_EQ(state_.list.selected, "9");
  Press(KeyKind::kDown);
  EXPECT_EQ(state_.list.selected, "9");
  Type("gk");
  EXPECT_EQ(state_.list.selected, "0");
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.offset, 0U);
}

TEST_F(StateTest, SelectionFollowsTheRowAndElseThePlace) {
  Type("jjj");
  view_.rows.erase(view_.rows.begin());
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.index, 2U);
  EXPECT_EQ(state_.list.selected, "3");
  view_.rows.erase(view_.rows.begin() + 2);
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.selected, "4");
  view_.rows.clear();
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.index, 0U);
  EXPECT_EQ(Type("e").kind, RequestKind::kNone);
}

TEST_F(StateTest, TheRowAroundIsSelectedWhenOneIsClosed) {
  view_.rows = {
      {.id = "gpu/A"}, {.id = "gpu/A/mig/B"}, {.id = "gpu/A/mig/B/pod/C"}, {.id = "gpu/D"}};
  Type("jj");
  EXPECT_EQ(state_.list.selected, "gpu/A/mig/B/pod/C");
  view_.rows = {{.id = "gpu/A"}, {.id = "gpu/D"}};
  Settle(view_, kScreen, state_.list);
  EXPECT_EQ(state_.list.selected, "gpu/A");
}

TEST_F(StateTest, OpensAndClosesRows) {
  Press(KeyKind::kEnter);
  EXPECT_FALSE(state_.list.IsOpen("0", true));
  EXPECT_TRUE(state_.list.IsOpen("0", false));
  Type(" ");
  EXPECT_TRUE(state_.list.IsOpen("0", true));
  Type("j ");
  EXPECT_TRUE(state_.list.toggled.empty());  // row 1 has nothing to open
  Type("a");
  EXPECT_FALSE(state_.list.IsOpen("2", true));
}

TEST_F(StateTest, TypesAFilter) {
  Type("/qua");
  Press(KeyKind::kBackspace);
  EXPECT_EQ(state_.list.filter, "qu");
  EXPECT_TRUE(state_.list.is_typing);
  Press(KeyKind::kEnter);
  EXPECT_FALSE(state_.list.is_typing);
  EXPECT_EQ(state_.list.filter, "qu");
  Press(KeyKind::kEscape);
  EXPECT_EQ(state_.list.filter, "");
  Type("/x");
  Press(KeyKind::kClear);
  OnKey({.text = "훈"}, view_, kScreen, state_);
  OnKey({.text = "련"}, view_, kScreen, state_);
  Press(KeyKind::kBackspace);
  EXPECT_EQ(state_.list.filter, "훈");
  Press(KeyKind::kEscape);
  EXPECT_FALSE(state_.list.is_typing);
  EXPECT_EQ(state_.list.filter, "");
}

TEST_F(StateTest, ChoosesAnOrder) {
  Type("u");
  EXPECT_EQ(state_.list.sort, 1U);
  Type("s");
  EXPECT_EQ(state_.list.sort, 0U);
  Type("S");
  EXPECT_EQ(state_.list.sort, 1U);
  Type("r");
  EXPECT_TRUE(state_.list.is_reversed);
  Type("b");
  EXPECT_EQ(state_.list.grouping, 0U);
  view_.groupings = "node, model";
  Type("b");
  EXPECT_EQ(state_.list.grouping, 1U);
}

TEST_F(StateTest, AsksForAnExplanationAndTheEnd) {
  Type("j");
  const Request explain = Type("e");
  EXPECT_EQ(explain.kind, RequestKind::kExplain);
  EXPECT_EQ(explain.target.name, "a/1");
  EXPECT_EQ(Type("q").kind, RequestKind::kQuit);
  EXPECT_EQ(Press(KeyKind::kRedraw).kind, RequestKind::kRedraw);
}

TEST_F(StateTest, APageScrollsAndGoesBack) {
  Type("?");
  ASSERT_TRUE(state_.page);
  EXPECT_FALSE(state_.page->lines.empty());
  state_.page->folded.assign(10, "");
  Type("G");
  EXPECT_EQ(state_.page->offset, 6U);
  Type("k");
  EXPECT_EQ(state_.page->offset, 5U);
  EXPECT_EQ(Type("q").kind, RequestKind::kNone);
  EXPECT_FALSE(state_.page);
}

}  // namespace
}  // namespace kgpu::top
