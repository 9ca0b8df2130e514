#include "src/container/oci/outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kgpu::oci {
namespace {

TEST(OciOutlineTest, KeepsWhatIsLookedAtAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "{}"},
      {" { \"ociVersion\" : \"1.0\" } ", "{}"},
      {R"({"process":{"args":["a"],"env":["A=1"],"user":{"uid":1}},"root":{"path":"x"}})",
       R"({"process":{"env":["A=1"],"user":{"uid":1}}})"},
      {R"({"linux":{"seccomp":{"x":["}]"]},"resources":{"memory":{},"devices":[{"a":1}]},"devices":[]}})",
       R"({"linux":{"resources":{"devices":[{"a":1}]},"devices":[]}})"},
      {R"({"mounts":[{"destination":"/\"}"}],"x":1.5,"hooks":{"prestart":[]}})",
       R"({"mounts":[{"destination":"/\"}"}],"hooks":{"prestart":[]}})"},
      {R"({"process":null,"linux":[{"devices":1}],"annotations":"x"})",
       R"({"process":null,"linux":[{"devices":1}],"annotations":"x"})"},
      {R"({"x":"\\","mounts":[],"y":"\\\"","annotations":{}})",
       R"({"mounts":[],"annotations":{}})"},
  };
  for (const auto& [text, outline] : cases) {
    EXPECT_EQ(Outline(text).value_or("nothing"), outline) << text;
  }
}

TEST(OciOutlineTest, WhatIsNoObjectHasNone) {
  for (const char* text : {"",
                           " ",
                           "[]",
                           "7",
                           "{",
                           "}",
                           "{}x",
                           "{} {}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a",
                           "{\"process\":{\"env\":[}",
                           "{\"proc\\u0065ss\":1}",
                           "{\"a\":\"",
                           "{\"a\":[\"\\\"]}",
                           "{\"process\":{]}"}) {
    EXPECT_EQ(Outline(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace kgpu::oci
