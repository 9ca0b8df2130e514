#include "src/platform/doc/doc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "testing/status_matchers.h"

namespace kgpu::doc {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string Line(const StatusOr<json::value>& value) {
  return value.ok() ? PrintLine(*value) : value.status().ToString();
}

TEST(DocTest, JsonAndYamlGiveTheSameTree) {
  const std::string yaml = "kind: kgpu.dev/gpu\ndevices:\n- name: '0'\n  minor: 0\n  ok: true\n";
  const std::string as_json =
      R"({"kind":"kgpu.dev/gpu","devices":[{"name":"0","minor":0,"ok":true}]})";
  EXPECT_EQ(Line(Parse(yaml, Format::kYaml, "x")), as_json);
  EXPECT_EQ(Line(Parse(as_json, Format::kJson, "x")), as_json);
}

TEST(DocTest, NumbersArePrintedAsPeopleWriteThem) {
  const std::string text = R"({"a":0.5,"b":[1.25,-0.001,2.0],"c":1e+20,"d":7,"e":{"f":0.1}})";
  const auto value = Parse(text, Format::kJson, "x");
  ASSERT_OK(value);
  EXPECT_EQ(PrintLine(*value), text);
  EXPECT_EQ(Print(*value, Format::kYaml),
            "a: 0.5\nb:\n- 1.25\n- -0.001\n- 2.0\nc: 1e+20\nd: 7\ne:\n  f: 0.1\n");
  EXPECT_THAT(Print(*value, Format::kJson), HasSubstr("\"a\": 0.5,\n"));
  for (const Format format : {Format::kJson, Format::kYaml}) {
    EXPECT_THAT(Parse(Print(*value, format), format, "again"), IsOkAndHolds(*value));
  }
}

TEST(DocTest, RefusesDuplicateKeysWithTheirPlace) {
  EXPECT_THAT(Parse("a: 1\nb: 2\na: 3\n", Format::kYaml, "x.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.yaml:3:1: duplicate key \"a\"")));
  EXPECT_THAT(Parse("{\"a\": 1,\n \"a\": 2}", Format::kJson, "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json:2:")));
  EXPECT_THAT(Parse("{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}", Format::kJson, "x"), IsOk());
}

TEST(DocTest, ColonsQuotesAndBackslashesInStringsAreNoKeys) {
  EXPECT_THAT(Parse(R"({"a\\":":","b\"":"\":\\","c":[":{","\\\""]})", Format::kJson, "x"), IsOk());
  EXPECT_THAT(Parse(R"({"a\":":1,"x":["::"],"a\":":2})", Format::kJson, "x"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key")));
  EXPECT_THAT(Parse(R"([{"a":1,"\u0061":2}])", Format::kJson, "x"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key \"a\"")));
}

