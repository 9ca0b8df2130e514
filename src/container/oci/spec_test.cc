#include "src/container/oci/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::oci {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Spec Parsed(std::string text) {
  StatusOr<Spec> spec = Spec::Parse(std::move(text), "config.json");
  EXPECT_OK(spec.status());
  return std::move(spec).value();
}

TEST(OciSpecTest, AnUneditedSpecPrintsTheVeryTextThatWasRead) {
  const std::string text =
      "\n{ \"ociVersion\" : \"1.0.2\",\t\"x\": [1.50, 1e400, 12345678901234567890123],"
      " \"process\": null }\r\n ";
  EXPECT_EQ(Parsed(text).Print().value(), text);
}

TEST(OciSpecTest, AnEditKeepsEveryByteAroundIt) {
  Spec spec = Parsed(
      R"({ "big": 123456789012345678901234567890,  "process": { "env" : ["A=1", "B=2"], "odd": 1.0 },)"
      "\n\"z\": {\"y\": -0.0} }\n");
  ASSERT_OK(spec.SetEnv("A=3"));
  EXPECT_EQ(
      spec.Print().value(),
      R"({ "big": 123456789012345678901234567890,  "process": { "env" : ["A=3","B=2"], "odd": 1.0 },)"
      "\n\"z\": {\"y\": -0.0} }\n");
}

TEST(OciSpecTest, WhatIsMissingIsAddedBehindTheNearestFieldsThatAreThere) {
  struct Case {
    std::string before;
    std::string after;
  };
  const std::vector<Case> cases = {
      {"{}", R"({"process":{"env":["A=1"]}})"},
      {R"({"a":1})", R"({"a":1,"process":{"env":["A=1"]}})"},
      {R"({"process":null})", R"({"process":{"env":["A=1"]}})"},
      {R"({"process":{}})", R"({"process":{"env":["A=1"]}})"},
      {R"({"process":{"cwd":"/"}})", R"({"process":{"cwd":"/","env":["A=1"]}})"},
      {R"({"process":{"env":null}})", R"({"process":{"env":["A=1"]}})"},
      {R"({"process":{"env":[]}})", R"({"process":{"env":["A=1"]}})"},
  };
  for (const Case& one : cases) {
    Spec spec = Parsed(one.before);
    ASSERT_OK(spec.SetEnv("A=1"));
    EXPECT_EQ(spec.Print().value(), one.after);
  }
}

TEST(OciSpecTest, TheLastOfEqualVariablesCountsAndIsReplaced) {
  Spec spec = Parsed(R"({"process":{"env":["A=1","B","A=2","AB=3"]}})");
  EXPECT_EQ(FindEnv(spec.Env().value(), "A"), "2");
  EXPECT_EQ(FindEnv(spec.Env().value(), "B"), std::nullopt);
  ASSERT_OK(spec.SetEnv("A=void"));
  EXPECT_THAT(spec.Env().value(), ElementsAre("A=1", "B", "A=void", "AB=3"));
}

TEST(OciSpecTest, FieldsOfAnotherTypeAreNamed) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::vector<Case> cases = {
      {R"({"process":[]})", "config.json: process: must be a map"},
      {R"({"process":{"env":{}}})", "config.json: process.env: must be a list"},
      {R"({"process":{"env":["A=1",2]}})", "process.env[1]: must be a string"},
      {R"({"mounts":3})", "mounts: must be a list"},
      {R"({"mounts":[{},"x"]})", "mounts[1]: must be a map"},
      {R"({"mounts":[{"source":7}]})", "mounts[0].source: must be a string"},
      {R"({"annotations":[1]})", "annotations: must be a map"},
      {R"({"annotations":{"k":1}})", "annotations.k: must be a string"},
      {R"({"hooks":{"prestart":{}}})", "hooks.prestart: must be a list"},
      {R"({"hooks":{"poststop":[{"path":1}]}})", "hooks.poststop[0].path: must be a string"},
      {R"({"linux":{"namespaces":{}}})", "linux.namespaces: must be a list"},
  };
  for (const Case& one : cases) {
    const Spec spec = Parsed(one.text);
    std::vector<Status> all = {spec.Env().status(), spec.Mounts().status(),
                               spec.Annotations().status(), spec.HookPaths().status(),
                               spec.HasUserNamespace().status()};
    EXPECT_THAT(all,
                ::testing::Contains(StatusIs(StatusCode::kInvalidArgument, HasSubstr(one.error))))
        << one.text;
  }
}

