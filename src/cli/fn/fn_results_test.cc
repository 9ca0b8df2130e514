#include "src/cli/fn/fn_results.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

std::string PrintedBy(OutputFormat format, const Status& end, bool has_first = true) {
  ::testing::internal::CaptureStdout();
  FnResults results(format);
  if (has_first) {
    EXPECT_OK(results.Add("deployed one", {{"name", "one"}}));
  }
  EXPECT_EQ(std::move(results).Finish(end).status(), end);
  return ::testing::internal::GetCapturedStdout();
}

std::string OneLine(const std::string& text) {
  const auto json = doc::Parse(text, doc::Format::kJson, "the output");
  EXPECT_OK(json);
  return json.ok() ? doc::PrintLine(*json) : "";
}

TEST(FnResultsTest, PeopleGetALineForEachFunction) {
  EXPECT_EQ(PrintedBy(OutputFormat::kTable, OkStatus()), "deployed one\n");
}

TEST(FnResultsTest, ProgramsGetOneDocument) {
  EXPECT_EQ(OneLine(PrintedBy(OutputFormat::kJson, OkStatus())),
            R"({"functions":[{"name":"one"}]})");
  EXPECT_EQ(OneLine(PrintedBy(OutputFormat::kJson, OkStatus(), false)), R"({"functions":[]})");
  EXPECT_EQ(PrintedBy(OutputFormat::kYaml, OkStatus()), "functions:\n- name: one\n");
}

TEST(FnResultsTest, ProgramsLearnWhatWasDoneBeforeAnError) {
  EXPECT_EQ(OneLine(PrintedBy(OutputFormat::kJson, Unavailable("later"))),
            R"({"functions":[{"name":"one"}]})");
  EXPECT_EQ(PrintedBy(OutputFormat::kJson, Unavailable("later"), false), "");
}

}  // namespace
}  // namespace kgpu::cli
