#include "src/cluster/chart/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

StatusOr<std::string> Fill(std::string_view text) {
  static const json::object kFields = {{"Values",
                                        {{"name", "a"},
                                         {"empty", ""},
                                         {"on", true},
                                         {"off", false},
                                         {"number", 1000000},
                                         {"zero", 0},
                                         {"half", 0.5},
                                         {"nothing", nullptr},
                                         {"list", {"x", "y"}},
                                         {"map", {{"k", "v"}, {"m", {1, 2}}}},
                                         {"entries", {{{"a", "1"}}, {{"b", "2"}}}},
                                         {"none", json::array()}}},
                                       {"Release", {{"Namespace", "kgpu"}}},
                                       {"Files", {{"files/a", "1\n\n2\n"}}}};
  return RenderTemplate(text, "t.yaml", TemplateValue(kFields));
}

TEST(TemplateTest, PrintsValues) {
  EXPECT_THAT(Fill("a: {{ .Values.name }}{{.Release.Namespace}}"), IsOkAndHolds("a: akgpu"));
  EXPECT_THAT(Fill("{{ .Values.on }} {{ .Values.off }}"), IsOkAndHolds("true false"));
  EXPECT_THAT(Fill("{{ toJson .Values.number }}"), IsOkAndHolds("1000000"));
  EXPECT_THAT(Fill("{{ toJson .Values.half }}"), IsOkAndHolds("0.5"));
  EXPECT_THAT(Fill("{{ .Values.map | toJson }}"), IsOkAndHolds(R"({"k":"v","m":[1,2]})"));
  EXPECT_THAT(Fill("{{ quote .Values.name }}"), IsOkAndHolds("\"a\""));
  EXPECT_THAT(Fill("{{ \"text\" }}{{ true }}"), IsOkAndHolds("texttrue"));
}

TEST(TemplateTest, PrintsYamlBelowItsKey) {
  EXPECT_THAT(Fill("a:\n  {{- toYaml .Values.map | nindent 2 }}\nb: 1"),
              IsOkAndHolds("a:\n  k: v\n  m:\n  - 1\n  - 2\nb: 1"));
  EXPECT_THAT(Fill("a: |\n  {{- .Files.Get \"files/a\" | nindent 2 }}\n"),
              IsOkAndHolds("a: |\n  1\n\n  2\n"));
}

TEST(TemplateTest, TakesBlanksAlong) {
  EXPECT_THAT(Fill("a \n {{- .Values.name -}} \n b"), IsOkAndHolds("aab"));
  EXPECT_THAT(Fill("a {{- /* why */ -}} b{{/* and */}} c"), IsOkAndHolds("ab c"));
  EXPECT_THAT(Fill("{{ .Values.name -}}  {{- .Values.name }}"), IsOkAndHolds("aa"));
}

TEST(TemplateTest, ChoosesABranch) {
  constexpr std::string_view kText = "{{ if %s }}yes{{ else }}no{{ end }}";
  const auto choose = [&](std::string_view condition) {
    std::string text(kText);
    return Fill(text.replace(text.find("%s"), 2, condition));
  };
  for (const char* condition :
       {".Values.name", ".Values.on", ".Values.number", ".Values.list", ".Values.map",
        "and .Values.on .Values.name", "or .Values.off .Values.on", "not .Values.empty",
        "eq .Values.name \"a\"", "and .Values.on (ne .Values.name \"b\")",
        "(and .Values.on .Values.on) | not | not"}) {
    EXPECT_THAT(choose(condition), IsOkAndHolds("yes")) << condition;
  }
  for (const char* condition :
       {".Values.empty", ".Values.off", ".Values.zero", ".Values.nothing", ".Values.none",
        "and .Values.on .Values.empty", "or .Values.off .Values.empty", "not .Values.on",
        "ne .Values.name \"a\""}) {
    EXPECT_THAT(choose(condition), IsOkAndHolds("no")) << condition;
  }
  EXPECT_THAT(Fill("{{ if .Values.off }}1{{ else if .Values.on }}2{{ else }}3{{ end }}"),
              IsOkAndHolds("2"));
  EXPECT_THAT(Fill("{{ if .Values.on }}{{ if .Values.off }}1{{ end }}2{{ end }}"),
              IsOkAndHolds("2"));
}

struct Wrong {
  const char* text;
  const char* error;
};