TEST(OciSpecTest, NullAndMissingFieldsAreEmpty) {
  for (const char* text :
       {"{}", R"({"process":null,"mounts":null,"hooks":null,"annotations":null})",
        R"({"process":{"env":null},"hooks":{"prestart":null}})"}) {
    const Spec spec = Parsed(text);
    EXPECT_THAT(spec.Env().value(), IsEmpty());
    EXPECT_THAT(spec.Mounts().value(), IsEmpty());
    EXPECT_THAT(spec.HookPaths().value(), IsEmpty());
    EXPECT_THAT(spec.Annotations().value(), IsEmpty());
    EXPECT_FALSE(spec.HasUserNamespace().value());
  }
}

TEST(OciSpecTest, WhatIsNoSpecIsRefused) {
  for (const char* text : {"", "[]", "7", "{", R"({"a":1}x)", R"({"proc\u0065ss":{}})",
                           "{\"process\":{\"env\":[\"\xff\"]}}"}) {
    EXPECT_THAT(Spec::Parse(text, "config.json").status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("config.json")))
        << text;
  }
  EXPECT_THAT(Spec::Parse(std::string(kSpecLimit + 1, ' '), "config.json").status(),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("config.json")));
  EXPECT_THAT(Spec::Parse(std::string(1000, '[') + std::string(1000, ']'), "config.json").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("config.json")));
}

TEST(OciSpecTest, PartsThatNobodyLooksAtAreTheRuntimesBusiness) {
  Spec spec = Parsed("{\"x\":\"\xff\",\"linux\":{\"seccomp\":{\"names\":[nonsense]}}}");
  ASSERT_OK(spec.SetEnv("A=1"));
  EXPECT_EQ(spec.Print().value(),
            "{\"x\":\"\xff\",\"linux\":{\"seccomp\":{\"names\":[nonsense]}},"
            "\"process\":{\"env\":[\"A=1\"]}}");
}

TEST(OciSpecTest, RemovesTheMountsAndHooksItIsAskedTo) {
  Spec spec = Parsed(
      R"({"mounts":[{"destination":"/a","source":"/dev/null"},{"destination":"/b","source":"/x"},)"
      R"({"destination":"/c","source":"/dev/null"}],)"
      R"("hooks":{"prestart":[{"path":"/usr/bin/one"},{"path":"/usr/bin/two"}],"poststop":[]}})");
  EXPECT_EQ(
      spec.RemoveMounts([](const MountView& mount) { return mount.source == "/dev/null"; }).value(),
      2U);
  EXPECT_EQ(spec.RemoveHooks([](std::string_view path) { return path.ends_with("one"); }).value(),
            1U);
  EXPECT_EQ(spec.RemoveHooks([](std::string_view) { return false; }).value(), 0U);
  EXPECT_EQ(spec.Print().value(),
            R"({"mounts":[{"destination":"/b","source":"/x"}],)"
            R"("hooks":{"prestart":[{"path":"/usr/bin/two"}],"poststop":[]}})");
}

TEST(OciSpecTest, AnEditedListWithANumberThatWouldChangeIsRefused) {
  for (const char* number : {"1.0", "-0", "1e3", "123456789012345678901234567890"}) {
    Spec spec = Parsed(fmt::format(
        R"({{"mounts":[{{"destination":"/a","x":{}}},{{"destination":"/b"}}]}})", number));
    ASSERT_OK(spec.RemoveMounts([](const MountView& m) { return m.index == 1; }).status());
    EXPECT_THAT(spec.Print().status(),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("config.json: mounts"), HasSubstr(number))));
  }
}

TEST(OciSpecTest, AnEditedFieldThatStandsTwiceIsRefused) {
  for (const char* text :
       {R"({"process":{"env":[]},"process":{"env":[]}})", R"({"process":{"env":[],"env":[]}})"}) {
    Spec spec = Parsed(text);
    ASSERT_OK(spec.SetEnv("A=1"));
    EXPECT_THAT(spec.Print().status(), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(OciSpecTest, TextThatLooksLikeJsonInsideStringsIsSkipped) {
  Spec spec = Parsed(R"({"x":"\"process\":{","y":["}","]\\"],"process":{"args":["a\"]"]}})");
  ASSERT_OK(spec.SetEnv("A=\"{"));
  EXPECT_EQ(spec.Print().value(),
            R"({"x":"\"process\":{","y":["}","]\\"],"process":{"args":["a\"]"],"env":["A=\"{"]}})");
}

}  // namespace
}  // namespace kgpu::oci
