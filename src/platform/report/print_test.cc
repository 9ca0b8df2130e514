#include "src/platform/report/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Finding Missing() {
  return {.id = "device-missing",
          .subject = "nvidia.com/gpu=0",
          .message = "/dev/nvidia0 is not there",
          .evidence = {"the driver has 2 GPUs"},
          .fix = {.commands = {"nvidia-modprobe -c 0", "# or restart"},
                  .edits = {{.path = "/etc/flags", .text = "a\nc\n", .before = "a\nb\n"}}}};
}

TEST(PrintTest, PeopleReadTheSeverityTheEvidenceAndTheFix) {
  EXPECT_EQ(FindingsText({{Missing()}}, {.writer = "kgpu doctor --fix writes"}),
            "error    device-missing: nvidia.com/gpu=0: /dev/nvidia0 is not there\n"
            "         the driver has 2 GPUs\n"
            "           nvidia-modprobe -c 0\n"
            "           # or restart\n"
            "           # kgpu doctor --fix writes /etc/flags\n");
}

TEST(PrintTest, ASubjectThatStandsAboveIsNotRepeated) {
  EXPECT_THAT(FindingsText({{Missing()}}, {.subject = "nvidia.com/gpu=0"}),
              HasSubstr("device-missing: /dev/nvidia0"));
  EXPECT_THAT(FindingsText({{Missing()}}, {.subject = "nvidia.com/gpu=1"}),
              HasSubstr("device-missing: nvidia.com/gpu=0: /dev/nvidia0"));
}

TEST(PrintTest, OnlyATerminalGetsColors) {
  EXPECT_THAT(FindingsText({{Missing()}}, {.has_color = true}), HasSubstr("\x1b[1;31merror"));
  EXPECT_THAT(FindingsText({{Missing()}}), Not(HasSubstr("\x1b")));
}

TEST(PrintTest, WhatIsQuotedCannotWriteToTheTerminal) {
  const Finding hostile{.id = "x",
                        .subject = "a\x1b[2J",
                        .message = "b\nerror",
                        .evidence = {"cut short…", "\x1b]0;title"},
                        .fix = {.commands = {"rm\r"}}};
  EXPECT_EQ(FindingsText({{hostile}}),
            "error    x: a\\x1b[2J: b\\x0aerror\n"
            "         cut short…\n"
            "         \\x1b]0;title\n"
            "           rm\\x0d\n");
}

TEST(PrintTest, ProgramsGetTheSameFieldsOfEveryFinding) {
  EXPECT_EQ(FindingJson(Missing()), boost::json::parse(R"({
    "id": "device-missing", "severity": "error", "subject": "nvidia.com/gpu=0",
    "message": "/dev/nvidia0 is not there", "evidence": ["the driver has 2 GPUs"],
    "fix": {"commands": ["nvidia-modprobe -c 0", "# or restart"],
            "edits": [{"path": "/etc/flags", "changes": ["- b", "+ c"], "text": "a\nc\n"}]}})"));
  EXPECT_EQ(FindingJson({.id = "x", .severity = Severity::kInfo}), boost::json::parse(R"({
    "id": "x", "severity": "info", "subject": "", "message": "", "evidence": [],
    "fix": {"commands": [], "edits": []}})"));
}

TEST(PrintTest, AnEditWithoutItsWholeTextSaysWhatChanges) {
  const Finding finding{.fix = {.edits = {{.path = "m.yaml", .changes = {"remove spec.x"}}}}};
  const boost::json::value edit = FindingJson(finding).at("fix").at("edits").at(0);
  EXPECT_EQ(edit.at("changes").at(0), "remove spec.x");
  EXPECT_TRUE(edit.at("text").is_null());
}

TEST(PrintTest, ALogHasItInOneLine) {
  EXPECT_EQ(LineOf(Missing()),
            "nvidia.com/gpu=0: /dev/nvidia0 is not there; the driver has 2 GPUs; nvidia-modprobe "
            "-c 0; or restart");
  EXPECT_EQ(LineOf({.message = "no GPU"}), "no GPU");
}

TEST(PrintTest, TheWorstStandsFirstAndCounts) {
  std::vector<Finding> findings = {{.id = "a", .severity = Severity::kInfo},
                                   {.id = "b", .severity = Severity::kWarning},
                                   {.id = "c", .severity = Severity::kError},
                                   {.id = "d", .severity = Severity::kWarning}};
  EXPECT_EQ(CountsText(findings), "1 error, 2 warnings, 1 info");
  EXPECT_TRUE(HasError(findings));
  SortWorstFirst(findings);
  std::vector<std::string> ids;
  for (const Finding& finding : findings) {
    ids.push_back(finding.id);
  }
  EXPECT_THAT(ids, ElementsAre("c", "b", "d", "a"));
  EXPECT_EQ(WorstOf({}), Severity::kInfo);
  EXPECT_FALSE(HasError(std::span(findings).subspan(1)));
}

TEST(PrintTest, ATableOfAPageHasAColumnMoreWhereItIsNamed) {
  const Kind kind{.id = "a", .severity = Severity::kWarning, .title = "It is", .extra = "yes"};
  EXPECT_EQ(KindsMarkdown({{kind}}),
            "| Finding | Severity | Found when |\n|---|---|---|\n| `a` | warning | It is |\n");
  EXPECT_EQ(KindsMarkdown({{kind}}, "Fixed"),
            "| Finding | Severity | Found when | Fixed |\n|---|---|---|---|\n"
            "| `a` | warning | It is | yes |\n");
}

}  // namespace
}  // namespace kgpu::report
