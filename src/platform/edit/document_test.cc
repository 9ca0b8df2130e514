#include "src/platform/edit/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <algorithm>
#include <functional>

#include "testing/status_matchers.h"

namespace kgpu::edit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Edit = std::function<Status(Document&)>;

constexpr std::string_view kPath = "/usr/local/bin/kgpu-runtime";

Edit Setting(Key key, boost::json::value value) {
  return
      [key = std::move(key), value = std::move(value)](Document& d) { return d.Set(key, value); };
}

Edit Adding(Key key, std::string item) {
  return
      [key = std::move(key), item = std::move(item)](Document& d) { return d.AddItem(key, item); };
}

// The text after the edits; they are done twice, and taken back, which must give `text` again.
std::string Edited(std::string_view text, Syntax syntax, const std::vector<Edit>& edits) {
  auto document = Document::Open(text, "f", syntax);
  EXPECT_THAT(document, IsOk());
  if (!document.ok()) {
    return "";
  }
  for (const Edit& edit : edits) {
    EXPECT_THAT(edit(*document), IsOk());
  }
  const std::string edited = document->text();
  for (const Edit& edit : edits) {
    EXPECT_THAT(edit(*document), IsOk());
  }
  EXPECT_EQ(document->text(), edited) << "not idempotent";
  std::vector<Change> changes = document->changes();
  std::ranges::reverse(changes);
  std::vector<std::string> notes;
  for (const Change& change : changes) {
    EXPECT_THAT(document->TakeBack(change, notes), IsOk());
  }
  EXPECT_EQ(document->text(), text) << "not taken back";
  EXPECT_THAT(notes, IsEmpty());
  return edited;
}

std::string Json(std::string_view text, const std::vector<Edit>& edits) {
  return Edited(text, Syntax::kJson, edits);
}

std::string Toml(std::string_view text, const std::vector<Edit>& edits) {
  return Edited(text, Syntax::kToml, edits);
}

const Edit kRuntime = Setting({"runtimes", "nvidia", "path"}, kPath.data());

TEST(JsonEditTest, MakesAnObjectOfAnEmptyText) {
  EXPECT_EQ(Json("", {kRuntime}), R"({
    "runtimes": {
        "nvidia": {
            "path": "/usr/local/bin/kgpu-runtime"
        }
    }
}
)");
}

TEST(JsonEditTest, FollowsTheIndentationOfItsNeighbours) {
  EXPECT_EQ(Json("{\n\t\"debug\": true\n}\n", {kRuntime}),
            "{\n\t\"debug\": true,\n\t\"runtimes\": {\n\t\t\"nvidia\": {\n\t\t\t\"path\": "
            "\"/usr/local/bin/kgpu-runtime\"\n\t\t}\n\t}\n}\n");
}

TEST(JsonEditTest, StaysOnOneLineWhereTheTextDoes) {
  EXPECT_EQ(Json(R"({"debug":true})", {kRuntime}),
            R"({"debug":true,"runtimes":{"nvidia":{"path":"/usr/local/bin/kgpu-runtime"}}})");
  EXPECT_EQ(Json(R"({ "a": 1 })", {Setting({"b"}, 2)}), R"({ "a": 1, "b": 2 })");
}

TEST(JsonEditTest, KeepsByteOrderMarkAndLineEnds) {
  EXPECT_EQ(Json("\xEF\xBB\xBF{\r\n  \"a\": 1\r\n}\r\n", {Setting({"b"}, true)}),
            "\xEF\xBB\xBF{\r\n  \"a\": 1,\r\n  \"b\": true\r\n}\r\n");
}

TEST(JsonEditTest, ReplacesOnlyTheValue) {
  EXPECT_EQ(Json("{ \"a\" :  \"x\\/y\" , \"b\": [ ] }", {Setting({"a"}, "z")}),
            "{ \"a\" :  \"z\" , \"b\": [ ] }");
}

