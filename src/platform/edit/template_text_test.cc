#include "src/platform/edit/template_text.h"

#include <gtest/gtest.h>

namespace kgpu::edit {
namespace {

TEST(CoverActionsTest, MakesALineOfActionsAComment) {
  EXPECT_EQ(CoverActions("  {{- if .A }}\nx = 1\n{{end}}"), "  #{- if .A }}\nx = 1\n#{end}}");
}

TEST(CoverActionsTest, MakesAnActionInThePlaceOfAValueAString) {
  EXPECT_EQ(CoverActions("x = {{ printf \"%q\" .A }} # y\n"), "x = '{ printf \"%q\" .A }' # y\n");
}

TEST(CoverActionsTest, LeavesInlineTablesAndStringsAlone) {
  for (const char* text :
       {"x = { y = 1 }\n", "x = \"{{ .A }}\"\n", "x = {{ 'a' }}\n", "{", "x ="}) {
    EXPECT_EQ(CoverActions(text), text);
  }
}

}  // namespace
}  // namespace kgpu::edit
