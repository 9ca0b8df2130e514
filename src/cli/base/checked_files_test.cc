#include "src/cli/base/checked_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <vector>

namespace kgpu::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<CheckedFile> TwoFiles() {
  return {{.name = "good.yaml", .summary = "2 rules"},
          {.name = "bad.yaml", .problems = {"bad.yaml:1:1: a: wrong", "bad.yaml:2:1: b: wrong"}}};
}

TEST(CheckedFilesTest, APersonReadsALineForEachProblem) {
  EXPECT_EQ(CheckedFilesText(TwoFiles()),
            "good.yaml: OK: 2 rules\n"
            "bad.yaml:1:1: a: wrong\n"
            "bad.yaml:2:1: b: wrong\n");
}

TEST(CheckedFilesTest, AProgramReadsEachFile) {
  EXPECT_EQ(boost::json::serialize(CheckedFilesJson(TwoFiles())),
            R"({"valid":false,"files":[)"
            R"({"file":"good.yaml","valid":true,"summary":"2 rules","problems":[],"warnings":[]},)"
            R"({"file":"bad.yaml","valid":false,"summary":"",)"
            R"("problems":["bad.yaml:1:1: a: wrong","bad.yaml:2:1: b: wrong"],)"
            R"("warnings":[]}]})");
}

TEST(CheckedFilesTest, AFileWithWarningsIsValid) {
  const std::vector<CheckedFile> files = {
      {.name = "a.yaml", .summary = "1 rule", .hints = {"a.yaml:3:5: b: unusual"}}};
  EXPECT_EQ(CheckedFilesText(files), "a.yaml: OK: 1 rule\na.yaml:3:5: b: unusual (warning)\n");
  EXPECT_THAT(
      boost::json::serialize(CheckedFilesJson(files)),
      AllOf(HasSubstr(R"({"valid":true)"), HasSubstr(R"("warnings":["a.yaml:3:5: b: unusual"])")));
}

TEST(CheckedFilesTest, EachLineOfAnErrorIsAProblem) {
  EXPECT_THAT(ProblemsOf("f:1: a\nf:2: b\n"), ElementsAre("f:1: a", "f:2: b"));
  EXPECT_THAT(ProblemsOf(""), IsEmpty());
}

}  // namespace
}  // namespace kgpu::cli