TEST(DocTest, TellsWhereTheTextIsWrong) {
  EXPECT_THAT(Parse("{\n  \"a\": ?}", Format::kJson, "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json:2:8: not JSON")));
  EXPECT_THAT(Parse("{} x", Format::kJson, "x"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Parse("{", Format::kJson, "x"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Parse("a: [1\nb: 2", Format::kYaml, "x.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not YAML")));
  EXPECT_THAT(Parse("a: 1\n---\nb: 2\n", Format::kYaml, "x"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than one document")));
}

TEST(DocTest, KeepsToItsLimits) {
  const Limits limits{.bytes = 100, .depth = 3, .values = 10};
  EXPECT_THAT(Parse(std::string(101, ' '), Format::kJson, "x", limits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("101 bytes")));
  EXPECT_FALSE(Parse("[[[[1]]]]", Format::kJson, "x", limits).ok());
  EXPECT_FALSE(Parse("[[[[1]]]]", Format::kYaml, "x", limits).ok());
  // Aliases multiply: the expanded tree counts.
  EXPECT_FALSE(Parse("a: &a [1,2,3]\nb: [*a,*a,*a]\n", Format::kYaml, "x", limits).ok());
}

TEST(DocTest, SurvivesHostileNesting) {
  const std::string brackets(1 << 20, '[');
  EXPECT_FALSE(Parse(brackets, Format::kJson, "x").ok());
  EXPECT_FALSE(Parse(brackets, Format::kYaml, "x").ok());
}

TEST(DocTest, RefusesWhatIsNotUtf8) {
  for (const Format format : {Format::kJson, Format::kYaml}) {
    for (const char* bad : {"\xff", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                            "\x80", "\xe0\x80\x80", "\xf8\x88\x80\x80\x80"}) {
      EXPECT_THAT(Parse(std::string("[\n \"") + bad + "\"]", format, "x"),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("x:2:3: not UTF-8")));
    }
    EXPECT_OK(Parse("[\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"]", format, "x"));
  }
}

TEST(DocTest, StrayCommasAreNotDocumentsWithoutEnd) {
  EXPECT_THAT(Parse(",,,,a: {", Format::kYaml, "x"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(DocTest, ZeroBytesAreRefused) {
  EXPECT_THAT(Parse(std::string_view("\1\0\0\0a", 5), Format::kYaml, "x"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("zero bytes")));
}

TEST(DocTest, PlainScalarsFollowTheCoreSchema) {
  EXPECT_EQ(Line(Parse("[null, ~, true, yes, 12, -3, 0x10, 0o17, 1.5, 1e3, .inf, 1.2.3, '12', 08]",
                       Format::kYaml, "x")),
            R"([null,null,true,"yes",12,-3,16,15,1.5,1000.0,".inf","1.2.3","12",8])");
}

TEST(DocTest, WhatAnOlderYamlReadsAsANumberIsQuoted) {
  for (const char* text : {"1_000", "0b101", ".inf", ".NaN", "0400", "yes"}) {
    EXPECT_EQ(Print(boost::json::object{{"a", text}}, Format::kYaml),
              fmt::format("a: \"{}\"\n", text));
  }
  for (const char* text : {"a_b", "535.104.05", "1_a", "0bx"}) {
    EXPECT_EQ(Print(boost::json::object{{"a", text}}, Format::kYaml), fmt::format("a: {}\n", text));
  }
}

TEST(DocTest, PrintsIndentedJson) {
  const json::value value = json::parse(R"({"a":[1,{"b":"x"}],"c":{},"d":[]})");
  EXPECT_EQ(Print(value, Format::kJson),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\"\n    }\n  ],\n  \"c\": {},\n  \"d\": "
            "[]\n}\n");
}

TEST(DocTest, PrintsBlockYaml) {
  const json::value value =
      json::parse(R"({"a":[1,{"b":"x","c":[[2],"on"]}],"d":{},"e":"1.5","f":null,"g h":"a: b"})");
  EXPECT_EQ(
      Print(value, Format::kYaml),
      "a:\n- 1\n- b: x\n  c:\n  - - 2\n  - \"on\"\nd: {}\ne: \"1.5\"\nf: null\ng h: \"a: b\"\n");
}

TEST(DocTest, WhatIsPrintedReadsBackTheSame) {
  for (const char* text :
       {"null", "\"a\"", "[]", "{}", "[[[]]]", R"({"":[{"x":""}]})",
        R"(["-","- a","#","a #b",":"])", R"({"k":"\u0001\n\t\"\\ é \ud83d\ude00"})",
        R"([1.25,-7,18446744073709551615,"0x1f","NULL"])",
        R"([" lead","trail ","a\nb","true","~","!x","&y","*z","%","@","`"])"}) {
    const json::value value = json::parse(text);
    for (const Format format : {Format::kJson, Format::kYaml}) {
      const auto again = Parse(Print(value, format), format, "x");
      ASSERT_OK(again) << Print(value, format);
      EXPECT_EQ(PrintLine(*again), PrintLine(value)) << Print(value, format);
    }
  }
}

TEST(DocTest, KeysBeyondYamlsLimitReadBackTheSame) {
  const std::string key(1025, 'k');
  json::object inner = {{key, json::array{1, json::object{{key, "v"}, {"a", 1}}}}, {"b", 2}};
  const json::value value = json::object{{key, inner}, {"c", json::array{inner}}};
  const auto again = Parse(Print(value, Format::kYaml), Format::kYaml, "x");
  ASSERT_OK(again) << Print(value, Format::kYaml);
  EXPECT_EQ(PrintLine(*again), PrintLine(value)) << Print(value, Format::kYaml);
}

TEST(DocTest, TheFormatIsInTheName) {
  EXPECT_THAT(FormatOfPath("a/b.json"), IsOkAndHolds(Format::kJson));
  EXPECT_THAT(FormatOfPath("b.yml"), IsOkAndHolds(Format::kYaml));
  EXPECT_THAT(FormatOfPath("json"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::doc