TEST(TemplateTest, RefusesWhatItDoesNotKnow) {
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"a\n  {{ .Values.nme }}",
            "t.yaml: line 2, column 6: no .nme here, did you mean .name?"},
           {"{{ .Values.name.x }}", ".x of a string: only maps have fields"},
           {"{{ .Values.number }}", "use toJson or toYaml"},
           {"{{ .Values.map }}", "use toJson or toYaml"},
           {"{{ .Values.nothing }}", "use toJson or toYaml"},
           {"{{ eq .Values.number 1000000 }}", "a decimal number compared with a number"},
           {"{{ range $a.b, $c := .Values.list }}{{ end }}", "unknown variable $a"},
           {"{{ range $a, $b := .Values.name }}{{ end }}", "must be a list or a map"},
           {"{{ range $a, $b := .Values.list }}", "range is not closed"},
           {"{{ range $a, $b := .Values.list }}{{ .Values.name }}{{ end }}",
            ".Values of a string: only maps have fields"},
           {"{{ range $a, $b := .Values.list }}{{ $b.x }}{{ end }}", ".x of a string"},
           {"{{ range $a, $b := .Values.entries }}{{ $b.a }}{{ end }}", "no .a here"},
           {"{{ range $a, $b := .Values.list }}{{ $ }}{{ end }}", "use toJson or toYaml"},
           {"{{ $b }}", "unknown variable $b"},
           {"{{ fail \"set the name\" }}", "set the name"},
           {"{{ fail .Values.map }}", "fail: a map instead of a string"},
           {"{{ .Values.name, .Values.name }}", "only a function takes arguments"},
           {"{{ include \"x\" }}", "unknown function \"include\""},
           {"{{ define \"x\" }}{{ end }}", "define is not supported"},
           {"{{ index .Values.list 0 }}", "unknown function \"index\""},
           {"{{ % }}", "\"%\" is unexpected here"},
           {"{{ .Values.name", "unclosed action"},
           {"{{ }}", "missing value"},
           {"{{ /* a }}", "is unexpected here"},
           {"{{ \"a }}", "unclosed string"},
           {"{{ if .Values.on }}", "if is not closed"},
           {"{{ if }}{{ end }}", "missing value"},
           {"{{ if true }}{{ else }}{{ else }}{{ end }}", "if is not closed"},
           {"{{ else }}", "no open block"},
           {"{{ toJson }}", "toJson needs 1 argument, not 0"},
           {"{{ nindent \"a\" \"b\" }}", "nindent: a string instead of a number"},
           {"{{ quote .Values.map }}", "quote: a map cannot be printed"},
           {"{{ nindent 99999999 .Values.name }}", "a number up to 1000"},
           {"{{ .Values.name .Values.name }}", "only a function takes arguments"},
           {"{{ (.Values.name }}", "unclosed bracket"},
           {"{{ .Values.name) }}", "\")\" is unexpected here"},
           {"{{ .Values.name | .Values.name }}", "a function must follow |"},
           {"{{ .Values.name | }}", "missing value"},
           {"{{ .Values..name }}", "missing space"},
           {"{{ .Files.Get \"files/b\" }}", "the chart has no file \"files/b\""},
           {"{{ .Files.Get }}", ".Get needs 2 arguments"}}) {
    EXPECT_THAT(Fill(wrong.text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(wrong.error)))
        << wrong.text;
  }
}

TEST(TemplateTest, RepeatsForListsAndMaps) {
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ if $i }},{{ end }}{{ $x }}{{ end }}"),
              IsOkAndHolds("x,y"));
  EXPECT_THAT(Fill("{{ range $key, $x := .Values.map }}{{ $key }}={{ toJson $x }} {{ end }}"),
              IsOkAndHolds("k=\"v\" m=[1,2] "));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ $.Values.name }}{{ end }}"),
              IsOkAndHolds("aa"));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.none }}{{ $x }}{{ end }}{{ .Values.name }}"),
              IsOkAndHolds("a"));
}

// All of it as in Go.
TEST(TemplateTest, KnowsTheRestOfTheLanguage) {
  EXPECT_THAT(Fill("{{ range .Values.list }}{{ . }}{{ else }}none{{ end }}"), IsOkAndHolds("xy"));
  EXPECT_THAT(Fill("{{ range .Values.none }}{{ . }}{{ else }}none{{ end }}"), IsOkAndHolds("none"));
  EXPECT_THAT(Fill("{{ $x := .Values.name }}{{ with .Values.map }}{{ .k }}{{ $x }}{{ end }}"),
              IsOkAndHolds("va"));
}

TEST(TemplateTest, VariablesEndWithTheirRange) {
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ range $j, $x := $.Values.list }}{{ $x }}"
                   "{{ end }}{{ $x }} {{ end }}"),
              IsOkAndHolds("xyx xyy "));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ end }}{{ $x }}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown variable $x")));
}

TEST(TemplateTest, AnEntryMayLackAKey) {
  EXPECT_THAT(
      Fill("{{ range $i, $x := .Values.entries }}{{ if get $x \"a\" }}{{ $x.a }}{{ else }}none"
           "{{ end }} {{ end }}"),
      IsOkAndHolds("1 none "));
}

TEST(TemplateTest, RangesTogetherHaveALimit) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("{{{{ range $i{0}, $x{0} := $.Values.list }}}}", i);
  }
  for (int i = 0; i < 20; ++i) {
    text += "{{ end }}";
  }
  EXPECT_THAT(Fill(text),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("takes more than 1000000 steps")));
}

TEST(TemplateTest, RefusesWhatIsNestedTooDeep) {
  std::string parentheses(10'000, '(');
  EXPECT_THAT(Fill("{{ " + parentheses + " }}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested blocks or brackets")));
  std::string conditions;
  for (int i = 0; i < 10'000; ++i) {
    conditions += "{{ if true }}";
  }
  EXPECT_THAT(Fill(conditions),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested blocks or brackets")));
}

}  // namespace
}  // namespace kgpu::chart