TEST(JsonEditTest, AddsToListsOnceAndInTheirStyle) {
  EXPECT_EQ(Json("{\"l\": [\"a\",\n       \"b\"]}", {Adding({"l"}, "c"), Adding({"l"}, "a")}),
            "{\"l\": [\"a\",\n       \"b\",\n       \"c\"]}");
  EXPECT_EQ(Json("{\"l\": [ ]}", {Adding({"l"}, "c"), Adding({"l"}, "d")}),
            "{\"l\": [\"c\", \"d\"]}");
}

TEST(JsonEditTest, RefusesWhatIsNoObjectOnTheWay) {
  auto document = Document::Open("{\n  \"runtimes\": [1]\n}", "daemon.json", Syntax::kJson);
  ASSERT_THAT(document, IsOk());
  EXPECT_THAT(kRuntime(*document), StatusIs(StatusCode::kInvalidArgument,
                                            HasSubstr("daemon.json:2:3: runtimes is [1]")));
}

TEST(JsonEditTest, RefusesBrokenTextsWithTheirPlace) {
  EXPECT_THAT(Document::Open("{\n  \"a\": 1,\n}", "f", Syntax::kJson),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:3:1")));
  EXPECT_THAT(Document::Open("{\"a\": 1, \"a\": 2}", "f", Syntax::kJson),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key")));
  EXPECT_THAT(Document::Open("[]", "f", Syntax::kJson),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:1:1")));
}

TEST(TomlEditTest, WritesTopKeysAndTablesIntoAnEmptyText) {
  EXPECT_EQ(Toml("", {Setting({"version"}, 2), Setting({"a", "b.c", "d"}, true)}),
            "version = 2\n\n[a.\"b.c\"]\nd = true\n");
}

TEST(TomlEditTest, PutsAKeyBehindTheLastOfItsTable) {
  EXPECT_EQ(Toml("[a]\n  x = 1 # one\n\n# of b\n[b]\n", {Setting({"a", "y"}, "2")}),
            "[a]\n  x = 1 # one\n  y = \"2\"\n\n# of b\n[b]\n");
}

TEST(TomlEditTest, PutsTopKeysAboveTheFirstTableAndItsComments) {
  EXPECT_EQ(Toml("# top\n\n# of a\n[a]\n", {Setting({"version"}, 2)}),
            "# top\n\nversion = 2\n\n# of a\n[a]\n");
}

TEST(TomlEditTest, ExtendsInlineTables) {
  EXPECT_EQ(Toml("a = { b = {}, c=1 }\n", {Setting({"a", "b", "x", "y"}, 1)}),
            "a = { b = { x = { y = 1 } }, c=1 }\n");
  EXPECT_EQ(Toml("a = { b=1 }", {Setting({"a", "c"}, 1)}), "a = { b=1, c=1 }");
}

TEST(TomlEditTest, ExtendsDottedKeysByDottedKeys) {
  EXPECT_EQ(Toml("[p]\ncri.\"x y\".a = 1\nz = 2\n", {Setting({"p", "cri", "x y", "b", "c"}, 2)}),
            "[p]\ncri.\"x y\".a = 1\ncri.\"x y\".b.c = 2\nz = 2\n");
}

TEST(TomlEditTest, SpellsHeadersAsTheirNeighbours) {
  EXPECT_EQ(Toml("[ p . 'x.y' ]\n  a = 1\n", {Setting({"p", "x.y", "r", "b"}, 2)}),
            "[ p . 'x.y' ]\n  a = 1\n\n[p.'x.y'.r]\n  b = 2\n");
}

TEST(TomlEditTest, PutsATableBehindItsSiblings) {
  EXPECT_EQ(
      Toml("[p]\n  [p.r]\n    [p.r.runc]\n      t = 1\n\n      [p.r.runc.o]\n        s = true\n"
           "\n  [p.z]\n",
           {Setting({"p", "r", "nv", "t"}, 1), Setting({"p", "r", "nv", "o", "b"}, "x")}),
      "[p]\n  [p.r]\n    [p.r.runc]\n      t = 1\n\n      [p.r.runc.o]\n        s = true\n"
      "\n    [p.r.nv]\n      t = 1\n\n      [p.r.nv.o]\n        b = \"x\"\n"
      "\n  [p.z]\n");
}

TEST(TomlEditTest, MakesAHeaderOfAnImpliedTable) {
  EXPECT_EQ(Toml("[p.r.runc]\nt = 1\n", {Setting({"p", "d"}, "x")}),
            "[p]\nd = \"x\"\n\n[p.r.runc]\nt = 1\n");
}

TEST(TomlEditTest, WorksWithoutALastLineEnd) {
  EXPECT_EQ(Toml("a = 1", {Setting({"b"}, 2), Setting({"c", "d"}, 3)}),
            "a = 1\nb = 2\n\n[c]\nd = 3");
}

TEST(TomlEditTest, KeepsLineEnds) {
  EXPECT_EQ(Toml("[a]\r\nx = 1\r\n", {Setting({"a", "y"}, 2), Setting({"b", "z"}, 3)}),
            "[a]\r\nx = 1\r\ny = 2\r\n\r\n[b]\r\nz = 3\r\n");
}

TEST(TomlEditTest, AddsToListsOfSeveralLines) {
  EXPECT_EQ(Toml("l = [\n  \"a\", # first\n  \"b\" # last\n]\n", {Adding({"l"}, "c")}),
            "l = [\n  \"a\", # first\n  \"b\", # last\n  \"c\"\n]\n");
  EXPECT_EQ(Toml("l = [\n  \"a\", # first\n]\n", {Adding({"l"}, "c")}),
            "l = [\n  \"a\", # first\n  \"c\",\n]\n");
  EXPECT_EQ(Toml("l = ['a']\n", {Adding({"l"}, "c")}), "l = ['a', \"c\"]\n");
  EXPECT_EQ(Toml("l = ['a',]\n", {Adding({"l"}, "c")}), "l = ['a', \"c\"]\n");
}

TEST(TomlEditTest, LeavesListsOfTablesAlone) {
  auto document = Document::Open("[[a]]\nx = 1\n[a.b]\ny = 1\n", "f", Syntax::kToml);
  ASSERT_THAT(document, IsOk());
  EXPECT_THAT(document->Set({"a", "b", "y"}, 2),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a table")));
}

TEST(TomlEditTest, RefusesBrokenTextsWithTheirPlace) {
  EXPECT_THAT(Document::Open("a = 1\nb = \"x\n", "f", Syntax::kToml),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:2:5: not TOML")));
  EXPECT_THAT(Document::Open("a = 1\na = 2\n", "f", Syntax::kToml),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:2:")));
  EXPECT_THAT(Document::Open(std::string(100, '['), "f", Syntax::kToml),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:1:")));
}

TEST(TomlEditTest, RefusesKeysThatNestTooDeep) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) {
    key += ".a";
  }
  EXPECT_THAT(Document::Open(key + " = 1\n", "f", Syntax::kToml),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested deeper than 64 levels")));
}

TEST(TomlTemplateTest, PassesOverActions) {
  EXPECT_EQ(Edited("{{ template \"base\" . }}\n\nroot = {{ printf \"%q\" .Root }}\n",
                   Syntax::kTomlTemplate, {Setting({"a", "b"}, 1)}),
            "{{ template \"base\" . }}\n\nroot = {{ printf \"%q\" .Root }}\n\n[a]\nb = 1\n");
}

// What Edited does not show: texts that were changed between the edit and its undoing.
struct Undone {
  std::string text;
  std::vector<std::string> notes;
};

Undone Undo(std::string_view text, Syntax syntax, std::vector<Change> changes) {
  auto document = Document::Open(text, "f", syntax);
  EXPECT_THAT(document, IsOk());
  Undone undone;
  std::ranges::reverse(changes);
  for (const Change& change : changes) {
    EXPECT_THAT(document->TakeBack(change, undone.notes), IsOk());
  }
  undone.text = document->text();
  return undone;
}

std::vector<Change> ChangesOf(std::string_view text, Syntax syntax,
                              const std::vector<Edit>& edits) {
  auto document = Document::Open(text, "f", syntax);
  EXPECT_THAT(document, IsOk());
  for (const Edit& edit : edits) {
    EXPECT_THAT(edit(*document), IsOk());
  }
  return document->changes();
}

TEST(TakeBackTest, LeavesWhatOthersAddedBesideOurs) {
  const auto changes = ChangesOf("{\n  \"debug\": true\n}\n", Syntax::kJson, {kRuntime});
  const Undone undone = Undo(R"({
  "debug": false,
  "runtimes": {
    "nvidia": {
      "path": "/usr/local/bin/kgpu-runtime"
    },
    "crun": { "path": "/usr/bin/crun" }
  }
}
)",
                             Syntax::kJson, changes);
  EXPECT_EQ(undone.text, R"({
  "debug": false,
  "runtimes": {
    "crun": { "path": "/usr/bin/crun" }
  }
}
)");
  EXPECT_THAT(undone.notes, ElementsAre(HasSubstr("runtimes is not empty")));
}

TEST(TakeBackTest, LeavesAValueThatWasChangedSince) {
  const auto changes = ChangesOf("{\"d\": \"runc\"}", Syntax::kJson, {Setting({"d"}, "nvidia")});
  const Undone undone = Undo("{\"d\": \"crun\"}", Syntax::kJson, changes);
  EXPECT_EQ(undone.text, "{\"d\": \"crun\"}");
  EXPECT_THAT(undone.notes, ElementsAre(HasSubstr("f:1:2: d has since been changed to \"crun\"")));
}

TEST(TakeBackTest, RestoresAValueWhereverItMoved) {
  const auto changes = ChangesOf("{\"d\": \"runc\"}", Syntax::kJson, {Setting({"d"}, "nvidia")});
  EXPECT_EQ(Undo("{\n  \"a\": 1,\n  \"d\": \"nvidia\"\n}", Syntax::kJson, changes).text,
            "{\n  \"a\": 1,\n  \"d\": \"runc\"\n}");
}

TEST(TakeBackTest, RemovesOurLinesOfATableAndKeepsTheOthers) {
  const auto changes =
      ChangesOf("version = 2\n", Syntax::kToml, {Setting({"p", "a"}, 1), Setting({"p", "b"}, 2)});
  const Undone undone =
      Undo("version = 2\n\n[p]\na = 1 # ours\nmine = 3\nb = 2\n", Syntax::kToml, changes);
  EXPECT_EQ(undone.text, "version = 2\n\n[p]\nmine = 3\n");
}

TEST(TakeBackTest, RemovesTablesThatAreEmptyNow) {
  const auto changes = ChangesOf("version = 2\n", Syntax::kToml, {Setting({"p", "a"}, 1)});
  EXPECT_EQ(Undo("version = 2\n\n\n[p]\n\na = 1\n[q]\n", Syntax::kToml, changes).text,
            "version = 2\n\n\n[q]\n");
}

TEST(TakeBackTest, RemovesOnlyOurItemOfAList) {
  const auto changes = ChangesOf("l = ['a']\n", Syntax::kToml, {Adding({"l"}, "b")});
  EXPECT_EQ(Undo("l = ['z', \"b\", 'a']\n", Syntax::kToml, changes).text, "l = ['z', 'a']\n");
  EXPECT_EQ(Undo("l = ['b']\n", Syntax::kToml, changes).text, "l = []\n");
  EXPECT_EQ(Undo("l = [\n  'a',\n  'b', # x\n]\n", Syntax::kToml, changes).text,
            "l = [\n  'a',\n]\n");
}

TEST(TakeBackTest, SaysWhatIsGoneAlready) {
  const auto changes = ChangesOf("", Syntax::kToml, {Setting({"a"}, 1)});
  EXPECT_THAT(Undo("b = 1\n", Syntax::kToml, changes).notes, ElementsAre("a is already removed"));
}

}  // namespace
}  // namespace kgpu::edit
